"""A derived table's batch: its query's rows, by the planned strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from lakesmith.catalog.record import Account
from lakesmith.catalog.state import ColumnState
from lakesmith.errors import Problem, RunError
from lakesmith.execute.observe import Lake
from lakesmith.plan.steps import Strategy
from lakesmith.project.definitions import Column, TableDefinition
from lakesmith.spark.batch import Batch, Draft
from lakesmith.spark.plain import write_plain
from lakesmith.spark.queries import QueryRows, query_rows
from lakesmith.spark.rebuild import rebuild_keyed
from lakesmith.spark.tables import create_table, require_ours, table_properties, widen_table
from lakesmith.spark.upsert import upsert


def derive(batch: Batch, _lake: Lake) -> tuple[str, Draft]:
    """Writes the batch of a derived table to its branch, creating or widening the table first."""
    table = batch.step.table
    batch.say("planning the query")
    rows = query_rows(batch, with_arrival=bool(table.key))
    warnings = prepare_table(batch, _columns(table, rows))
    gone = _gone(batch, rows)
    table_uuid = batch.open_branch()
    draft = _write(batch, _with_gone(rows, gone))
    said = [f"column {column.name} is no longer in the query and was dropped" for column in gone]
    dropped = tuple(column.name for column in gone)
    return table_uuid, replace(draft, warnings=(*warnings, *said, *draft.warnings), drop_columns=dropped)


def _gone(batch: Batch, rows: QueryRows) -> list[ColumnState]:
    """The columns that the table has and the query does not give."""
    given = {name.lower() for name in rows.columns}
    return [column for column in batch.state().columns if column.name.lower() not in given]


def _with_gone(rows: QueryRows, gone: Sequence[ColumnState]) -> QueryRows:
    """Until the publish drops them, such columns have to be written too: as nulls."""
    nulls = {column.name: F.lit(None).cast(column.type) for column in gone}
    return QueryRows(rows.frame.withColumns(nulls), rows.hidden) if nulls else rows


def _write(batch: Batch, rows: QueryRows) -> Draft:
    if not batch.step.table.key:
        return write_plain(batch, rows)
    if batch.step.strategy is Strategy.UPSERT and batch.step.base.snapshot is not None:
        return upsert(batch, rows)
    return rebuild_keyed(batch, rows)


def advance(batch: Batch, _lake: Lake) -> tuple[str, Draft]:
    """Only the inputs' positions move: nothing is read or written."""
    return batch.open_branch(), Draft(Account(), by_row=False)


def prepare_table(batch: Batch, columns: Sequence[Column]) -> list[str]:
    """Makes the table, or adds and widens its columns; says in words what changed."""
    table = batch.step.table
    state = batch.catalog.table(batch.name.layer, batch.name.name)
    if state is None:
        properties = table_properties(batch.project.name, table)
        create_table(batch.spark, batch.name, columns, properties, table.partition_by, table.description)
        batch.pass_point("after-create")
        return []
    require_ours(state, batch.project.name)
    return widen_table(batch.spark, batch.name, state, columns)


def _columns(table: TableDefinition, rows: QueryRows) -> list[Column]:
    """The table's columns: those of the query, with the documentation and types that are declared."""
    schema: StructType = rows.frame.schema
    declared = {column.name.lower(): column for column in table.columns}
    return [_column(table, name, schema, declared.get(name.lower())) for name in rows.columns]


def _column(table: TableDefinition, name: str, schema: StructType, declared: Column | None) -> Column:
    kind = schema[name].dataType.simpleString()
    if kind == "void":
        raise RunError(
            Problem(
                "LS608",
                f"column {name} of {table.name} has no type: it is always NULL",
                place=table.place,
                expected="a column with a type",
                found="NULL",
                hint=f"give it one in the query: CAST(NULL AS string) AS {name}",
            )
        )
    return Column(name, kind, declared.doc if declared else None, place=declared.place if declared else None)
