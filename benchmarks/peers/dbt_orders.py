"""A first load with dbt: the peer of ``first_load.py``. The models are in ``dbt_orders``; dbt finds the
session that is running here.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession

MODELS = Path(__file__).with_name("dbt_orders")


def main() -> None:
    """Runs all models."""
    parser = argparse.ArgumentParser()
    for option in ("--landing", "--warehouse", "--schema"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    extensions = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    # dbt-spark knows one catalog, the session's own.
    catalog = "spark.sql.catalog.spark_catalog"
    spark = (
        SparkSession.builder.appName("dbt_orders")
        .config("spark.sql.extensions", extensions)
        .config(catalog, "org.apache.iceberg.spark.SparkSessionCatalog")
        .config(f"{catalog}.type", "hadoop")
        .config(f"{catalog}.warehouse", options.warehouse)
        .config("spark.sql.warehouse.dir", options.warehouse)
        .config("spark.sql.catalogImplementation", "in-memory")
        .getOrCreate()
    )
    files = spark.read.csv(options.landing, schema=options.schema, header=True)
    files.createOrReplaceTempView("landing_orders")
    # dbt writes beside the models, so it gets a copy.
    models = str(shutil.copytree(MODELS, Path(options.warehouse).parent / "models", dirs_exist_ok=True))
    done = dbtRunner().invoke(["run", "--project-dir", models, "--profiles-dir", models])
    spark.stop()
    sys.exit(0 if done.success else 1)


if __name__ == "__main__":
    main()
