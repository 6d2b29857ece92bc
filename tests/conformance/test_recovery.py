"""The drills of docs/recovery.md: what is lost comes back with its progress, and runs go on from there."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import places
import pytest
from harness import INTERPRETED
from shared_project import Make, SharedProject
from small_shop import LINES, NEWEST, ORDERS, SUMS, Order, csv

import s3_server
from buckets import make_replica, replicate
from lakesmith.sources.objects import bucket_and_key

pytestmark = pytest.mark.release

FIRST = (Order(1, "Ada", 5, 1), Order(2, "Bo", 7, 1))
SECOND = (Order(2, "Bo", 8, 2), Order(3, "Cy", 13, 1))
THIRD = (Order(4, "Di", 1, 1), Order(1, "Ada", -1, 2))
PAGE = Path(__file__).parents[2] / "docs/recovery.md"
BAD = "7,Ed,many,1\n"
TABLES = ("bronze.orders", "silver.lines", "silver.newest", "gold.sums")
FILES = ORDERS | LINES | NEWEST | SUMS
REGION = "eu-west-1"


@dataclass
class Drill:
    """A project whose bucket S3 copies, and the server that has the copy."""

    shop: SharedProject
    there: s3_server.Server
    request: pytest.FixtureRequest

    def __post_init__(self) -> None:
        assert self.shop.place.s3 is not None
        self.client = self.shop.place.s3.client()
        self.bucket = bucket_and_key(self.shop.place.landing)[0]
        self.replica = make_replica(self.client, self.bucket, self.there.client())

    def copy(self, leaving: frozenset[str] = frozenset()) -> None:
        replicate(self.client, self.bucket, self.replica, leaving, self.there.client())

    def stand_by(self) -> None:
        """Goes to the target that uses the copy."""
        before = self.shop.place
        settings = {**before.catalog, "warehouse": f"s3://{self.replica}/wh"}
        if self.there is not before.s3:
            settings |= {"glue.endpoint": self.there.endpoint, **places.files_of(self.there)}
        landing, prefix = f"s3://{self.replica}/landing", f"r{before.prefix}"
        self.go_to(places.Place(before.kind, settings, landing, prefix, self.there), before)

    def go_to(self, place: places.Place, lost: places.Place | None = None) -> None:
        shop, named = self.shop, {"recover_from": "lost"} if lost else {}
        targets = {"local": {**place.target(), **named}, **({"lost": lost.target()} if lost else {})}
        said = {"name": shop.root.name, "default_target": "local", "targets": targets}
        shop.write({"lakesmith.yaml": json.dumps(said)})
        shop.place = place
        # A session of its own: Spark keeps the catalogs of a session, with their warehouses.
        spark = shop.session.spark.newSession()
        for key, value in {**shop._conf(), **({} if shop.compiled else INTERPRETED)}.items():
            spark.conf.set(key, value)
        shop.handle = replace(shop.session, spark=spark, stop=lambda: None)

    def recover(self, *tables: str) -> None:
        """Recovers these tables, to their newest states, after which each is as it was."""
        said = self.shop.must("recover", "--yes", "--json").data
        assert sorted(each["table"] for each in said["tables"]) == sorted(tables)
        assert {each["lost_batches"] for each in said["tables"]} == {0}
        assert said["seconds"] < 60

    def refused(self, code: str) -> None:
        """A run, which takes nothing."""
        result = self.shop.run()
        assert (result.code, result.published) == (1, {})
        assert code in {problem.code for problem in result.problems}

    def goes_on(self) -> None:
        """The tables hold what landed; of what lands now the next run takes that alone."""
        shop = self.shop
        shop.require(FIRST + SECOND, *TABLES)
        assert len(shop.quarantine("bronze.orders")) == 1
        taken = shop.take("orders/2.csv", csv(*THIRD)).published["bronze.orders"].account
        assert taken.read == len(THIRD), "no landing file is taken again"
        shop.require(FIRST + SECOND + THIRD, *TABLES)
        shop.must("verify")
        assert shop.must_run().published == {}


def the_bucket(drill: Drill) -> None:
    drill.copy()
    drill.stand_by()
    refused = drill.shop.call("recover", "--yes")
    assert "LS528" in refused.err + refused.out, refused
    delete_bucket(drill.client, drill.bucket)
    drill.recover(*TABLES)


def the_catalog(drill: Drill) -> None:
    """All databases of the project in Glue."""
    glue = drill.there.client("glue")
    for database in glue.get_databases()["DatabaseList"]:
        if database["Name"].startswith(drill.shop.place.prefix):
            glue.delete_database(Name=database["Name"])
    drill.refused("LS512")
    drill.recover(*TABLES)


def the_database(drill: Drill) -> None:
    """The database that is the catalog: a new one is empty."""
    server, place = drill.request.getfixturevalue("jdbc"), drill.shop.place
    new = places.in_postgres(server, drill.there).catalog
    drill.go_to(replace(place, catalog={**new, "warehouse": place.catalog["warehouse"]}))
    drill.refused("LS512")
    drill.recover(*TABLES)


def a_table(drill: Drill) -> None:
    drill.shop.sql("DROP TABLE {bronze.orders}")
    drill.recover("bronze.orders")


def good_rows(drill: Drill) -> None:
    """A deploy whose definitions are wrong, and which took a wrong file."""
    shop = drill.shop
    shop.must("tag", "before-release")
    newest = (shop.root / "tables/silver/newest.yaml").read_text()
    shop.define({"silver.lines": "SELECT order_id, amount * 3 AS twice FROM bronze.orders"})
    shop.write({"tables/silver/newest.yaml": newest.replace("customer, ", "")})
    (shop.root / "tables/gold/sums.sql").unlink()
    shop.land("orders/wrong.csv", csv(Order(9, "Wrong", 1, 1)))
    deployed = shop.run()
    assert (deployed.code, [each.code for each in deployed.problems]) == (1, ["LS524"])
    assert list(deployed.published) == ["bronze.orders", "silver.lines"]
    shop.require(FIRST + SECOND, "silver.newest")
    assert shop.outside("bronze.orders").scan().count() == len(FIRST + SECOND) + 1
    shop.write(FILES)
    shop.must("rollback", "bronze.orders", "--to", "before-release", "--with-downstream", "--yes")
    shop.unland("orders/wrong.csv")
    shop.must_run()


@pytest.fixture
def elsewhere() -> Iterator[s3_server.Server]:
    """The S3 and the Glue of a region that can be lost."""
    with s3_server.running() as server:
        yield server


@pytest.fixture
def place(request: pytest.FixtureRequest, known_s3: s3_server.Server) -> places.Place:
    if request.param == places.JDBC:
        return places.in_postgres(request.getfixturevalue("jdbc"), known_s3)
    if request.param == REGION:
        found = places.in_glue(request.getfixturevalue("elsewhere"))
        return replace(found, catalog={**found.catalog, "client.region": REGION})
    return places.in_glue(known_s3)


@pytest.mark.parametrize(
    ("place", "lose"),
    [
        (places.GLUE, the_bucket),
        (places.JDBC, the_bucket),
        (places.GLUE, the_catalog),
        (places.JDBC, the_database),
        (places.GLUE, a_table),
        (places.GLUE, good_rows),
    ],
    indirect=["place"],
)
def test_what_is_lost_comes_back(
    make: Make, known_s3: s3_server.Server, request: pytest.FixtureRequest, lose: Callable[[Drill], None]
) -> None:
    drill = Drill(make(FILES), known_s3, request)
    drill.shop.land("orders/0.csv", csv(*FIRST) + BAD)
    drill.shop.take("orders/1.csv", csv(*SECOND))
    lose(drill)
    drill.goes_on()


def delete_bucket(client: Any, bucket: str) -> None:
    client.delete_bucket_replication(Bucket=bucket)
    pages = client.get_paginator("list_object_versions").paginate(Bucket=bucket)
    for page in list(pages):
        for each in (*page.get("Versions", ()), *page.get("DeleteMarkers", ())):
            client.delete_object(Bucket=bucket, Key=each["Key"], VersionId=each["VersionId"])
    client.delete_bucket(Bucket=bucket)


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


@pytest.mark.parametrize("place", [REGION], indirect=True)
def test_the_drill(
    make: Make, known_s3: s3_server.Server, elsewhere: s3_server.Server, request: pytest.FixtureRequest
) -> None:
    """A region is gone: landing files, lake and catalog. S3 had not copied a file of bronze.orders yet, and
    all of the tables below it."""
    drill = Drill(make(FILES), known_s3, request)
    shop = drill.shop
    shop.take("orders/0.csv", csv(*FIRST) + BAD)
    shop.take("orders/1.csv", csv(*SECOND))
    shop.take("orders/2.csv", csv(*THIRD))
    drill.copy(leaving=newest_files(shop, "bronze.orders", drill.bucket))
    elsewhere.end()
    drill.stand_by()
    drill.refused("LS529")
    recovered = shop.must("recover", "--yes").out
    assert masked(recovered) in masked(PAGE.read_text()), recovered
    taken = shop.must_run().published["bronze.orders"].account
    assert taken.read == len(THIRD), "no landing file is taken again"
    shop.require(FIRST + SECOND + THIRD, *TABLES)
    shop.must("verify")
    assert shop.must_run().published == {}
    # A file that came before the loss is known by its earlier name, in the ledger and in the rows.
    changed = (Order(1, "Ada", 6, 1), Order(2, "Bo", 7, 1))
    shop.take("orders/0.csv", csv(*changed))
    shop.require(changed + SECOND + THIRD, *TABLES)
