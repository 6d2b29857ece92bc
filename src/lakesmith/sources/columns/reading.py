"""How files are read once their columns are matched, and the columns that only records name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from lakesmith.project.definitions import Column, OnNewColumn, Source
from lakesmith.project.spark_types import SqlType
from lakesmith.quoting import alike
from lakesmith.sources.columns.fields import FieldPath, alike_fields
from lakesmith.sources.columns.names import Spellings, match_columns, path_columns, rival_names, spellings
from lakesmith.sources.formats.registry import ColumnsIn, landing_format
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.shape import USUAL, FileShape, Layout, ShapeGroup

Found = dict[FieldPath, tuple[str, ...]]
"""Fields, each with the files that have it."""


@dataclass(frozen=True, slots=True)
class ReadGroup:
    """Files of one shape, with their columns matched.

    ``file_columns`` are the names in the files, in their order; empty for JSON, whose records name their own.
    ``file_types`` are Spark SQL types in the same order, for Parquet and Avro; empty: Spark finds them.
    ``matches`` pairs a table's column with the file's name for it where the two differ.
    ``layout``: where the records of text files are.
    ``path_columns``: the table's columns with a value in the files' paths, for rows that lack their own.
    ``by_rows``: as of ``FileShape``.
    ``reader``: as of ``FileShape``.
    """

    files: tuple[FileIdentity, ...]
    file_columns: tuple[str, ...] = ()
    file_types: tuple[str, ...] = ()
    matches: tuple[tuple[str, str], ...] = ()
    layout: Layout = USUAL
    path_columns: tuple[str, ...] = ()
    by_rows: bool = False
    reader: str = ""

    def index(self, column: str) -> int | None:
        """Returns which of ``file_columns`` is a table's column: the matched one, else the like-named."""
        wanted = dict(self.matches).get(column, column)
        for same in (wanted.__eq__, lambda name: alike(name) == alike(wanted)):
            found = [i for i, text in enumerate(self.file_columns) if same(text)]
            if len(found) == 1:
                return found[0]
        return None


@dataclass(frozen=True, slots=True)
class SourceRead:
    """How the files of one source are read as rows of ``columns``.

    ``keys``: for records that name their own columns, the columns and fields that some spell otherwise, by
    path.
    """

    source: Source
    groups: tuple[ReadGroup, ...] = ()
    columns: tuple[Column, ...] = ()
    keys: Mapping[FieldPath, Spellings] = field(default_factory=dict)

    def spelt(self, *path: str) -> list[str]:
        """Returns the keys under which a column, or a field, is found in records, better ones first."""
        return [key for tier in self.keys.get(path, ((path[-1],),)) for key in tier]


class Records(Protocol):
    """The records of a source's files. Every call reads all of them."""

    def keys(self, read: SourceRead) -> Mapping[str, str]:
        """Returns the top-level keys, each with one of the files that have it, in words."""

    def together(self, read: SourceRead, rivals: Sequence[Sequence[str]]) -> Mapping[tuple[str, ...], str]:
        """Returns the sets of ``rivals`` that are in one record, each with a file that has it, in words."""

    def good(self, read: SourceRead) -> Records:
        """Returns the records that are valid rows of the columns."""

    def unknown_fields(self, read: SourceRead) -> Found:
        """Returns the fields in structs of the columns that their types do not name."""

    def field_types(self, read: SourceRead, unknown: Sequence[FieldPath]) -> Mapping[str, SqlType]:
        """Returns the types of columns as far as they lead to the ``unknown`` fields, with those."""

    def infer(self, read: SourceRead) -> Sequence[Column]:
        """Returns columns with types that a sample of the values fits, in the order they are first met."""


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """The files of a batch from one source, grouped by shape, and their records."""

    source: Source
    groups: tuple[ShapeGroup, ...]
    records: Records

    @property
    def columns_in(self) -> ColumnsIn:
        """Where the files say their columns."""
        return landing_format(self.source).columns_in

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(file.path for group in self.groups for file in group.files)

    def read(self, columns: Sequence[Column], names: Iterable[str] = ()) -> SourceRead:
        """Returns how the files are read as rows of ``columns``. ``names``: the keys that records have."""
        # Spark's Parquet and Avro readers refuse files without a byte, and there is nothing to read in them.
        groups = read_groups([group for group in self.groups if not group.shape.empty], columns)
        keys: dict[FieldPath, Spellings] = {}
        if self.columns_in is ColumnsIn.RECORDS:
            keys = column_keys(columns, names)
        elif self.columns_in is ColumnsIn.HEADER and not self.source.csv.header:
            groups = tuple(
                replace(
                    group, file_columns=tuple(it.name for it in columns if it.name not in group.path_columns)
                )
                for group in groups
            )
        return SourceRead(self.source, groups, tuple(columns), keys)


def read_groups(groups: Sequence[ShapeGroup], columns: Sequence[Column]) -> tuple[ReadGroup, ...]:
    """Returns the groups with their columns matched with ``columns``."""
    return tuple(
        ReadGroup(
            group.files,
            shape.columns,
            tuple(kind or "" for kind in shape.types),
            tuple(pair for pair in _pairs(shape, columns) if pair[0] != pair[1]),
            shape.layout,
            path_columns(columns, shape),
            shape.by_rows,
            shape.reader,
        )
        for group in groups
        for shape in [_without_unreadable(group.shape)]
    )


def _pairs(shape: FileShape, columns: Sequence[Column]) -> tuple[tuple[str, str], ...]:
    return match_columns(columns, shape, OnNewColumn.IGNORE).present


def _without_unreadable(shape: FileShape) -> FileShape:
    left_out = {name for name, _ in shape.unreadable}
    pairs = zip(shape.columns, shape.types, strict=True)
    kept = [(name, kind) for name, kind in pairs if name not in left_out]
    names, types = tuple(name for name, _ in kept), tuple(kind for _, kind in kept)
    return replace(shape, columns=names, types=types, unreadable=())


def column_keys(columns: Sequence[Column], names: Iterable[str]) -> dict[FieldPath, Spellings]:
    """Returns how records with keys of these names spell the columns, as ``SourceRead.keys``."""
    found = spellings(columns, names)
    return {(column,): tiers for column, tiers in found.items() if tiers != ((column,),)}


def shape_of_keys(
    names: Iterable[str], together: Iterable[tuple[str, ...]] = (), path_keys: tuple[str, ...] = ()
) -> FileShape:
    columns = tuple(sorted(names))
    return FileShape(columns, (None,) * len(columns), together=tuple(together), path_keys=path_keys)


def record_shape(
    records: Records, read: SourceRead, columns: Sequence[Column]
) -> tuple[FileShape, dict[str, str]]:
    """Returns the keys of the records as a shape, and by key one of the files that have it, in words."""
    first = records.keys(read)
    together = records.together(read, rival_names(columns, first))
    names = {", ".join(some): file for some, file in together.items()}
    return shape_of_keys(first, together), {**names, **first}


def with_field_keys(records: Records, read: SourceRead) -> tuple[SourceRead, Found]:
    """Returns ``read`` with the fields that records spell otherwise, and the fields that are unknown then."""
    while True:
        unknown = records.unknown_fields(read)
        alike = alike_fields(read.columns, unknown)
        more = {path: tiers for path, tiers in alike.items() if not set(tiers[-1]) <= set(read.spelt(*path))}
        if not more:
            return read, unknown
        read = replace(read, keys={**read.keys, **more})
