"""From a batch's files to one frame of rows: columns matched by name, each file read with its own header's order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakesmith.catalog.state import ColumnState, TableState
from lakesmith.plan.steps import FileIntake
from lakesmith.project.definitions import Column, OnNewColumn, OnTypeChange, Source, TableDefinition
from lakesmith.sources.columns.fields import typeless_note
from lakesmith.sources.columns.names import (
    ColumnMatch,
    NewColumn,
    match_columns,
    no_header_problem,
    path_columns,
)
from lakesmith.sources.columns.notes import Holders, Told
from lakesmith.sources.columns.types import common_type, remembered, table_type
from lakesmith.sources.formats.registry import landing_format
from lakesmith.sources.headers import ShapeGroup, group_by_shape, with_common_columns
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.shape import USUAL, FileShape, Layout
from lakesmith.sources.unreadable import require_readable, without_unreadable
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.frames.exact_json import frame_of
from lakesmith.spark.kinds.intake_fields import (
    FieldKeys,
    Held,
    column_keys,
    match_fields,
    of_good_records,
    of_keys,
    record_shape,
    widen_columns,
)
from lakesmith.spark.kinds.slices import slice_shapes, with_records
from lakesmith.spark.read.files import ReadGroup, ReadRequest, infer_columns, read_files
from lakesmith.spark.read.formats.registry import reader_of
from lakesmith.spark.read.request import SOURCE_FILE
from lakesmith.spark.read.sessions import zoned

_PREFIX = ("_source_", "_ingested_at", "_batch")


@dataclass(frozen=True)
class Intake:
    """A batch's rows as read: ``columns``, the source columns, ``_raw`` and ``_reasons``.

    ``notes`` say what was missing, ignored or added.
    """

    rows: DataFrame
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    requests: tuple[ReadRequest, ...]

    @property
    def headers(self) -> tuple[ReadGroup, ...]:
        """What the files hold that are read."""
        return tuple(group for request in self.requests for group in request.groups)

    @property
    def files(self) -> tuple[FileIdentity, ...]:
        """The files that are read."""
        return tuple(file for group in self.headers for file in group.files)

    @property
    def layouts(self) -> dict[str, Layout]:
        """Where the records of the files are that have no usual layout, by their paths."""
        odd = (group for group in self.headers if group.layout != USUAL)
        return {file.path: group.layout for group in odd for file in group.files}

    def only(self, paths: Collection[str]) -> DataFrame:
        """The rows of the files at ``paths`` alone."""
        return _rows(self.rows.sparkSession, [_only(request, paths) for request in self.requests])

    def with_raw_columns(self, rows: DataFrame) -> DataFrame:
        """Adds ``_raw_columns``, what the fields of a row's raw text are called, and ``_raw_types``, their types as DDL where
        the file has types: so that it can be read again."""
        files = [
            {"_source_file": file.path, "_raw_columns": group.file_columns, "_raw_types": group.types}
            for group in self.headers
            for file in group.files
        ]
        types = "_source_file string, _raw_columns array<string>, _raw_types string"
        names = frame_of(rows.sparkSession, files, types)
        return rows.join(F.broadcast(names), "_source_file", "left")


def open_intake(batch: Batch) -> Intake:
    """Reads the shapes of the step's files and plans their rows (nothing is read of them yet).

    Raises SourceError when a file cannot be read or has columns, or fields in them, that its source does not allow.
    """
    groups = {
        intake: slice_shapes(intake)
        if not intake.source.has_files
        else group_by_shape(intake.files, intake.source, batch.project.root, batch.name)
        for intake in _with_files(batch)
    }
    columns = known_columns(batch.step.table, batch.there())
    for intake, shapes in groups.items():
        require_readable(batch.name, intake.source, shapes, columns)
    columns = columns or _inferred(batch, groups)
    found = {intake: _shapes(batch, intake.source, shapes, columns) for intake, shapes in groups.items()}
    columns, notes, keys = _agreed(batch, groups, found, columns)
    requests = [
        _request(batch, intake.source, shapes, found[intake], columns, keys.get(intake))
        for intake, shapes in groups.items()
    ]
    return Intake(_rows(batch.spark, requests), columns, notes, tuple(requests))


def _rows(spark: SparkSession, requests: Sequence[ReadRequest]) -> DataFrame:
    return reduce(DataFrame.unionByName, (read_files(spark, request) for request in requests))


def _only(request: ReadRequest, paths: Collection[str]) -> ReadRequest:
    kept = (
        replace(group, files=tuple(file for file in group.files if file.path in paths))
        for group in request.groups
    )
    records = None if request.records is None else request.records.where(F.col(SOURCE_FILE).isin(*paths))
    return replace(request, groups=tuple(group for group in kept if group.files), records=records)


def _agreed(
    batch: Batch,
    groups: Mapping[FileIntake, tuple[ShapeGroup, ...]],
    found: Mapping[FileIntake, Sequence[Held]],
    columns: tuple[Column, ...],
) -> tuple[tuple[Column, ...], tuple[str, ...], dict[FileIntake, FieldKeys]]:
    """The columns, with what is new in the files where that is let in, notes, and how records spell fields; raises SourceError where
    something new is not let in."""
    notes: list[str] = []
    keys: dict[FileIntake, FieldKeys] = {}
    # What one source lets in is not new any more for the others.
    open_first = sorted(groups, key=lambda intake: intake.source.on_new_column is not OnNewColumn.EVOLVE)
    judged = [intake for intake in open_first if not intake.source.has_events]
    for intake in judged:
        columns = _matched(batch, intake.source, groups[intake], found[intake], columns, notes)
    for intake in judged:
        request = _request(batch, intake.source, groups[intake], found[intake], columns)
        columns, said, keys[intake] = match_fields(batch.spark, request, found[intake], columns)
        notes.extend(said)
    for intake in judged:
        if intake.source.on_type_change is OnTypeChange.WIDEN:
            columns, said = widen_columns(
                columns, [shape for shape, _ in found[intake]], batch.step.table.columns
            )
            notes.extend(said)
    return columns, tuple(dict.fromkeys(notes)), keys


def _with_files(batch: Batch) -> list[FileIntake]:
    return [intake for intake in batch.step.intakes if intake.files]


def known_columns(table: TableDefinition, state: TableState | None) -> tuple[Column, ...]:
    """The declared columns and, after them, those the table has got besides (inferred once, or evolved since).

    The fields that the table has got inside the declared columns are in their types. ``state``: as it is now; None: it is not there.
    """
    there = {column.name.lower(): column for column in (state.columns if state else ())}
    declared = [_with_remembered(column, there.pop(column.name.lower(), None)) for column in table.columns]
    besides = (column for column in there.values() if not column.name.startswith(_PREFIX))
    return (*declared, *(Column(column.name, column.type) for column in besides))


def _with_remembered(column: Column, there: ColumnState | None) -> Column:
    if there is None or column.type is None or "<" not in column.type:
        return column
    return replace(column, type=remembered(column.type, there.type))


def _inferred(batch: Batch, groups: dict[FileIntake, tuple[ShapeGroup, ...]]) -> tuple[Column, ...]:
    batch.say("inferring the columns")
    found: dict[str, Column] = {}
    for intake, shapes in groups.items():
        akin = with_common_columns(shapes) if landing_format(intake.source).has_header else shapes
        for column in infer_columns(batch.spark, intake.source, _groups(akin, ()), batch.project.root):
            found.setdefault(column.name.lower(), column)
    return tuple(found.values())


def _matched(
    batch: Batch,
    source: Source,
    shapes: Sequence[ShapeGroup],
    found: Sequence[Held],
    columns: tuple[Column, ...],
    notes: list[str],
) -> tuple[Column, ...]:
    """The columns, with new ones added where the source lets them in; raises SourceError where it does not."""
    new: dict[str, NewColumn] = {}
    keys, records, matches = reader_of(source).keys, None, _matches(source, found, columns)
    if keys is not None and any(match.new for match in matches):
        request = of_good_records(batch.spark, _request(batch, source, shapes, found, columns), keys)
        good, _ = record_shape(batch.spark, request, keys, columns)
        found = _that_get_in(found, matches, good)
        records, matches = request.records, _matches(source, found, columns)
    told = Told(source, batch.name)
    nothing = tuple(file.path for group in shapes for file in group.files if not file.size)
    told.add(("there is no byte in it, so no row",) if nothing else (), (), Holders(nothing))
    for match, (_, holders) in zip(matches, found, strict=True):
        headless = no_header_problem(match) if landing_format(source).has_header else ()
        told.add(match.notes, (*match.problems, *headless), holders)
        for column in match.new:
            known = new.get(column.name.lower(), column)
            new[known.name.lower()] = replace(known, type=_common(known.type, column.type))
    told.stop()
    for match, (_, holders) in zip(matches, found, strict=True):
        if untyped := [name for name in match.typeless if name.lower() not in new]:
            told.add((typeless_note(untyped),), (), holders)
    notes.extend(told.notes)
    return (*columns, *_typed(batch, source, shapes, tuple(new.values()), records)) if new else columns


def _matches(source: Source, found: Sequence[Held], columns: Sequence[Column]) -> list[ColumnMatch]:
    matches = [match_columns(columns, shape, source.on_new_column) for shape, _ in found]
    if source.has_files:
        return matches
    # A few records need not have all columns; whether one has what it has to have is judged row by row.
    return [
        match_columns([it for it in columns if it.name not in match.missing], shape, source.on_new_column)
        for match, (shape, _) in zip(matches, found, strict=True)
    ]


def _that_get_in(found: Sequence[Held], matches: Sequence[ColumnMatch], good: FileShape) -> list[Held]:
    """The keys of records that may bring columns: where there are new ones, those of rows that are not bad, which are ``good``.

    A header brings its columns whatever becomes of the rows below it.
    """
    kept = {*good.columns, *(theirs for match in matches for _, theirs in match.present)}
    return [
        (
            replace(
                of_keys([key for key in shape.columns if key in kept], good.together or ()),
                path_keys=shape.path_keys,
            ),
            holders,
        )
        for shape, holders in found
    ]


def _common(one: str | None, other: str | None) -> str | None:
    return common_type(one, other) if one and other and one != other else one


def _typed(
    batch: Batch,
    source: Source,
    shapes: Sequence[ShapeGroup],
    new: Sequence[NewColumn],
    records: DataFrame | None,
) -> tuple[Column, ...]:
    """New columns with a type: the file's own, or, where it says nothing, what its values look like."""
    if all(column.type for column in new):
        return tuple(Column(column.name, table_type(column.type or "string")) for column in new)
    inferred = infer_columns(batch.spark, source, _groups(shapes, ()), batch.project.root, records)
    types = {column.name.lower(): column.type for column in inferred}
    return tuple(Column(column.name, types.get(column.name.lower(), "string")) for column in new)


