"""Counts the records of landing files without Spark: the other side of a sourced batch's row account.

What Spark counts and what it writes come from one scan, so they agree also when a file was read twice or a part of it not
at all. This count comes from the bytes alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from lakesmith.project.definitions import FileSource
from lakesmith.sources.formats.registry import landing_format
from lakesmith.sources.listing import absolute_path
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.threads import map_in_threads


def count_records(files: Iterable[FileIdentity], source: FileSource, root: Path) -> int | None:
    """The number of records in the files; None for what cannot be counted so (Avro, values with line breaks, UTF-16).

    Raises OSError when a file cannot be read.
    """
    counter = landing_format(source).counter(source)
    if counter is None:
        return None
    return sum(map_in_threads(partial(_count, counter=counter, root=root), list(files)))


def _count(file: FileIdentity, counter: Callable[[Path], int], root: Path) -> int:
    try:
        return counter(absolute_path(file.path, root)) if file.size else 0
    except (EOFError, zlib.error) as error:
        raise OSError(f"{file.path} is damaged: {error}") from error
