"""On every catalog: tables are looked after, and who reads them goes on."""

from maintaining import soon
from places import Place
from shared_project import Make, SharedProject, grown
from small_shop import FIRST, LATE, LINES, NEWEST, ORDERS, RULES, SECOND, Order, csv, newest

import lakesmith
from lakesmith.catalog.metadata import local_path
from lakesmith.catalog.remote import RemoteCatalog
from lakesmith.project.definitions import TableName
from lakesmith.sources.objects import bucket_and_key
from lakesmith.spark.maintenance.orphans import remove_files

MORE = (Order(6, "Dee", 21, 1), Order(1, "Ada", 6, 2))
BATCHES = (FIRST, SECOND, LATE)
TAKEN = FIRST + SECOND + LATE


def require_right(shop: SharedProject, taken: tuple[Order, ...]) -> None:
    shop.require(taken, "bronze.orders", "silver.lines", "silver.newest")
    assert len(shop.quarantine("silver.good")) == sum(order.amount <= 0 for order in taken)


def test_maintenance_between_batches(make: Make) -> None:
    shop = grown(make, ORDERS | LINES | NEWEST | RULES, *BATCHES)
    with soon():
        needs = {
            each["table"]: each["needs"]
            for each in shop.must("maintain", "--dry-run", "--json").data["tables"]
        }
        assert "compact" in needs["bronze.orders"]
        done = {each["table"]: each for each in shop.must("maintain", "--json").data["maintained"]}
        assert (
            done["bronze.orders"]["before"]["data_files"],
            done["bronze.orders"]["after"]["data_files"],
        ) == (3, 1)
        assert shop.must("maintain", "--orphans", "--json").data["maintained"][0]["orphans"] == []
    require_right(shop, TAKEN)
    rows = shop.outside("silver.newest").scan().to_arrow().to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == [tuple(order) for order in newest(TAKEN)]
    published = shop.take("orders/9.csv", csv(*MORE)).published
    assert {name: record.kind for name, record in published.items()} == {
        "bronze.orders": "files",
        "silver.lines": "append",
        "silver.good": "append",
        "silver.newest": "upsert",
    }
    require_right(shop, TAKEN + MORE)
    assert shop.call("verify").code == 0


def test_a_slice_of_maintenance(make: Make) -> None:
    shop = grown(make, ORDERS | LINES | NEWEST | RULES, *BATCHES)
    with soon():
        done = lakesmith.open(shop.root).maintain_slice("bronze.orders")
    assert done.snapshots > 0
    require_right(shop, TAKEN)
    lake = shop.lake()
    if isinstance(lake.catalog, RemoteCatalog):
        assert lake.catalog.lease_holder(lake.project.name) is None
    assert shop.must_run().published == {}


def test_a_file_is_removed_by_the_client_that_wrote_it(make: Make, place: Place) -> None:
    shop = grown(make, ORDERS, FIRST)
    path = f"{shop.state('bronze.orders').location}/data/left.parquet"
    if place.s3 is None:
        local_path(path).write_bytes(b"left behind")
        remove_files(shop.handle.spark, TableName("bronze", "orders"), [path])
        assert not local_path(path).exists()
        return
    bucket, key = bucket_and_key(path)
    place.s3.client().put_object(Bucket=bucket, Key=key, Body=b"left behind")
    remove_files(shop.handle.spark, TableName("bronze", "orders"), [path])
    assert "Contents" not in place.s3.client().list_objects_v2(Bucket=bucket, Prefix=key)
    assert shop.rows("bronze.orders") == sorted(FIRST)