def _shapes(
    batch: Batch, source: Source, shapes: Sequence[ShapeGroup], columns: Sequence[Column]
) -> list[Held]:
    """The shapes to match, and what has them. That of files whose records name their columns is the set of keys that occur.

    Of events it is the set of keys that may occur: each is judged by itself, as it was when it was acknowledged.
    """
    if source.has_events:
        earlier = [column.renamed_from for column in columns if column.renamed_from]
        return [(of_keys({column.name for column in columns}.union(earlier), ()), Holders(()))]
    keys = reader_of(source).keys
    if keys is not None:
        found, first = record_shape(batch.spark, _request(batch, source, shapes, (), ()), keys, columns)
        in_all = [key for key in (shapes[0].shape.path_keys if shapes else ()) if _have(shapes, key)]
        found = replace(found, path_keys=tuple(in_all))
        return [(found, Holders(tuple(file.path for group in shapes for file in group.files), first))]
    return [
        (group.shape, Holders(tuple(file.path for file in group.files)))
        for group in shapes
        if group.shape.columns
    ]


def _have(shapes: Sequence[ShapeGroup], key: str) -> bool:
    return all(key in group.shape.path_keys for group in shapes)


def _request(
    batch: Batch,
    source: Source,
    shapes: Sequence[ShapeGroup],
    found: Sequence[Held],
    columns: Sequence[Column],
    field_keys: FieldKeys | None = None,
) -> ReadRequest:
    # Spark's Parquet and Avro readers refuse files without a byte, and there is nothing to read in them.
    groups = _groups([shape for shape in shapes if not shape.shape.empty], columns)
    keys: FieldKeys = {}
    if reader_of(source).keys is not None:
        found_names = [name for shape, _ in found for name in shape.columns]
        keys = {**column_keys(columns, found_names), **(field_keys or {})}
    elif landing_format(source).has_header and not source.csv.header:
        names = [column.name for column in columns]
        groups = tuple(
            replace(group, file_columns=tuple(name for name in names if name not in group.path_columns))
            for group in groups
        )
    return with_records(
        batch,
        replace(
            ReadRequest.of(zoned(batch.spark, source), batch.project.root, columns), groups=groups, keys=keys
        ),
    )


def _groups(shapes: Sequence[ShapeGroup], columns: Sequence[Column]) -> tuple[ReadGroup, ...]:
    return tuple(
        ReadGroup(
            group.files,
            group.shape.columns,
            tuple(kind or "" for kind in group.shape.types),
            _spelt(group.shape, columns),
            group.shape.layout,
            path_columns(columns, group.shape),
        )
        for group in map(without_unreadable, shapes)
    )


def _spelt(shape: FileShape, columns: Sequence[Column]) -> tuple[tuple[str, str], ...]:
    """The columns that the files spell otherwise than the table does: the table's name and the files'."""
    match = match_columns(columns, shape, OnNewColumn.IGNORE)
    return tuple((ours, theirs) for ours, theirs in match.present if ours != theirs)
