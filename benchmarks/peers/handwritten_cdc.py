"""Change capture as it is usually written by hand for ``spark-submit``: the peer of ``cdc.py``.

New files by a checkpoint of the newest modification time; bronze appended; the newest change of each key in
the batch merged into silver; gold computed again. It does the job on an orderly stream. It is kept as such
jobs are, with their faults:

* a file that is older than the checkpoint is never read;
* a deleted key leaves no trace, so an older row of it that comes later brings it back;
* a crash between the tables and the checkpoint reads the files again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from job import job_arguments, new_files, open_session, save_checkpoint
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql.functions import col, input_file_name, row_number

SCHEMA = """op string, changed_at timestamp, order_id bigint, customer_id bigint, region string,
    category string,
quantity int, amount decimal(12,2)"""

GOLD = {
    "gold.sales_by_region_category": """
        SELECT region, category, count(*) AS orders, sum(quantity) AS pieces, sum(amount) AS sales
        FROM lake.silver.orders GROUP BY region, category""",
    "gold.orders_by_day": """
        SELECT to_date(changed_at) AS day, op, count(*) AS orders, max(changed_at) AS newest
        FROM lake.silver.orders GROUP BY to_date(changed_at), op""",
}

MERGE = """
    MERGE INTO lake.silver.orders AS t USING changes AS s ON t.order_id = s.order_id
    WHEN MATCHED AND s.op = 'D' AND s.changed_at > t.changed_at THEN DELETE
    WHEN MATCHED AND s.changed_at > t.changed_at THEN UPDATE SET *
    WHEN NOT MATCHED AND s.op <> 'D' THEN INSERT *"""


def create_tables(spark: SparkSession, merge_mode: str) -> None:
    """Bronze and silver, when they are not there yet."""
    bronze = f"CREATE TABLE IF NOT EXISTS lake.bronze.orders ({SCHEMA}, source_file string) USING iceberg"
    spark.sql(bronze)
    modes = ", ".join(f"'write.{verb}.mode' = '{merge_mode}'" for verb in ("merge", "update", "delete"))
    properties = f"TBLPROPERTIES ('format-version' = '3', {modes})"
    spark.sql(f"CREATE TABLE IF NOT EXISTS lake.silver.orders ({SCHEMA}) USING iceberg {properties}")


def load_bronze(spark: SparkSession, files: list[Path]) -> DataFrame:
    """Appends the files to bronze; gives what they hold."""
    rows = spark.read.csv([str(path) for path in files], schema=SCHEMA, header=True)
    rows.withColumn("source_file", input_file_name()).writeTo("lake.bronze.orders").append()
    return rows


def merge_silver(spark: SparkSession, rows: DataFrame) -> None:
    """Merges the newest change of each key."""
    newest = Window.partitionBy("order_id").orderBy(col("changed_at").desc())
    ranked = rows.withColumn("rank", row_number().over(newest))
    ranked.where("rank = 1").drop("rank").createOrReplaceTempView("changes")
    spark.sql(MERGE)


def refresh_gold(spark: SparkSession, names: Sequence[str]) -> None:
    """Computes gold tables again."""
    for name in names:
        spark.sql(f"CREATE OR REPLACE TABLE lake.{name} USING iceberg AS {GOLD[name]}")


def run(spark: SparkSession, options: argparse.Namespace) -> int:
    """Everything new, from files to gold; returns how many files."""
    files, newest = new_files(options.landing, options.pattern, options.checkpoint)
    if files:
        merge_silver(spark, load_bronze(spark, files))
        refresh_gold(spark, options.gold)
        save_checkpoint(options.checkpoint, newest)
    return len(files)


def main() -> None:
    """One run; with ``--stay`` one for each line of standard input, answered by a line of JSON."""
    parser = job_arguments()
    parser.add_argument("--gold", nargs="+", choices=GOLD, default=list(GOLD))
    parser.add_argument("--stay", action="store_true")
    parser.add_argument("--merge-mode", choices=("copy-on-write", "merge-on-read"), default="merge-on-read")
    options = parser.parse_args()
    spark = open_session("orders_cdc", options.warehouse)
    create_tables(spark, options.merge_mode)
    for _ in sys.stdin if options.stay else "1":
        print(json.dumps({"files": run(spark, options)}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
