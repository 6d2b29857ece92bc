"""A derived table's batch: its query's rows, by the planned strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from lakesmith.catalog.state import ColumnState, TableState
from lakesmith.errors import RunError, StateError
from lakesmith.execute.engine import NeverIncremental, NotIncremental
from lakesmith.execute.lake import Lake
from lakesmith.plan.losses import gone_columns, lost_columns, lost_values, waits
from lakesmith.plan.settings import changed_settings
from lakesmith.plan.steps import Strategy, TableStep
from lakesmith.plan.watermarks import ahead_in_words
from lakesmith.project.definitions import VALIDITY_COLUMNS, Column, TableDefinition
from lakesmith.project.table_parts import partition_field
from lakesmith.project.windows import Marks, latest_time, with_windows
from lakesmith.quoting import quoted
from lakesmith.sources.columns.types import column_changes, stored_type, type_changes
from lakesmith.spark.batch.context import Batch, Draft
from lakesmith.spark.frames.comparable import is_collated
from lakesmith.spark.frames.sql_text import sql_type
from lakesmith.spark.iceberg.commits import SchemaChange
from lakesmith.spark.iceberg.ddl import (
    STAND_IN,
    change_settings,
    create_table,
    require_ours,
    table_properties,
    widen_table,
)
from lakesmith.spark.iceberg.snapshots import read_version
from lakesmith.spark.kinds.require_names import require_free_names
from lakesmith.spark.query.table_query import QueryRows, Retyped, query_rows, read_range
from lakesmith.spark.refresh.by_keys import refresh_keys
from lakesmith.spark.validation.validity_periods import as_rows
from lakesmith.spark.write.plain import write_plain
from lakesmith.spark.write.rebuild import rebuild
from lakesmith.spark.write.upsert import upsert
from lakesmith.spark.write.upsert_versions import upsert_versions

_MOST_LATER: Final = 1_000
"""The number of window ends beyond the watermarks that are kept: the nearest ones."""
_HOW_TO_KEEP: Final = dict.fromkeys(VALIDITY_COLUMNS, "keep history: type2")
"""How a column that no query gives is kept."""


def derive(batch: Batch, _lake: Lake) -> tuple[str, Draft]:
    """Writes the batch of a derived table to its branch, creating or widening the table first."""
    marks = _marks_of(batch)
    table = with_windows(batch.step.table, marks)
    table_uuid, draft = _derive(replace(batch, step=replace(batch.step, table=table)))
    ahead = _rows_ahead(batch)
    said = ahead_in_words(ahead)
    return table_uuid, replace(draft, marks=marks, ahead=ahead, warnings=(*draft.warnings, *said))


def _derive(batch: Batch) -> tuple[str, Draft]:
    table = batch.step.table
    batch.say("planning the query")
    rows = query_rows(batch, with_arrival=bool(table.key))
    whole = _as_stored(table, rows)
    there = batch.there()
    columns = _as_wide(batch, there, _columns(table, whole))
    retyped = _retyped(batch, there, columns)
    missing = _gone(there, whole, ()) if there else []
    if there is not None and not batch.step.approved:
        _require_no_loss(batch.step, there, columns, retyped)
    _require_unpartitioned(batch, {change.name for change in retyped}, {column.name for column in missing})
    warnings = prepare_table(batch, there, _standing_in(columns, retyped))
    # Looked up again, as it was just created or widened. open_branch checks that it is the planned table.
    gone = _gone(batch.state(), whole, retyped)
    _require_same_columns(batch, gone)
    table_uuid = batch.open_branch()
    draft = _write(batch, replace(_with_gone(rows, gone), retyped=retyped))
    said = [f"column {column.name} is no longer in the query and was dropped" for column in gone]
    said += [f"{_rows(count)} found nothing in {name}" for name, count in draft.unknown.items() if count]
    schema = SchemaChange(
        drop=(*(column.name for column in gone), *(change.name for change in retyped)),
        rename=tuple((change.stand_in, change.name) for change in retyped),
        order=_order(batch, there, [column.name for column in columns], retyped),
    )
    return table_uuid, replace(draft, warnings=(*warnings, *said, *draft.warnings), schema=schema)


def _order(
    batch: Batch, there: TableState | None, names: Sequence[str], retyped: Sequence[Retyped]
) -> tuple[str, ...]:
    """In a rebuild, the columns in the query's order; empty if the table has that order."""
    if there is None or batch.step.strategy is not Strategy.FULL:
        return ()
    kept = [column.name for column in there.columns if column.name.lower() in set(map(str.lower, names))]
    if not retyped and [name.lower() for name in kept] == [name.lower() for name in names][: len(kept)]:
        return ()
    spelt = {name.lower(): name for name in kept}
    return tuple(spelt.get(name.lower(), name) for name in names)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _as_stored(table: TableDefinition, rows: QueryRows) -> QueryRows:
    """Rows with all columns of the table, also those that it adds to its query's."""
    schema: StructType = rows.frame.schema
    types = [(name, sql_type(schema[name].dataType)) for name in rows.columns]
    require_free_names(table, types, table.added_columns)
    return replace(rows, frame=as_rows(rows.frame, table)) if table.keeps_versions else rows


