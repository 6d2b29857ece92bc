"""Rows appended since a snapshot are found by row ids and sequence numbers where snapshots have expired."""

from pyspark.sql import SparkSession

from lakesmith.project.definitions import TableName
from lakesmith.spark.iceberg.commits import JavaTables
from lakesmith.spark.iceberg.snapshots import read_appended


def test_rows_that_got_other_ids_by_a_compaction_were_not_appended(spark: SparkSession) -> None:
    """Up to Iceberg 1.10 a commit that drops a file from a merged manifest gives the other rows new ids."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.after")
    spark.sql("DROP TABLE IF EXISTS lake.after.t")
    spark.sql(
        "CREATE TABLE lake.after.t (id int, part string) USING iceberg PARTITIONED BY (part)"
        " TBLPROPERTIES ('format-version' = '3', 'commit.manifest.min-count-to-merge' = '2')"
    )
    for values in ("(1, 'a'), (2, 'b')", "(3, 'a'), (4, 'b')"):
        spark.sql(f"INSERT INTO lake.after.t VALUES {values}")
    name = TableName("after", "t")
    start = int(JavaTables(spark).load(name).currentSnapshot().snapshotId())
    spark.sql(
        "CALL lake.system.rewrite_data_files(table => 'after.t', where => \"part = 'a'\", options =>"
        " map('rewrite-all', 'true'))"
    )
    between = int(JavaTables(spark).load(name).currentSnapshot().snapshotId())
    spark.sql("INSERT INTO lake.after.t VALUES (5, 'b')")
    end = int(JavaTables(spark).load(name).currentSnapshot().snapshotId())
    spark.sql(f"ALTER TABLE lake.after.t CREATE TAG kept AS OF VERSION {start}")
    JavaTables(spark).expire(name, [between])
    assert [row.id for row in read_appended(spark, name, start, end).collect()] == [5]
