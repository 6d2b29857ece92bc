"""The column plan of a batch: from what its files bring, what is declared and what the table has.

``plan_columns`` is called once a batch. It reads no file; where files do not say their columns (JSON), it
asks ``Records``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Final

from lakesmith.catalog.state import TableState
from lakesmith.errors import Problem, SourceError
from lakesmith.project.definitions import (
    Column,
    OnNewColumn,
    OnTypeChange,
    Source,
    TableDefinition,
    TableName,
)
from lakesmith.project.spark_types import SqlType, parse_type
from lakesmith.quoting import alike, composed, compositions
from lakesmith.sources.columns.fields import FieldPath, dotted, file_types, typeless_note
from lakesmith.sources.columns.names import (
    ColumnMatch,
    NewColumn,
    Spellings,
    match_columns,
    no_header_problem,
)
from lakesmith.sources.columns.new_fields import match_fields
from lakesmith.sources.columns.notes import Findings, Holders
from lakesmith.sources.columns.reading import (
    Records,
    SourceFiles,
    SourceRead,
    read_groups,
    record_shape,
    shape_of_keys,
)
from lakesmith.sources.columns.types import common_type, known_columns, table_type, type_changes, widened
from lakesmith.sources.formats.registry import ColumnsIn
from lakesmith.sources.names import printable
from lakesmith.sources.shape import FileShape, ShapeGroup

Columns = tuple[Column, ...]

_PROBLEMS_SHOWN: Final = 20
_LONGEST_TYPE: Final = 200


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """The columns of a batch's rows, with the types they are read as: the table's, then the new ones.

    ``reads``: how the files of each source are read. ``notes`` say which columns are new, wider, missing or
    left out, and in which files.
    """

    columns: Columns
    reads: tuple[SourceRead, ...]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Side:
    """One source while its columns are matched. ``found``: shapes, and the files that have each."""

    files: SourceFiles
    found: Sequence[tuple[FileShape, Holders]]
    field_keys: Mapping[FieldPath, Spellings] = field(default_factory=dict)

    @property
    def source(self) -> Source:
        return self.files.source

    def read(self, columns: Columns) -> SourceRead:
        read = self.files.read(columns, [name for shape, _ in self.found for name in shape.columns])
        return replace(read, keys={**read.keys, **self.field_keys})


def plan_columns(
    table: TableDefinition, there: TableState | None, batch: Sequence[SourceFiles]
) -> ColumnPlan:
    """Plans the columns of a batch of files of one table.

    Args:
        table: The table's declaration.
        there: The table as it is now; None if it does not exist.
        batch: The files by source.

    Raises:
        SourceError: LS431 to LS436, if a file has columns or fields that its source does not allow, lacks
            required columns, or has some that Spark cannot read.
    """
    columns = known_columns(table, there)
    for files in batch:
        _require_readable(table.name, files, columns)
    columns = columns or _inferred(batch)
    sides = [_Side(files, _shapes_of(files, columns)) for files in batch]
    # A column that one source adds is no longer new to the others. Events are validated one by one.
    adding_first = sorted(sides, key=lambda side: side.source.on_new_column is not OnNewColumn.EVOLVE)
    matched = [side for side in adding_first if not side.source.has_events]
    notes: list[str] = []
    for side in matched:
        columns, said = _match_columns(table.name, side, columns)
        notes += said
    for side in matched:
        columns, said, side.field_keys = match_fields(side.files, side.read(columns), side.found)
        notes += said
    for side in matched:
        columns, said = _widened(table, side, columns)
        notes += said
    return ColumnPlan(columns, tuple(side.read(columns) for side in sides), tuple(dict.fromkeys(notes)))


def _inferred(batch: Sequence[SourceFiles]) -> Columns:
    """Returns the columns of all files. Their names are composed, so that queries find them."""
    found: dict[str, Column] = {}
    for files in batch:
        for column in _inferred_of(files):
            found.setdefault(alike(column.name), replace(column, name=composed(column.name)))
    return tuple(found.values())


def _inferred_of(files: SourceFiles) -> Sequence[Column]:
    if files.columns_in is ColumnsIn.SCHEMA:
        return _of_schemas(files)
    is_header = files.columns_in is ColumnsIn.HEADER
    groups = _related(files.groups) if is_header else files.groups
    return files.records.infer(SourceRead(files.source, read_groups(groups, ())))


def _of_schemas(files: SourceFiles) -> Sequence[Column]:
    """By the wider types of the files. If columns can be added later, without those of no type yet."""
    types: dict[str, str] = {}
    for group in read_groups(files.groups, ()):
        for name, kind in zip(group.file_columns, group.file_types, strict=True):
            types[name] = common_type(types.get(name, kind), kind)
    if files.source.on_new_column is OnNewColumn.EVOLVE:
        types = {name: kind for name, kind in types.items() if not parse_type(kind).is_typeless}
    return [Column(name, table_type(kind)) for name, kind in types.items()]


def _related(groups: Sequence[ShapeGroup]) -> tuple[ShapeGroup, ...]:
    """The groups that share columns with the first, directly or by others.

    A group that shares none is of another kind: it has another delimiter, or no header.
    """
    folded = {group: {alike(name.strip()) for name in group.shape.columns} for group in groups}
    known = next((names for names in folded.values() if names), set())
    related: list[ShapeGroup] = []
    while more := [group for group in groups if group not in related and folded[group] & known]:
        related += more
        known = known.union(*(folded[group] for group in more))
    return tuple(group for group in groups if group in related)


def _shapes_of(files: SourceFiles, columns: Columns) -> list[tuple[FileShape, Holders]]:
    """The shapes to match, each with its files. Records that name their columns have one: the keys that
    occur.

    For events it is the keys that may occur.
    """
    if files.source.has_events:
        earlier = [column.renamed_from for column in columns if column.renamed_from]
        names = {*(column.name for column in columns), *earlier}
        return [(shape_of_keys(names.union(*map(compositions, names))), Holders(()))]
    if files.columns_in is ColumnsIn.RECORDS:
        found, first = record_shape(files.records, files.read(()), columns)
        keys = files.groups[0].shape.path_keys if files.groups else ()
        in_all = tuple(key for key in keys if all(key in group.shape.path_keys for group in files.groups))
        return [(replace(found, path_keys=in_all), Holders(files.paths, first))]
    return [
        (group.shape, Holders(tuple(file.path for file in group.files)))
        for group in files.groups
        if group.shape.columns
    ]


def _match_columns(table: TableName, side: _Side, columns: Columns) -> tuple[Columns, list[str]]:
    """The columns with new ones, and notes. Raises SourceError if the source does not allow new columns."""
    source, found, records = side.source, side.found, side.files.records
    matches = _matches(source, found, columns)
    if side.files.columns_in is ColumnsIn.RECORDS and any(match.new for match in matches):
        read = side.read(columns)
        records = records.good(read)
        good, _ = record_shape(records, read, columns)
        found = _of_good_rows(found, matches, good)
        matches = _matches(source, found, columns)
    new: dict[str, NewColumn] = {}
    findings = Findings(source, table)
    empty = tuple(file.path for group in side.files.groups for file in group.files if not file.size)
    findings.add(("there is no byte in it, so no row",) if empty else (), (), Holders(empty))
    for match, (_, holders) in zip(matches, found, strict=True):
        headless = no_header_problem(match) if side.files.columns_in is ColumnsIn.HEADER else ()
        findings.add(match.notes, (*match.problems, *headless), holders)
        for column in match.new:
            known = new.get(alike(column.name), replace(column, name=composed(column.name)))
            new[alike(known.name)] = replace(known, type=_common(known.type, column.type))
    findings.raise_problems()
    for match, (_, holders) in zip(matches, found, strict=True):
        if untyped := [name for name in match.typeless if alike(name) not in new]:
            findings.add((typeless_note(untyped),), (), holders)
    return (*columns, *_typed(side.files, tuple(new.values()), records)), findings.notes


def _matches(
    source: Source, found: Sequence[tuple[FileShape, Holders]], columns: Columns
) -> list[ColumnMatch]:
    matches = [match_columns(columns, shape, source.on_new_column) for shape, _ in found]
    if source.has_files:
        return matches
    # A few records need not have all columns; required ones are validated row by row.
    return [
        match_columns([it for it in columns if it.name not in match.missing], shape, source.on_new_column)
        for match, (shape, _) in zip(matches, found, strict=True)
    ]


def _of_good_rows(
    found: Sequence[tuple[FileShape, Holders]], matches: Sequence[ColumnMatch], good: FileShape
) -> list[tuple[FileShape, Holders]]:
    """The keys that may bring columns: the known ones, and those of valid rows (``good``)."""
    kept = {*good.columns, *(theirs for match in matches for _, theirs in match.present)}
    return [
        (
            shape_of_keys(
                [key for key in shape.columns if key in kept], good.together or (), shape.path_keys
            ),
            holders,
        )
        for shape, holders in found
    ]


def _common(one: str | None, other: str | None) -> str | None:
    return common_type(one, other) if one and other else one


def _typed(files: SourceFiles, new: Sequence[NewColumn], records: Records) -> Sequence[Column]:
    """New columns with a type: the files' own, else one that a sample of the values fits."""
    if all(column.type for column in new):
        return [Column(it.name, table_type(it.type or "string"), is_inferred=True) for it in new]
    inferred = records.infer(SourceRead(files.source, read_groups(files.groups, ())))
    types = {alike(column.name): column.type for column in inferred}
    return [Column(it.name, types.get(alike(it.name), "string"), is_inferred=True) for it in new]