def _require_same_columns(batch: Batch, gone: Sequence[ColumnState]) -> None:
    """Raises NotIncremental if columns that are gone distinguished the rows of a table of versions."""
    if gone and batch.step.table.keeps_versions and batch.step.strategy is not Strategy.FULL:
        raise NotIncremental(f"its query does not give the column {gone[0].name} any more")


def _retyped(batch: Batch, state: TableState | None, columns: Sequence[Column]) -> tuple[Retyped, ...]:
    """In a rebuild, the columns whose type changes to one that metadata cannot widen to.

    Until the publish, which swaps them, the table has both: the old one, and the new one under another name.
    """
    if state is None or batch.step.strategy is not Strategy.FULL:
        return ()
    there = {column.name.lower(): column for column in state.columns}
    pairs = [(column, there[column.name.lower()]) for column in columns if column.name.lower() in there]
    return tuple(
        Retyped(old.name, f"{STAND_IN}{batch.attempt[:8]}_{old.name}", old.type)
        for new, old in pairs
        if new.type is not None and type_changes(old.type, new.type) is None
    )


def _as_wide(batch: Batch, state: TableState | None, columns: Sequence[Column]) -> list[Column]:
    """The columns of a batch that keeps the table's rows, in the table's types where those are wider.

    Raises NotIncremental if a column's type can only change in a rebuild.
    """
    if state is None or batch.step.strategy is Strategy.FULL:
        return list(columns)
    types = {column.name.lower(): column.type for column in state.columns}
    return [_as_wide_as(column, types.get(column.name.lower())) for column in columns]


def _as_wide_as(column: Column, there: str | None) -> Column:
    if there is None or column.type is None or type_changes(there, column.type) is not None:
        return column
    changes = type_changes(column.type, there)
    if changes is None or any(change.old is None for change in changes):
        raise NotIncremental(f"its column {column.name} is {column.type} now, and was {there}")
    return replace(column, type=there)


def _require_unpartitioned(batch: Batch, retyped: set[str], missing: set[str]) -> None:
    """Raises StateError LS507 if a column that changes its type or goes partitions the table, or would from
    now on.
    """
    names = retyped | missing
    used = batch.java.partition_columns(batch.name) if names else frozenset()
    declared = {partition_field(text)[1].lower() for text in batch.step.table.partition_by}
    for name in sorted(names):
        if name in used:
            raise _partitioned(
                batch,
                name,
                f"partitions {batch.name}",
                _HOW_TO_KEEP.get(name.lower(), "keep it in the query"),
            )
        if name in retyped and name.lower() in declared:
            hint = "run it once without partition_by, which can follow then"
            raise _partitioned(batch, name, f"is to partition {batch.name} from this batch on", hint)


def _partitioned(batch: Batch, name: str, how: str, hint: str) -> StateError:
    return StateError.of(
        "LS507",
        f"column {name} {how}, so it can neither be dropped nor change its type",
        place=batch.step.table.place,
        expected=f"{name} as it is",
        found="another definition of it, or none",
        hint=f"{hint}, or give the table another name, which builds it from scratch",
    )


def _require_no_loss(
    step: TableStep, there: TableState, columns: Sequence[Column], retyped: Sequence[Retyped]
) -> None:
    """Raises RunError LS524 if the batch would lose columns of the table, or values in them."""
    kinds = {column.name.lower(): column.type or "" for column in columns}
    gone = gone_columns(step.base.record, there, [column.name for column in columns])
    types = [(each.name, each.old_type, kinds[each.name.lower()]) for each in retyped]
    if losses := (*lost_values(step), *lost_columns(gone, types)):
        raise RunError(waits(step.table, losses, step.readers))


def _standing_in(columns: Sequence[Column], retyped: Sequence[Retyped]) -> list[Column]:
    names = {change.name.lower(): change.stand_in for change in retyped}
    return [replace(column, name=names.get(column.name.lower(), column.name)) for column in columns]


def _gone(state: TableState, rows: QueryRows, retyped: Sequence[Retyped]) -> list[ColumnState]:
    given = {name.lower() for name in (*rows.columns, *(change.stand_in for change in retyped))}
    return [column for column in state.columns if column.name.lower() not in given]


def _with_gone(rows: QueryRows, gone: Sequence[ColumnState]) -> QueryRows:
    """The rows with nulls in such columns, until the publish drops these."""
    nulls = {column.name: F.lit(None).cast(column.type) for column in gone}
    return replace(rows, frame=rows.frame.withColumns(nulls)) if nulls else rows


