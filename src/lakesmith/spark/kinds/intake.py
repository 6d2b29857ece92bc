"""From a batch's files to one frame of rows: columns matched by name, each file read with its own header's order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakesmith.catalog.state import ColumnState
from lakesmith.plan.grown_types import common_type, remembered, table_type
from lakesmith.plan.steps import FileIntake
from lakesmith.project.definitions import Column, FileFormat, FileSource, OnNewColumn, OnTypeChange
from lakesmith.sources.columns import NewColumn, match_columns, no_header_problem
from lakesmith.sources.headers import ShapeGroup, group_by_shape, with_common_columns
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.shape import FileShape
from lakesmith.sources.told import Holders, Told
from lakesmith.sources.unreadable import require_readable, without_unreadable
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.frames.exact_json import frame_of
from lakesmith.spark.kinds.intake_fields import Held, match_fields, of_good_lines, widen_columns
from lakesmith.spark.read.files import (
    ReadGroup,
    ReadRequest,
    infer_columns,
    json_columns,
    json_key_files,
    read_files,
)

_DELIMITED = (FileFormat.CSV, FileFormat.TSV)
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
        intake: group_by_shape(intake.files, intake.source, batch.project.root, batch.name)
        for intake in _with_files(batch)
    }
    columns = known_columns(batch)
    for intake, shapes in groups.items():
        require_readable(batch.name, intake.source, shapes, columns)
    columns = columns or _inferred(batch, groups)
    found = {intake: _shapes(batch, intake.source, shapes) for intake, shapes in groups.items()}
    columns, notes = _agreed(batch, groups, found, columns)
    requests = [
        _request(batch, intake.source, shapes, found[intake], columns) for intake, shapes in groups.items()
    ]
    return Intake(_rows(batch.spark, requests), columns, notes, tuple(requests))


def _rows(spark: SparkSession, requests: Sequence[ReadRequest]) -> DataFrame:
    return reduce(DataFrame.unionByName, (read_files(spark, request) for request in requests))


def _only(request: ReadRequest, paths: Collection[str]) -> ReadRequest:
    kept = (
        replace(group, files=tuple(file for file in group.files if file.path in paths))
        for group in request.groups
    )
    return replace(request, groups=tuple(group for group in kept if group.files))


def _agreed(
    batch: Batch,
    groups: Mapping[FileIntake, tuple[ShapeGroup, ...]],
    found: Mapping[FileIntake, Sequence[Held]],
    columns: tuple[Column, ...],
) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """The columns, with what is new in the files where that is let in, and notes; raises SourceError where it is not."""
    notes: list[str] = []
    # What one source lets in is not new any more for the others.
    open_first = sorted(groups, key=lambda intake: intake.source.on_new_column is not OnNewColumn.EVOLVE)
    for intake in open_first:
        columns = _matched(batch, intake.source, groups[intake], found[intake], columns, notes)
    for intake in open_first:
        if intake.source.format not in _DELIMITED:
            request = _request(batch, intake.source, groups[intake], found[intake], columns)
            columns, said = match_fields(batch.spark, request, found[intake], columns)
            notes.extend(said)
    for intake in open_first:
        if intake.source.on_type_change is OnTypeChange.WIDEN:
            columns, said = widen_columns(
                columns, [shape for shape, _ in found[intake]], batch.step.table.columns
            )
            notes.extend(said)
    return columns, tuple(dict.fromkeys(notes))


def _with_files(batch: Batch) -> list[FileIntake]:
    return [intake for intake in batch.step.intakes if intake.files]


def known_columns(batch: Batch) -> tuple[Column, ...]:
    """The declared columns and, after them, those the table has got besides (inferred once, or evolved since).

    The fields that the table has got inside the declared columns are in their types.
    """
    state = batch.catalog.table(batch.name.layer, batch.name.name)
    there = {column.name.lower(): column for column in (state.columns if state else ())}
    declared = [
        _with_remembered(column, there.pop(column.name.lower(), None)) for column in batch.step.table.columns
    ]
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
        akin = with_common_columns(shapes) if intake.source.format in _DELIMITED else shapes
        for column in infer_columns(batch.spark, intake.source, _groups(akin, ()), batch.project.root):
            found.setdefault(column.name.lower(), column)
    return tuple(found.values())


def _matched(
    batch: Batch,
    source: FileSource,
    shapes: Sequence[ShapeGroup],
    found: Sequence[Held],
    columns: tuple[Column, ...],
    notes: list[str],
) -> tuple[Column, ...]:
    """The columns, with new ones added where the source lets them in; raises SourceError where it does not."""
    new: dict[str, NewColumn] = {}
    lines, found = _that_get_in(batch, source, shapes, found, columns)
    told = Told(source, batch.name)
    nothing = tuple(file.path for group in shapes for file in group.files if not file.size)
    told.add(("there is no byte in it, so no row",) if nothing else (), (), Holders(nothing))
    for shape, holders in found:
        match = match_columns(columns, shape, source.on_new_column)
        headless = no_header_problem(match) if source.format in _DELIMITED else ()
        told.add(match.notes, (*match.problems, *headless), holders)
        for column in match.new:
            known = new.get(column.name.lower(), column)
            new[known.name.lower()] = replace(known, type=_common(known.type, column.type))
    told.stop()
    notes.extend(told.notes)
    return (*columns, *_typed(batch, source, shapes, tuple(new.values()), lines)) if new else columns


def _that_get_in(
    batch: Batch,
    source: FileSource,
    shapes: Sequence[ShapeGroup],
    found: Sequence[Held],
    columns: tuple[Column, ...],
) -> tuple[DataFrame | None, Sequence[Held]]:
    """The JSON lines that may bring columns, and their keys: where there are new ones, those of rows that are not bad.

    None: all lines. A header brings its columns whatever becomes of the rows below it.
    """
    evolves = source.format is FileFormat.JSON and source.on_new_column is OnNewColumn.EVOLVE
    matches = [match_columns(columns, shape, source.on_new_column) for shape, _ in found] if evolves else []
    if not any(match.new for match in matches):
        return None, found
    request = of_good_lines(batch.spark, _request(batch, source, shapes, found, columns))
    kept = {
        *json_columns(batch.spark, request),
        *(theirs for match in matches for _, theirs in match.present),
    }
    return request.records, [(_with_keys(shape, kept), holders) for shape, holders in found]


def _with_keys(shape: FileShape, kept: Collection[str]) -> FileShape:
    keys = tuple(key for key in shape.columns if key in kept)
    return FileShape(keys, (None,) * len(keys))


def _common(one: str | None, other: str | None) -> str | None:
    return common_type(one, other) if one and other and one != other else one


def _typed(
    batch: Batch,
    source: FileSource,
    shapes: Sequence[ShapeGroup],
    new: Sequence[NewColumn],
    lines: DataFrame | None,
) -> tuple[Column, ...]:
    """New columns with a type: the file's own, or, where it says nothing, what its values look like."""
    if all(column.type for column in new):
        return tuple(Column(column.name, table_type(column.type or "string")) for column in new)
    inferred = infer_columns(batch.spark, source, _groups(shapes, ()), batch.project.root, lines)
    types = {column.name.lower(): column.type for column in inferred}
    return tuple(Column(column.name, types.get(column.name.lower(), "string")) for column in new)


