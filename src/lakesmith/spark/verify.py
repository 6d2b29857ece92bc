"""Holds a derived table against its definition over the snapshots it has consumed: law 1, on a real project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from lakesmith.execute.verify import RowDifference, Verdict, Verification, skipped
from lakesmith.spark.batch import Batch
from lakesmith.spark.comparable import comparable, has_equality
from lakesmith.spark.iceberg import physical, quoted
from lakesmith.spark.keyed import DELETE, judge
from lakesmith.spark.quarantine import REASONS, rule_reasons
from lakesmith.spark.queries import QueryRows, query_rows
from lakesmith.spark.rules import add_reasons
from lakesmith.spark.validity import IS_ROW, as_rows, put_in_order, tracked_columns
from lakesmith.spark.versions import read_version

_EXPECTED: Final = "_lakesmith_expected"
_FOUND: Final = "_lakesmith_found"
_EXAMPLES: Final = 20


def verify_table(batch: Batch) -> Verification:
    """Computes the table of the batch's step anew, beside it, and compares the two as multisets. Writes nothing.

    Doubles and floats are compared to ten and five digits: a sum of them depends on the order of its rows.
    """
    rows = query_rows(batch, with_arrival=bool(batch.step.table.key))
    types = {field.name: field.dataType for field in batch.spark.table(physical(batch.name)).schema.fields}
    columns = (*rows.columns, *batch.step.table.added_columns)
    missing = [name for name in columns if name not in types]
    if missing:
        return skipped(batch.name, f"it has no column {missing[0]} yet: run it first")
    if unfit := [name for name in columns if not has_equality(types[name])]:
        return skipped(batch.name, f"values of its column {unfit[0]} cannot be compared")
    there = read_version(batch.spark, batch.name, batch.step.base.snapshot)
    both = _counted(_expected(batch, rows), columns, types, (1, 0)).unionByName(
        _counted(there, columns, types, (0, 1))
    )
    sums = [F.sum(name).alias(name) for name in (_EXPECTED, _FOUND)]
    return _verdict(batch, both.groupBy(*map(quoted, columns)).agg(*sums), columns)


def _expected(batch: Batch, rows: QueryRows) -> DataFrame:
    table = batch.step.table
    if table.keeps_versions:
        tracked = tracked_columns(rows.frame, rows.columns, table)
        return put_in_order(as_rows(judge(rows, table).versions(), table), table, tracked).where(IS_ROW)
    if table.key:
        return judge(rows, table).winners().where(~F.col(DELETE))
    return add_reasons(rows.frame, rule_reasons(table.checks), table.checks).where(F.size(REASONS) == 0)


def _counted(
    frame: DataFrame, columns: Sequence[str], types: dict[str, DataType], counts: tuple[int, int]
) -> DataFrame:
    """The rows in comparable values, each with how often it is expected and found."""
    cast = {name: F.col(quoted(name)).cast(types[name]) for name in columns}
    values = [comparable(cast[name], types[name], _rounded).alias(name) for name in columns]
    expected, found = (F.lit(count).cast("bigint") for count in counts)
    return frame.select(*values, expected.alias(_EXPECTED), found.alias(_FOUND))


def _rounded(value: SparkColumn, kind: DataType) -> SparkColumn:
    digits = {"double": 9, "float": 4}.get(kind.simpleString())
    # An addition to nothing: -0.0 is 0.0, to the reader as to a GROUP BY.
    return value if digits is None else F.format_string(f"%.{digits}e", value + F.lit(0.0))


def _verdict(batch: Batch, counted: DataFrame, columns: Sequence[str]) -> Verification:
    expected, found = F.col(_EXPECTED), F.col(_FOUND)
    totals: Row = counted.agg(
        F.coalesce(F.sum(found), F.lit(0)).alias("rows"),
        F.coalesce(F.sum(F.greatest(expected - found, F.lit(0))), F.lit(0)).alias("missing"),
        F.coalesce(F.sum(F.greatest(found - expected, F.lit(0))), F.lit(0)).alias("unexpected"),
    ).collect()[0]
    if not totals.missing and not totals.unexpected:
        return Verification(batch.name, Verdict.SAME, totals.rows)
    text = F.to_json(F.struct(*map(quoted, columns)), {"ignoreNullFields": "false"})
    rows = counted.where(expected != found).select(text.alias("row"), _EXPECTED, _FOUND)
    shown = rows.orderBy("row").limit(_EXAMPLES).collect()
    examples = tuple(RowDifference(row[0], row[1], row[2]) for row in shown)
    return Verification(batch.name, Verdict.DIFFERS, totals.rows, totals.missing, totals.unexpected, examples)
