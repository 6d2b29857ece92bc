"""Holds a derived table against its definition over the snapshots it has consumed: law 1, on a real project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    StructType,
    VariantType,
)

from lakesmith.execute.verify import RowDifference, Verdict, Verification, skipped
from lakesmith.spark.batch import Batch
from lakesmith.spark.iceberg import physical, quoted
from lakesmith.spark.keyed import DELETE, judge
from lakesmith.spark.quarantine import REASONS, rule_reasons
from lakesmith.spark.queries import QueryRows, query_rows
from lakesmith.spark.rules import add_reasons
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
    missing = [name for name in rows.columns if name not in types]
    if missing:
        return skipped(batch.name, f"it has no column {missing[0]} yet: run it first")
    if unfit := [name for name in rows.columns if _has_variant(types[name])]:
        return skipped(batch.name, f"values of its column {unfit[0]} cannot be compared")
    there = read_version(batch.spark, batch.name, batch.step.base.snapshot)
    both = _counted(_expected(batch, rows), rows.columns, types, (1, 0)).unionByName(
        _counted(there, rows.columns, types, (0, 1))
    )
    sums = [F.sum(name).alias(name) for name in (_EXPECTED, _FOUND)]
    return _verdict(batch, both.groupBy(*map(quoted, rows.columns)).agg(*sums), rows.columns)


def _expected(batch: Batch, rows: QueryRows) -> DataFrame:
    table = batch.step.table
    if table.key:
        return judge(rows, table).winners().where(~F.col(DELETE))
    return add_reasons(rows.frame, rule_reasons(table.checks), table.checks).where(F.size(REASONS) == 0)


def _counted(
    frame: DataFrame, columns: Sequence[str], types: dict[str, DataType], counts: tuple[int, int]
) -> DataFrame:
    """The rows in comparable values, each with how often it is expected and found."""
    values = [_comparable(F.col(quoted(name)).cast(types[name]), types[name]).alias(name) for name in columns]
    expected, found = (F.lit(count).cast("bigint") for count in counts)
    return frame.select(*values, expected.alias(_EXPECTED), found.alias(_FOUND))


def _comparable(value: SparkColumn, kind: DataType) -> SparkColumn:
    """The value as one that can be grouped by: numbers with a point rounded, maps as lists in order, at any depth."""
    match kind:
        case DoubleType() | FloatType():
            # An addition to nothing: -0.0 is 0.0, to the reader as to a GROUP BY.
            digits = 9 if isinstance(kind, DoubleType) else 4
            return F.format_string(f"%.{digits}e", value + F.lit(0.0))
        case MapType():
            entries = F.transform(F.map_entries(value), lambda entry: _entry(entry, kind))
            return F.array_sort(entries)
        case ArrayType():
            return F.transform(value, lambda item: _comparable(item, kind.elementType))
        case StructType():
            fields = [_comparable(value.getField(f.name), f.dataType).alias(f.name) for f in kind.fields]
            return F.when(value.isNotNull(), F.struct(*fields))
    return value


def _entry(entry: SparkColumn, kind: MapType) -> SparkColumn:
    key, inner = entry.getField("key"), entry.getField("value")
    return F.struct(
        _comparable(key, kind.keyType).alias("key"), _comparable(inner, kind.valueType).alias("value")
    )


def _has_variant(kind: DataType) -> bool:
    match kind:
        case MapType():
            return _has_variant(kind.keyType) or _has_variant(kind.valueType)
        case ArrayType():
            return _has_variant(kind.elementType)
        case StructType():
            return any(_has_variant(field.dataType) for field in kind.fields)
    return isinstance(kind, VariantType)


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
