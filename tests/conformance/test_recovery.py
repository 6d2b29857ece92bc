"""A lake in a bucket that is gone is recovered from the copy of the bucket, with its progress."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import places
import pytest
from harness import INTERPRETED
from shared_project import Make, SharedProject
from small_shop import LINES, NEWEST, ORDERS, SUMS, Order, csv

import s3_server
from buckets import keep_versions, make_replica, replicate
from lakesmith.sources.objects import bucket_and_key

FIRST = (Order(1, "Ada", 5, 1), Order(2, "Bo", 7, 1))
SECOND = (Order(2, "Bo", 8, 2), Order(3, "Cy", 13, 1))
THIRD = (Order(4, "Di", 1, 1), Order(1, "Ada", -1, 2))
PAGE = Path(__file__).parents[2] / "docs/recovery.md"
BAD = "7,Ed,many,1\n"
TABLES = ("bronze.orders", "silver.lines", "silver.newest", "gold.sums")
FILES = ORDERS | LINES | NEWEST | SUMS


@pytest.fixture(params=[places.GLUE, pytest.param(places.JDBC, marks=pytest.mark.in_turn)])
def place(request: pytest.FixtureRequest, known_s3: s3_server.Server) -> places.Place:
    if request.param == places.GLUE:
        return places.in_glue(known_s3)
    return places.in_postgres(request.getfixturevalue("jdbc"), known_s3)


@pytest.fixture
def s3_client(known_s3: s3_server.Server) -> Any:
    return known_s3.client()


def bucket_of(place: places.Place) -> str:
    return bucket_and_key(place.landing)[0]


def grown(make: Make, client: Any, place: places.Place) -> tuple[SharedProject, str, str]:
    bucket = bucket_of(place)
    replica = make_replica(client, bucket)
    keep_versions(client, bucket)
    shop = make(FILES)
    shop.take("orders/0.csv", csv(*FIRST) + BAD)
    shop.take("orders/1.csv", csv(*SECOND))
    return shop, bucket, replica


def standby_of(shop: SharedProject, replica: str) -> SharedProject:
    """The project on the target that uses the copy."""
    place = shop.place
    lost = place.target()
    there = {
        **lost,
        "vars": {"landing": f"s3://{replica}/landing"},
        "catalog": {**lost["catalog"], "warehouse": f"s3://{replica}/wh"},
        "namespaces": {"prefix": f"r{place.prefix}"},
        "recover_from": "lost",
    }
    text = json.dumps(
        {"name": shop.root.name, "default_target": "local", "targets": {"local": there, "lost": lost}}
    )
    shop.write({"lakesmith.yaml": text})
    shop.place = places.Place(
        place.kind, there["catalog"], there["vars"]["landing"], f"r{place.prefix}", place.s3
    )
    # A session of its own: Spark keeps the catalogs of a session, with their warehouses.
    spark = shop.session.spark.newSession()
    for key, value in {**shop._conf(), **({} if shop.compiled else INTERPRETED)}.items():
        spark.conf.set(key, value)
    shop.handle = replace(shop.session, spark=spark, stop=lambda: None)
    return shop


def delete_bucket(client: Any, bucket: str) -> None:
    client.delete_bucket_replication(Bucket=bucket)
    pages = client.get_paginator("list_object_versions").paginate(Bucket=bucket)
    for page in list(pages):
        for each in (*page.get("Versions", ()), *page.get("DeleteMarkers", ())):
            client.delete_object(Bucket=bucket, Key=each["Key"], VersionId=each["VersionId"])
    client.delete_bucket(Bucket=bucket)


def test_the_bucket_is_gone(make: Make, s3_client: Any, place: places.Place) -> None:
    shop, bucket, replica = grown(make, s3_client, place)
    before = {table: shop.rows(table) for table in TABLES}
    replicate(s3_client, bucket, replica)
    refused = standby_of(shop, replica).call("recover", "--yes")
    assert "LS528" in refused.err + refused.out, refused
    delete_bucket(s3_client, bucket)
    said = shop.must("recover", "--yes", "--json").data
    assert sorted(each["table"] for each in said["tables"]) == sorted(TABLES)
    assert {each["lost_batches"] for each in said["tables"]} == {0}
    assert said["seconds"] < 60
    assert {table: shop.rows(table) for table in TABLES} == before
    assert len(shop.quarantine("bronze.orders")) == 1
    shop.must("verify")
    assert shop.must_run().published == {}, "no landing file is taken again"
    shop.take("orders/2.csv", csv(*THIRD))
    shop.require(FIRST + SECOND + THIRD, *TABLES)
    assert shop.must_run().published == {}
    # A file that came before the loss is known by its earlier name, in the ledger and in the rows.
    changed = (Order(1, "Ada", 6, 1), Order(2, "Bo", 7, 1))
    shop.take("orders/0.csv", csv(*changed))
    shop.require(changed + SECOND + THIRD, *TABLES)
    shop.must("verify")


def masked(text: str) -> str:
    """The text without its times, and how many files were written."""
    numbers = r"[\d-]{10} [\d:]{8} UTC|\d+ seconds? ago|[\d.]+ s, \d+ metadata"
    return re.sub(numbers, "-", text).strip()


def newest_files(shop: SharedProject, table: str, bucket: str) -> frozenset[str]:
    """The keys of the data files that the newest batch of a table added."""
    entries = shop.outside(table).inspect.entries().to_pylist()
    newest = max(each["sequence_number"] for each in entries)
    paths = (each["data_file"]["file_path"] for each in entries if each["sequence_number"] == newest)
    return frozenset(path.removeprefix(f"s3://{bucket}/") for path in paths)


def test_the_drill(make: Make, s3_client: Any, place: places.Place) -> None:
    """S3 had not copied a file of bronze.orders yet, and all of the tables below it."""
    shop, bucket, replica = grown(make, s3_client, place)
    shop.take("orders/2.csv", csv(*THIRD))
    replicate(s3_client, bucket, replica, newest_files(shop, "bronze.orders", bucket))
    delete_bucket(s3_client, bucket)
    standby_of(shop, replica)
    recovered = shop.must("recover", "--yes").out
    assert masked(recovered) in masked(PAGE.read_text()), recovered
    shop.must("run")
    shop.require(FIRST + SECOND + THIRD, *TABLES)
    shop.must("verify")
    assert shop.must_run().published == {}


def test_a_dropped_table_comes_back_with_its_progress(
    make: Make, s3_client: Any, place: places.Place
) -> None:
    shop, _, _ = grown(make, s3_client, place)
    before = shop.rows("bronze.orders")
    shop.sql("DROP TABLE {bronze.orders}")
    said = shop.must("recover", "--yes", "--json").data
    assert [each["table"] for each in said["tables"]] == ["bronze.orders"]
    assert shop.rows("bronze.orders") == before
    assert shop.must_run().published == {}


def test_a_bad_deploy_is_taken_back(make: Make, s3_client: Any, place: places.Place) -> None:
    shop, _, _ = grown(make, s3_client, place)
    shop.must("tag", "before-release")
    good = LINES["tables/silver/lines.sql"]
    shop.write({"tables/silver/lines.sql": good.replace("* 2", "* 3")})
    shop.take("orders/2.csv", csv(*THIRD))
    shop.must("rollback", "bronze.orders", "--to", "before-release", "--with-downstream", "--yes")
    shop.write({"tables/silver/lines.sql": good})
    shop.must_run()
    shop.require(FIRST + SECOND + THIRD, *TABLES)
    shop.must("verify")
