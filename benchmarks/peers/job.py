"""What jobs written by hand for ``spark-submit`` share in one shop: a session, the options, the checkpoint
file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pyspark.sql import SparkSession


def job_arguments() -> argparse.ArgumentParser:
    """The options of every job."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--landing", type=Path, required=True)
    parser.add_argument("--warehouse", type=Path, required=True)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--pattern", default="*.csv")
    return parser


def open_session(name: str, warehouse: Path) -> SparkSession:
    """A session with a catalog in a folder, as the Iceberg quickstart sets it up."""
    extensions = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    return (
        SparkSession.builder.appName(name)
        .config("spark.sql.extensions", extensions)
        .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.lake.type", "hadoop")
        .config("spark.sql.catalog.lake.warehouse", str(warehouse))
        .getOrCreate()
    )


def new_files(landing: Path, pattern: str, checkpoint: Path) -> tuple[list[Path], int]:
    """The files modified after the checkpoint, and the newest time among them in nanoseconds."""
    last = json.loads(checkpoint.read_text())["last_modified_ns"] if checkpoint.exists() else 0
    files = [path for path in sorted(landing.rglob(pattern)) if path.stat().st_mtime_ns > last]
    return files, max([last, *(path.stat().st_mtime_ns for path in files)])


def save_checkpoint(checkpoint: Path, newest: int) -> None:
    """Remembers the newest time, for the next run."""
    checkpoint.write_text(json.dumps({"last_modified_ns": newest}))
