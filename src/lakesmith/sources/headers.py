"""The columns that files say they have, read on the driver, and the files grouped by them.

Spark maps the columns of a CSV file by position, whatever its header says. So files are read in groups of one shape,
and each group's columns are matched by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from lakesmith.project.definitions import Source, TableName
from lakesmith.sources.bad_files import BadFile, BadFiles, unreadable
from lakesmith.sources.formats.registry import landing_format
from lakesmith.sources.landing_file import LandingFile
from lakesmith.sources.listing import opened_file
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.shape import FileShape, ShapeGroup, UnreadableFile, path_keys
from lakesmith.sources.threads import map_in_threads


def group_by_shape(
    files: Sequence[FileIdentity], source: Source, root: Path, table: TableName | None = None
) -> tuple[ShapeGroup, ...]:
    """Reads the shape of every file; the groups come in the order of their first files.

    Raises BadFiles with a problem for each file (of the first 20) that is not as declared: LS421 gone or not readable,
    LS422 damaged, LS423 two columns of one name, LS424 a column without a name, LS425 encoding, LS426 compression, LS427 a
    header that does not end.
    """
    shapes = map_in_threads(
        partial(_shape_or_bad, source=source, root=root, table=table), files, source.is_in_store
    )
    if bad := [shape for shape in shapes if isinstance(shape, BadFile)]:
        raise BadFiles(bad)
    groups: dict[FileShape, list[FileIdentity]] = {}
    for file, shape in zip(files, shapes, strict=True):
        if isinstance(shape, FileShape):
            groups.setdefault(shape, []).append(file)
    return tuple(ShapeGroup(shape, tuple(members)) for shape, members in groups.items())


def read_shape(path: LandingFile, source: Source) -> FileShape:
    """The shape of one file as ``source`` declares its format. Raises UnreadableFile and OSError."""
    return landing_format(source).read_shape(path, source)


def _shape_or_bad(
    file: FileIdentity, source: Source, root: Path, table: TableName | None
) -> FileShape | BadFile:
    try:
        shape = read_shape(opened_file(file, source, root), source)
        return replace(shape, path_keys=path_keys(file.path)) if source.has_foreign_files else shape
    except (OSError, UnreadableFile) as error:
        return unreadable(file, source, error, table)
