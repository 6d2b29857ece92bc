"""The example customer-orders as it is usually written by hand for ``spark-submit``: the peer of
``first_run.py``.

The same three tables, with a checkpoint file and a MERGE; it has the faults that `handwritten_cdc` names.
"""

from __future__ import annotations

from pathlib import Path

from job import job_arguments, new_files, open_session, save_checkpoint
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql.functions import col, input_file_name, lower, row_number, trim

SCHEMA = "customer_id bigint, name string, email string, city string, processed_time timestamp"

MERGE = """
    MERGE INTO lake.silver.customers AS t USING newest AS s
    ON t.customer_id = s.customer_id AND t.email = s.email
    WHEN MATCHED AND s.processed_time > t.processed_time THEN UPDATE SET *
    WHEN NOT MATCHED THEN INSERT *"""

GOLD = """
    CREATE OR REPLACE TABLE lake.gold.customers_by_city_month USING iceberg AS
    SELECT city, date_format(processed_time, 'yyyy-MM') AS month, count(DISTINCT customer_id) AS customers
    FROM lake.silver.customers GROUP BY city, date_format(processed_time, 'yyyy-MM')"""

GOOD_EMAIL = r"^[^@ ]+@[^@ ]+[.][^@ ]+$"


def create_tables(spark: SparkSession) -> None:
    """Bronze and silver, when they are not there yet."""
    spark.sql(f"CREATE TABLE IF NOT EXISTS lake.bronze.orders ({SCHEMA}, source_file string) USING iceberg")
    mode = "TBLPROPERTIES ('format-version' = '3', 'write.merge.mode' = 'merge-on-read')"
    spark.sql(f"CREATE TABLE IF NOT EXISTS lake.silver.customers ({SCHEMA}) USING iceberg {mode}")


def load_bronze(spark: SparkSession, files: list[Path]) -> DataFrame:
    """Appends the files to bronze; gives what they hold."""
    rows = spark.read.csv([str(path) for path in files], schema=SCHEMA, header=True)
    rows.withColumn("source_file", input_file_name()).writeTo("lake.bronze.orders").append()
    return rows


def merge_silver(spark: SparkSession, rows: DataFrame) -> None:
    """Merges the newest good row of each key; bad rows are left out."""
    clean = rows.withColumn("name", trim("name")).withColumn("email", lower(trim("email")))
    good = clean.where(col("email").rlike(GOOD_EMAIL) & col("name").isNotNull() & (col("customer_id") > 0))
    newest = Window.partitionBy("customer_id", "email").orderBy(col("processed_time").desc())
    ranked = good.withColumn("rank", row_number().over(newest))
    ranked.where("rank = 1").drop("rank").createOrReplaceTempView("newest")
    spark.sql(MERGE)


def main() -> None:
    """One run: everything new, from files to gold."""
    options = job_arguments().parse_args()
    spark = open_session("customer_orders", options.warehouse)
    create_tables(spark)
    files, newest = new_files(options.landing, options.pattern, options.checkpoint)
    if files:
        merge_silver(spark, load_bronze(spark, files))
        spark.sql(GOLD)
        save_checkpoint(options.checkpoint, newest)
    print(f"{len(files)} files")
    spark.stop()


if __name__ == "__main__":
    main()
