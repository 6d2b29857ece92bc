"""The examples on a cluster of two workers, with all files in S3, equal the same on one machine."""

from pathlib import Path
from typing import Any, Final

import pytest

from cluster_place import LAKESMITH, Place

# A cluster on one machine takes minutes.
pytestmark = pytest.mark.release

RUNS: Final = """
import json, shutil, sys
import lakesmith
from pathlib import Path

import boto3

root, target, folder, landing, pattern = sys.argv[1:6]
with lakesmith.open(root, target) as project:
    for file in sorted(Path(root, "arrivals").glob(pattern)):
        if target == "local":
            shutil.copy(file, Path(root, folder))
        else:
            bucket, _, key = landing.removeprefix("s3://").partition("/")
            boto3.client("s3").upload_file(str(file), bucket, f"{key}/{file.name}")
        published = sorted(project.run().published)
    found = [sorted(map(str, project.query(sql).arrow().to_pylist())) for sql in sys.argv[6:]]
    master = project.session().sparkContext.master
print(json.dumps({"rows": found, "published": published, "master": master}))
"""
"""Lands the example's files one by one and runs after each; what the queries give then."""


def _rows(place: Place, root: Path, target: str, *rest: str) -> Any:
    folder, pattern, *queries = rest
    return place.python(RUNS, root, target, folder, f"{place.bucket}/{root.name}", pattern, *queries)


def test_customer_orders_on_a_cluster_equal_the_local_tables(place: Place, tmp_path: Path) -> None:
    root = place.example("customer-orders", tmp_path / "orders")
    place.in_s3(root, "bronze/orders", "landing/orders/")
    queries = (
        "SELECT * FROM silver.customers",
        "SELECT * FROM silver.customer_history",
        "SELECT * FROM gold.customers_by_city_month",
        "SELECT * EXCEPT (_source_file, _source_modified_at, _ingested_at) FROM bronze.orders",
    )
    there, here = (
        _rows(place, root, target, "landing/orders", "*.csv", *queries) for target in ("prod", "local")
    )
    assert there["master"] == place.cluster.url
    assert here["master"].startswith("local[")
    assert there["rows"] == here["rows"]
    assert all(here["rows"])
    place.called([*LAKESMITH, "verify", "--project", str(root), "--target", "prod"])


def test_invoices_with_deletes_and_quarantine_on_a_cluster_equal_the_local_tables(
    place: Place, tmp_path: Path
) -> None:
    root = place.example("invoices", tmp_path / "invoices")
    place.in_s3(root, "bronze/invoices", "landing/invoices/")
    queries = (
        "SELECT * FROM silver.invoices",
        "SELECT * FROM silver.invoice_history",
        "SELECT * FROM gold.sales_by_category_state",
    )
    there, here = (
        _rows(place, root, target, "landing/invoices", "*.tsv", *queries) for target in ("prod", "local")
    )
    assert there["rows"] == here["rows"]
    assert all(here["rows"])
    place.called([*LAKESMITH, "verify", "--project", str(root), "--target", "prod"])
