"""Counts the records of landing files without Spark: the other side of a sourced batch's row account.

What Spark counts and what it writes come from one scan, so they agree also when a file was read twice or a part of it not
at all. This count comes from the bytes alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

from lakesmith.project.definitions import Source
from lakesmith.project.formats import FileFormat
from lakesmith.sources.formats.registry import landing_format
from lakesmith.sources.landing_file import LandingFile
from lakesmith.sources.listing import opened_file
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.shape import USUAL, Layout
from lakesmith.sources.threads import held_of, map_in_threads


def count_records(
    files: Iterable[FileIdentity],
    source: Source,
    root: Path,
    layouts: Mapping[str, Layout] = MappingProxyType({}),
) -> int | None:
    """The number of records in the files; None for what cannot be counted so (Avro).

    ``layouts``: of those that have no usual one, by their paths. Raises OSError when a file cannot be read.
    """
    kinds: dict[Layout, list[FileIdentity]] = {}
    for file in files:
        kinds.setdefault(layouts.get(file.path, USUAL), []).append(file)
    counts = [_count_alike(there, source, root, layout) for layout, there in kinds.items()]
    return None if None in counts else sum(count for count in counts if count)


def _count_alike(there: list[FileIdentity], source: Source, root: Path, layout: Layout) -> int | None:
    counter = landing_format(source).counter(source, layout)
    if counter is None:
        return None
    count = partial(_count, counter=counter, source=source, root=root)
    # Of Parquet the footers alone are read.
    held = 1 if source.format is FileFormat.PARQUET else held_of(file.size for file in there)
    return sum(map_in_threads(count, there, source.is_in_store, held))


def _count(file: FileIdentity, counter: Callable[[LandingFile], int], source: Source, root: Path) -> int:
    try:
        return counter(opened_file(file, source, root)) if file.size else 0
    except (EOFError, zlib.error) as error:
        raise OSError(f"{file.path} is damaged: {error}") from error