def _widened(table: TableDefinition, side: _Side, columns: Columns) -> tuple[Columns, list[str]]:
    """The columns widened to the files' types, if the source allows it, and notes. Declared types stay."""
    if side.source.on_type_change is not OnTypeChange.WIDEN:
        return columns, []
    declared = {column.name.lower() for column in table.columns}
    types = [file_types(columns, shape) for shape, _ in side.found]
    after = tuple(
        column
        if column.name.lower() in declared
        else _as_wide(column, [of[column.name] for of in types if column.name in of])
        for column in columns
    )
    changes = (
        change
        for old, new in zip(columns, after, strict=True)
        for change in type_changes(old.type or "", new.type or "", old.name) or ()
    )
    return after, [f"{dotted(it.path)}: {it.old} -> {it.new} (on_type_change: widen)" for it in changes]


def _as_wide(column: Column, found: Sequence[SqlType]) -> Column:
    before = parse_type(column.type or "")
    after = reduce(widened, found, before)
    return replace(column, type=after.text) if after is not before else column


def _require_readable(table: TableName, files: SourceFiles, columns: Columns) -> None:
    """Raises SourceError LS436 for each column of a file that the table needs and Spark cannot read.

    The table needs ``columns`` and the new ones that the source allows; all, if there are no columns yet.
    """
    problems = [
        _unreadable_problem(table, files.source, group, name, kind, ours.get(name))
        for group in files.groups
        if group.shape.unreadable and not group.shape.empty
        for ours in [_by_file_name(group.shape, columns)]
        for name, kind in group.shape.unreadable
        if not columns or name in ours or files.source.on_new_column is OnNewColumn.EVOLVE
    ]
    if problems:
        raise SourceError(problems[:_PROBLEMS_SHOWN])


def _by_file_name(shape: FileShape, columns: Columns) -> dict[str, Column]:
    by_name = {column.name: column for column in columns}
    present = match_columns(columns, shape, OnNewColumn.IGNORE).present
    return {theirs: by_name[ours] for ours, theirs in present}


def _unreadable_problem(
    table: TableName, source: Source, group: ShapeGroup, name: str, kind: str, ours: Column | None
) -> Problem:
    path = printable(group.files[0].path)
    more = f" and {len(group.files) - 1} more files" if len(group.files) > 1 else ""
    return Problem(
        "LS436",
        f"source {source.name!r}: {path}{more}: column {name} cannot be read",
        (ours.place if ours else None) or source.place,
        expected="a type that Spark can read",
        found=kind[:_LONGEST_TYPE],
        hint="have it written as another type, or leave it out (declare the columns, without it, and "
        f"`on_new_column: ignore`); or `lakesmith files {table} --skip {path}` leaves this file out",
    )
