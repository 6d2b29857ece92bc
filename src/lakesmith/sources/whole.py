"""Is a file whole? Read to its end without Spark: asked only once a batch has failed over its files."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from lakesmith.project.definitions import Source, TableName
from lakesmith.sources.bad_files import BadFile, unreadable
from lakesmith.sources.formats.registry import landing_format
from lakesmith.sources.listing import opened_file
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.shape import UnreadableFile
from lakesmith.sources.threads import held_of, map_in_threads


def damaged_files(
    files: Iterable[FileIdentity], source: Source, root: Path, table: TableName
) -> list[BadFile]:
    """Those of the files that cannot be read to their end: cut or damaged compression, Parquet pages, Avro blocks."""
    judged, there = partial(_judged, source=source, root=root, table=table), list(files)
    found = map_in_threads(judged, there, source.is_in_store, held_of(file.size for file in there))
    return [bad for bad in found if bad is not None]


def _judged(file: FileIdentity, source: Source, root: Path, table: TableName) -> BadFile | None:
    try:
        if file.size:
            landing_format(source).read_whole(opened_file(file, source, root))
    except (OSError, UnreadableFile) as error:
        return unreadable(file, source, error, table)
    return None
