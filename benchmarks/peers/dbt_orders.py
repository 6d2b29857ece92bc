"""The peer of ``bench.py``: the models of ``dbt_orders`` run by dbt, which finds the session of this process.

``--silver rebuilt``: newest changes of all of bronze, made again by each run. ``--silver incremental``: what
is new is merged with what is known of the same keys; deleted keys stay as rows, which golds leave out.
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
    parser.add_argument("--silver", choices=("rebuilt", "incremental"), required=True)
    options = parser.parse_args()
    extensions = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    # dbt-spark knows the session's own catalog alone, and finds in a metastore what it made before.
    catalog = "spark.sql.catalog.spark_catalog"
    metastore = f"jdbc:derby:;databaseName={options.warehouse}/metastore;create=true"
    spark = (
        SparkSession.builder.appName("dbt_orders")
        .config("spark.sql.extensions", extensions)
        .config(catalog, "org.apache.iceberg.spark.SparkSessionCatalog")
        .config(f"{catalog}.type", "hive")
        .config("spark.sql.warehouse.dir", options.warehouse)
        .config("spark.hadoop.javax.jdo.option.ConnectionURL", metastore)
        .config("spark.hadoop.datanucleus.connectionPoolingType", "None")
        .config("spark.hadoop.datanucleus.schema.autoCreateAll", "true")
        .config("spark.hadoop.hive.metastore.schema.verification", "false")
        .config("spark.hadoop.iceberg.engine.hive.lock-enabled", "false")
        .enableHiveSupport()
        .getOrCreate()
    )
    schema, bad = f"{options.schema}, line string", "line"
    files = spark.read.csv(options.landing, schema=schema, header=True, columnNameOfCorruptRecord=bad)
    files.createOrReplaceTempView("landing_orders")
    # dbt writes beside the models, so it gets a copy.
    models = str(shutil.copytree(MODELS, Path(options.warehouse).parent / "models", dirs_exist_ok=True))
    variables = ["--vars", f"silver: {options.silver}"]
    done = dbtRunner().invoke(["run", "--project-dir", models, "--profiles-dir", models, *variables])
    spark.stop()
    sys.exit(0 if done.success else 1)


if __name__ == "__main__":
    main()
