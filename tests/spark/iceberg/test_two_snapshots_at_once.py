"""Two snapshots of one table in one session: Spark, which reuses plans, never takes one for the other."""

import pytest
from pyspark.sql import DataFrame, SparkSession

from lakesmith.project.definitions import TableName
from lakesmith.spark.iceberg.commits import JavaTables
from lakesmith.spark.iceberg.snapshots import read_as_it_was, read_version


@pytest.fixture
def two(spark: SparkSession) -> tuple[TableName, int, int]:
    """A table, its snapshot with the row 1, and the one with the rows 1 and 2."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.two")
    spark.sql("DROP TABLE IF EXISTS lake.two.t")
    spark.sql("CREATE TABLE lake.two.t (a int, b int) USING iceberg")
    spark.sql("INSERT INTO lake.two.t VALUES (1, 10)")
    first = _head(spark)
    spark.sql("INSERT INTO lake.two.t VALUES (2, 20)")
    return TableName("two", "t"), first, _head(spark)


def _head(spark: SparkSession) -> int:
    return int(JavaTables(spark).load(TableName("two", "t")).currentSnapshot().snapshotId())


def _values(frame: DataFrame) -> list[tuple[int, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_one_query_over_both(spark: SparkSession, two: tuple[TableName, int, int]) -> None:
    name, first, second = two
    counted = [read_version(spark, name, each).groupBy("a").count() for each in (first, second)]
    assert _values(counted[0].union(counted[1])) == [(1, 1), (1, 1), (2, 1)]
    assert _values(counted[1].join(counted[0], "a", "left_anti")) == [(2, 1)]


def test_one_is_kept_while_the_other_is_read(spark: SparkSession, two: tuple[TableName, int, int]) -> None:
    name, first, second = two
    kept = read_version(spark, name, first).persist()
    try:
        assert kept.count() == 1
        assert _values(read_version(spark, name, second)) == [(1, 10), (2, 20)]
    finally:
        kept.unpersist()


def test_columns_that_changed_their_names_with_each_other(
    spark: SparkSession, two: tuple[TableName, int, int]
) -> None:
    name, _, second = two
    for old, new in (("a", "x"), ("b", "a"), ("x", "b")):
        spark.sql(f"ALTER TABLE lake.two.t RENAME COLUMN {old} TO {new}")
    now, then = (read(spark, name, second).select("a") for read in (read_version, read_as_it_was))
    kept = then.persist()
    try:
        assert _values(kept) == [(1,), (2,)]
        assert _values(now) == [(10,), (20,)]
        assert _values(now.union(then)) == [(1,), (2,), (10,), (20,)]
    finally:
        kept.unpersist()