def _write(batch: Batch, rows: QueryRows) -> Draft:
    if rows.keys is not None:
        return refresh_keys(batch, rows, rows.keys)
    if not batch.step.table.key:
        return write_plain(batch, rows)
    if batch.step.strategy is Strategy.UPSERT and batch.step.base.snapshot is not None:
        _require_no_collation(rows)
        return upsert_versions(batch, rows) if batch.step.table.keeps_versions else upsert(batch, rows)
    return rebuild(batch, rows)


def _require_no_collation(rows: QueryRows) -> None:
    """Raises NeverIncremental if texts are equal by a collation: the table compares them as plain texts."""
    for column in rows.frame.schema.fields:
        if is_collated(column.dataType.simpleString()):
            raise NeverIncremental(f"texts of its column {column.name} are compared by a collation")


def prepare_table(batch: Batch, state: TableState | None, columns: Sequence[Column]) -> list[str]:
    """Creates the table, or adds and widens its columns and changes its settings. Returns what changed, in
    words.

    ``state``: the table's metadata now; None if it does not exist.
    """
    table = batch.step.table
    if state is None:
        properties = table_properties(batch.project.name, table)
        create_table(batch.spark, batch.name, columns, properties, table.partition_by)
        batch.pass_point("after-create")
        return []
    require_ours(state, batch.project.name)
    if changed_settings(table, state) or column_changes(state.columns, columns):
        batch.begin_draft(state)
    widened = widen_table(batch.spark, batch.name, state, columns)
    return [*widened, *change_settings(batch.spark, table, state)]


def _columns(table: TableDefinition, rows: QueryRows) -> list[Column]:
    """The table's columns: the query's, with the declared documentation and types."""
    schema: StructType = rows.frame.schema
    declared = {column.name.lower(): column for column in table.columns}
    return [_column(table, name, schema, declared.get(name.lower())) for name in rows.columns]


def _column(table: TableDefinition, name: str, schema: StructType, declared: Column | None) -> Column:
    given = sql_type(schema[name].dataType)
    kind = stored_type(given).text
    if declared and declared.type not in (None, given.text, kind):
        raise _otherwise_declared(table, declared, kind)
    if kind == "void":
        raise RunError.of(
            "LS608",
            f"column {name} of {table.name} has no type: it is always NULL",
            place=table.place,
            expected="a column with a type",
            found="NULL",
            hint=f"give it one in the query: CAST(NULL AS string) AS {name}",
        )
    return Column(name, kind, declared.doc if declared else None, place=declared.place if declared else None)


def _otherwise_declared(table: TableDefinition, declared: Column, found: str) -> RunError:
    return RunError.of(
        "LS609",
        f"the query of {table.name} gives the column {declared.name} another type than is declared",
        place=declared.place or table.place,
        expected=declared.type,
        found=found,
        hint=f"CAST it to {declared.type} in the query, or declare {found}",
    )


def _marks_of(batch: Batch) -> Marks:
    """Returns what decides, beside the rows, which windows there are.

    A watermark may be behind windows that were closed because inputs had gone quiet: published windows stay.
    """
    step, record, emit = batch.step, batch.step.base.record, batch.step.table.emit
    marks = Marks(frozenset(step.idle), step.arrived)
    if record is None or emit is None or not (record.idle or record.closed or record.closed_later):
        return marks
    if record.fingerprint != step.fingerprint or step.base.snapshot is None:
        return marks
    closed = F.col(quoted(emit.closed))
    ends = read_version(batch.spark, batch.name, step.base.snapshot).select(closed)
    # If an event is far ahead of its arrival, so is its window: earlier windows are not all there.
    reached = latest_time(emit, quoted(emit.closed), max(record.arrived.values(), default=0))
    last = ends.where(closed <= F.expr(reached)).agg(F.max(closed).cast("string")).collect()[0][0]
    later = ends.where(closed > F.expr(reached)).distinct().orderBy(closed).limit(_MOST_LATER)
    found = tuple(row[0] for row in later.select(closed.cast("string")).collect())
    return Marks(marks.idle, marks.arrived, record.closed if last is None else str(last), found)


def _rows_ahead(batch: Batch) -> dict[str, tuple[int, str]]:
    """Returns by watermark how many rows are too far ahead to move it, and their greatest time."""
    step, emit = batch.step, batch.step.table.emit
    found: dict[str, tuple[int, str]] = {}
    if emit is None:
        return found
    ranges = {item.table: item for item in step.inputs}
    for mark in emit.watermarks:
        arrived = step.arrived.get(str(mark.table))
        if arrived is not None and mark.table in ranges:
            time, latest = quoted(mark.column), latest_time(emit, quoted(mark.column), arrived)
            ahead = read_range(batch.spark, ranges[mark.table]).where(f"{time} > {latest}")
            count, last = ahead.agg(F.count("*"), F.max(F.col(time)).cast("string")).collect()[0]
            found |= {str(mark): (count, str(last))} if count else {}
    return found
