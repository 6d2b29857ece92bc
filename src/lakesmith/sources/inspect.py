"""Landing files read without Spark: their shapes, whether they are damaged, and how many records they have.

Spark maps the columns of a CSV file by position, whatever its header says. So files are read in groups of one
shape, and each group's columns are matched by name. The number of records checks a sourced batch's row
counts: Spark's count and its rows come from one scan, so they agree even if a file was read twice, or only in
part.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from lakesmith.project.definitions import Source, TableName
from lakesmith.project.formats import FileFormat
from lakesmith.sources.bad_files import BadFile, BadFiles, unreadable
from lakesmith.sources.formats.registry import landing_format
from lakesmith.sources.formats.text import ends_padded, is_padded
from lakesmith.sources.listing import opened_file
from lakesmith.sources.model import FileIdentity, LandingFile
from lakesmith.sources.shape import USUAL, FileShape, Layout, ShapeGroup, UnreadableFile, path_keys
from lakesmith.sources.threads import held_of, map_in_threads

_PADDED: Final[set[FileIdentity]] = set()
"""Files of gzip that turned out to have zeros between members, which only reading all of a file shows."""


def group_by_shape(
    files: Sequence[FileIdentity], source: Source, root: Path, table: TableName | None = None
) -> tuple[ShapeGroup, ...]:
    """Reads the shape of every file; the groups come in the order of their first files.

    Raises BadFiles with a problem for each file (of the first 20) that is not as declared: LS421 gone or not
    readable, LS422 damaged, LS423 two columns of one name, LS424 a column without a name, LS425 encoding,
    LS426 compression, LS427 a header that does not end.
    """
    held = held_of(file.size for file in files) if landing_format(source).is_checked else 1
    shapes = map_in_threads(
        partial(_shape_or_bad, source=source, root=root, table=table), files, source.is_in_store, held
    )
    if bad := [shape for shape in shapes if isinstance(shape, BadFile)]:
        raise BadFiles(bad)
    groups: dict[FileShape, list[FileIdentity]] = {}
    for file, shape in zip(files, shapes, strict=True):
        if isinstance(shape, FileShape):
            groups.setdefault(shape, []).append(file)
    return tuple(ShapeGroup(shape, tuple(members)) for shape, members in groups.items())


def read_shape(path: LandingFile, source: Source) -> FileShape:
    """Returns the shape of one file as ``source`` declares its format. Raises UnreadableFile and OSError."""
    return landing_format(source).read_shape(path, source)


def _shape_or_bad(
    file: FileIdentity, source: Source, root: Path, table: TableName | None
) -> FileShape | BadFile:
    try:
        opened = opened_file(file, source, root)
        shape, check = read_shape(opened, source), landing_format(source).check
        shape = check(opened, shape) if check else shape
        if file in _PADDED or ends_padded(opened):
            shape = replace(shape, layout=replace(shape.layout, padded=True))
        return replace(shape, path_keys=path_keys(file.path)) if source.has_foreign_files else shape
    except (OSError, UnreadableFile) as error:
        return unreadable(file, source, error, table)


def damaged_files(
    files: Iterable[FileIdentity], source: Source, root: Path, table: TableName
) -> list[BadFile]:
    """Returns the files that cannot be read to their end: damaged compression, Parquet pages, Avro blocks."""
    check, there = partial(_damage, source=source, root=root, table=table), list(files)
    found = map_in_threads(check, there, source.is_in_store, held_of(file.size for file in there))
    return [bad for bad in found if bad is not None]


def _damage(file: FileIdentity, source: Source, root: Path, table: TableName) -> BadFile | None:
    try:
        if file.size:
            landing_format(source).read_whole(opened_file(file, source, root))
    except (OSError, UnreadableFile) as error:
        return unreadable(file, source, error, table)
    return None


def padded_files(files: Iterable[FileIdentity], source: Source, root: Path) -> list[FileIdentity]:
    """Returns the files of gzip with zeros after a member that were not known to have some; now they are.

    Raises UnreadableFile and OSError, as ``damaged_files`` finds them.
    """
    there = [file for file in files if file not in _PADDED and file.path.lower().endswith(".gz")]
    padded = map_in_threads(
        lambda file: is_padded(opened_file(file, source, root)), there, source.is_in_store
    )
    found = [file for file, has_zeros in zip(there, padded, strict=True) if has_zeros]
    _PADDED.update(found)
    return found


def count_records(
    files: Iterable[FileIdentity],
    source: Source,
    root: Path,
    layouts: Mapping[str, Layout] = MappingProxyType({}),
) -> int | None:
    """Counts the records in the files; None if the format cannot be counted (Avro).

    ``layouts``: the unusual ones, by path. Raises OSError if a file cannot be read.
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
    except (EOFError, zlib.error, UnreadableFile) as error:
        raise OSError(f"{file.path} is damaged: {error}") from error