def _shapes(batch: Batch, source: FileSource, shapes: Sequence[ShapeGroup]) -> list[Held]:
    """The shapes to match, and what has them. JSON files have no header: theirs is the set of keys that occur in them."""
    if source.format is FileFormat.JSON:
        first = json_key_files(batch.spark, _request(batch, source, shapes, (), ()))
        keys, paths = tuple(sorted(first)), tuple(file.path for group in shapes for file in group.files)
        return [(FileShape(keys, (None,) * len(keys)), Holders(paths, first))]
    if source.format in _DELIMITED and not source.csv.header:
        return []
    return [
        (group.shape, Holders(tuple(file.path for file in group.files)))
        for group in shapes
        if group.shape.columns
    ]


def _request(
    batch: Batch,
    source: FileSource,
    shapes: Sequence[ShapeGroup],
    found: Sequence[Held],
    columns: Sequence[Column],
) -> ReadRequest:
    typed = tuple((column.name, column.type or "string") for column in columns)
    # Spark's Parquet and Avro readers refuse files without a byte, and there is nothing to read in them.
    groups = _groups([shape for shape in shapes if not shape.shape.empty], columns)
    if source.format is FileFormat.JSON:
        spelt = tuple(pair for shape, _ in found for pair in _spelt(shape, columns))
        groups = tuple(replace(group, matches=spelt) for group in groups)
    elif source.format in _DELIMITED and not source.csv.header:
        names = tuple(column.name for column in columns)
        groups = tuple(replace(group, file_columns=names) for group in groups)
    return ReadRequest(source, batch.project.root, groups, typed)


def _groups(shapes: Sequence[ShapeGroup], columns: Sequence[Column]) -> tuple[ReadGroup, ...]:
    return tuple(
        ReadGroup(
            group.files,
            group.shape.columns,
            tuple(kind or "" for kind in group.shape.types),
            _spelt(group.shape, columns),
        )
        for group in map(without_unreadable, shapes)
    )


def _spelt(shape: FileShape, columns: Sequence[Column]) -> tuple[tuple[str, str], ...]:
    """The columns that the files spell otherwise than the table does: the table's name and the files'."""
    match = match_columns(columns, shape, OnNewColumn.IGNORE)
    return tuple((ours, theirs) for ours, theirs in match.present if ours != theirs)
