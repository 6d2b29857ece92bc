"""A table as it was: with the columns it has now, or with those that readers saw then."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from lakesmith.catalog.record import SUMMARY_KEY
from lakesmith.project.definitions import TableName
from lakesmith.spark.gateway import elements
from lakesmith.spark.iceberg import JavaTables, physical, quoted


def column_types(spark: SparkSession, name: TableName) -> dict[str, DataType]:
    """The types of the columns that the table has now, by their names in lower case: a query may spell them otherwise."""
    return {field.name.lower(): field.dataType for field in spark.table(physical(name)).schema.fields}


def in_types(rows: DataFrame, columns: Iterable[str], types: Mapping[str, DataType]) -> DataFrame:
    """These columns of the rows, in these types by name in lower case: values of two types are never held against each other."""
    return rows.select(*(F.col(quoted(name)).cast(types[name.lower()]).alias(name) for name in columns))


def read_version(spark: SparkSession, name: TableName, snapshot: int | None) -> DataFrame:
    """The rows of a snapshot in the columns that the table has now; no rows where there is none (None).

    Spark reads a snapshot in the columns of its time: with those that were dropped by its own publish, say. They, and the fields
    inside them, are matched by Iceberg's field ids here; what came later is null, or what it has for rows from before it.
    """
    if snapshot is None:
        return spark.table(physical(name)).limit(0)
    frame = spark.sql(f"SELECT * FROM {physical(name)} VERSION AS OF {snapshot}")
    table = JavaTables(spark).load(name)
    schema = schema_of(spark, table, snapshot)
    if schema.sameSchema(table.schema()) or frame.columns != list(_columns(schema).values()):
        return frame
    fields = {field.name.lower(): field for field in spark.table(physical(name)).schema.fields}
    there = {int(field.fieldId()): field for field in elements(schema.columns())}
    values = (
        _as_now(there.get(int(field.fieldId())), field, fields[str(field.name()).lower()])
        for field in elements(table.schema().columns())
    )
    return frame.select(*values)


def _as_now(there: Any, field: Any, now: StructField) -> SparkColumn:
    """A column as it is ``now``; ``there``: Iceberg's field of the rows it is made of, None where they have none."""
    if there is None:
        return _from_before(now)
    value = F.col(quoted(str(there.name())))
    return _with_fields(value, there.type(), field.type(), now.dataType).alias(now.name)


def _from_before(now: StructField) -> SparkColumn:
    """What rows have that were written before the column or field came: its initial default, which Iceberg tells Spark as SQL."""
    default = now.metadata.get("EXISTS_DEFAULT")
    value = F.lit(None) if default is None else F.expr(default)
    return value.cast(now.dataType).alias(now.name)


def _with_fields(value: SparkColumn, had: Any, wanted: Any, kind: DataType) -> SparkColumn:
    """A value of Iceberg's type ``had`` in the type it has grown to since, Spark's ``kind``: fields that came inside it are null, at
    any depth."""
    match kind:
        case StructType():
            there = {int(field.fieldId()): field for field in elements(had.fields())}
            fields = [
                _field(value, there.get(int(field.fieldId())), field, inner)
                for field, inner in zip(elements(wanted.fields()), kind.fields, strict=True)
            ]
            return F.when(value.isNotNull(), F.struct(*fields))
        case ArrayType():
            had, wanted = had.elementType(), wanted.elementType()
            return F.transform(value, lambda item: _with_fields(item, had, wanted, kind.elementType))
        case MapType():
            had, wanted = had.valueType(), wanted.valueType()
            return F.transform_values(value, lambda _, item: _with_fields(item, had, wanted, kind.valueType))
    return value.cast(kind)


def _field(value: SparkColumn, there: Any, field: Any, now: StructField) -> SparkColumn:
    if there is None:
        return _from_before(now)
    inner = value.getField(str(there.name()))
    return _with_fields(inner, there.type(), field.type(), now.dataType).alias(now.name)


def as_published(spark: SparkSession, name: TableName, snapshot: int) -> str:
    """What stands for the table behind FROM to read a snapshot with the columns that readers saw in it.

    A batch of a derived table that drops columns, or changes the type of some, does so with its publish: its snapshots were
    written in the columns of before, beside which a changed one stands under another name. What became of them tells the
    schema of whatever was committed next. (Sourced tables keep their columns: there, one that is gone went another way.)
    """
    at = f"{physical(name)} VERSION AS OF {snapshot}"
    table = JavaTables(spark).load(name)
    found = table.snapshot(snapshot)
    if found is None or not _reads_tables(found):
        return at
    then, after = _columns(schema_of(spark, table, snapshot)), _columns(_next_schema(spark, table, found))
    kept = {then[field]: column for field, column in after.items() if field in then}
    if list(kept) == list(kept.values()) and len(kept) == len(then):
        return at
    columns = (f"{quoted(old)} AS {quoted(new)}" for old, new in kept.items())
    return f"(SELECT {', '.join(columns)} FROM {at})"


def _reads_tables(snapshot: Any) -> bool:
    """Whether it is the last one of a batch of a derived table."""
    record = snapshot.summary().get(SUMMARY_KEY)
    return record is not None and bool(json.loads(record).get("inputs"))


def _next_schema(spark: SparkSession, table: Any, snapshot: Any) -> Any:
    """The schema of what was committed after a snapshot, whatever became of that; the present one where nothing was."""
    later = {int(other.sequenceNumber()): int(other.snapshotId()) for other in table.snapshots()}
    following = [number for number in later if number > snapshot.sequenceNumber()]
    return schema_of(spark, table, later[min(following)]) if following else table.schema()


def schema_of(spark: SparkSession, table: Any, snapshot: int) -> Any:
    """The Iceberg schema a snapshot was written with."""
    jvm: Any = spark._jvm
    return jvm.org.apache.iceberg.util.SnapshotUtil.schemaFor(table, snapshot)


def _columns(schema: Any) -> dict[int, str]:
    return {int(field.fieldId()): str(field.name()) for field in elements(schema.columns())}
