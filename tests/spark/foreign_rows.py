"""Rows that another tool writes, which knows some of a table's columns."""

from pyspark.sql import SparkSession


def insertion(spark: SparkSession, table: str, columns: str, values: str) -> str:
    """An INSERT of ``values`` in ``columns``, null in all others, which Spark 4.0 wants to be listed."""
    given = columns.split(", ")
    row = ", ".join(name if name in given else "NULL" for name in spark.table(table).columns)
    return f"INSERT INTO {table} SELECT {row} FROM VALUES {values} AS t({columns})"
