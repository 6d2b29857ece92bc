"""A table as it was, with the columns it has now."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakesmith.project.definitions import TableName
from lakesmith.spark.iceberg import JavaTables, physical, quoted


def read_version(spark: SparkSession, name: TableName, snapshot: int | None) -> DataFrame:
    """The rows of a snapshot in the columns that the table has now; no rows where there is none (None).

    Spark reads a snapshot in the columns of its time: with those that were dropped by its own publish, say. They are
    matched by Iceberg's field ids here; what came later is null.
    """
    if snapshot is None:
        return spark.table(physical(name)).limit(0)
    frame = spark.sql(f"SELECT * FROM {physical(name)} VERSION AS OF {snapshot}")
    table = JavaTables(spark).load(name)
    then, now = _columns(schema_of(spark, table, snapshot)), _columns(table.schema())
    if then == now or frame.columns != list(then.values()):
        return frame
    types = {field.name: field.dataType for field in spark.table(physical(name)).schema.fields}
    return frame.select(
        *(
            (F.col(quoted(then[field])) if field in then else F.lit(None)).cast(types[column]).alias(column)
            for field, column in now.items()
        )
    )


def schema_of(spark: SparkSession, table: Any, snapshot: int) -> Any:
    """The Iceberg schema a snapshot was written with."""
    jvm: Any = spark._jvm
    return jvm.org.apache.iceberg.util.SnapshotUtil.schemaFor(table, snapshot)


def _columns(schema: Any) -> dict[int, str]:
    return {int(field.fieldId()): str(field.name()) for field in schema.columns()}
