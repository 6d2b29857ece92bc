"""Plain Spark reading CSV with a given schema and writing Parquet: the peer of ``ingest.py``. It checks
nothing.
"""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession


def main() -> None:
    """Reads a folder, writes a folder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--landing", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--schema", required=True)
    options = parser.parse_args()
    spark = SparkSession.builder.appName("plain_ingest").getOrCreate()
    rows = spark.read.csv(options.landing, schema=options.schema, header=True)
    rows.write.mode("overwrite").parquet(options.out)
    spark.stop()


if __name__ == "__main__":
    main()
