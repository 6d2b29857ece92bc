"""On every catalog: what other tools do to the tables between runs, with Spark or PyIceberg alone."""

import pytest
from places import REST, Place
from shared_project import Make, SharedProject, grown
from small_shop import FIRST, LATE, SECOND, SHOP, csv

from lakesmith.project.definitions import TableName
from lakesmith.spark.iceberg.commits import physical

TABLES = ("bronze.orders", "silver.lines", "silver.newest")


def call(shop: SharedProject, procedure: str, table: str, more: str = "") -> None:
    name = physical(TableName.parse(table)).removeprefix("lake.")
    shop.sql(f"CALL lake.system.{procedure}(table => '{name}'{', ' if more else ''}{more})")


def batch_before(shop: SharedProject, table: str) -> int:
    """The snapshot that published the last batch but one."""
    state = shop.state(table)
    return [found.snapshot_id for found in state.ancestors(state.refs["main"]) if found.record][1]


def check(shop: SharedProject, *batches: tuple[object, ...]) -> None:
    landed = [order for batch in batches for order in batch]
    shop.require(landed, "bronze.orders", "silver.lines", "silver.newest")


def test_a_rollback_by_spark_is_read_again(make: Make) -> None:
    shop = grown(make, SHOP, FIRST, SECOND)
    call(
        shop, "rollback_to_snapshot", "bronze.orders", f"snapshot_id => {batch_before(shop, 'bronze.orders')}"
    )
    assert shop.must_run().published["bronze.orders"].files == 1
    check(shop, FIRST, SECOND)


def test_a_rollback_by_pyiceberg_is_read_again(make: Make, place: Place) -> None:
    if place.kind != REST:
        pytest.skip("PyIceberg does not write format 3 where it writes the metadata itself")
    shop = grown(make, SHOP, FIRST, SECOND)
    for table in TABLES[:2]:
        before = batch_before(shop, table)
        shop.outside(table).manage_snapshots().rollback_to_snapshot(before).commit()
    shop.take("orders/2.csv", csv(*LATE))
    check(shop, FIRST, SECOND, LATE)


def test_compaction_is_nobodys_change(make: Make) -> None:
    shop = grown(make, SHOP, FIRST, SECOND)
    for table in TABLES:
        call(shop, "rewrite_data_files", table, "options => map('rewrite-all', 'true')")
    assert {record.kind for record in shop.must_run().published.values()} <= {"advance"}
    published = shop.take("orders/2.csv", csv(*LATE)).published
    assert (published["silver.lines"].kind, published["silver.newest"].kind) == ("append", "upsert")
    check(shop, FIRST, SECOND, LATE)


def test_expiry_leaves_what_is_needed(make: Make) -> None:
    shop = grown(make, SHOP, FIRST, SECOND)
    for table in TABLES:
        call(
            shop, "expire_snapshots", table, "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1"
        )
    shop.take("orders/2.csv", csv(*LATE))
    check(shop, FIRST, SECOND, LATE)


def test_a_table_that_was_dropped_is_built_anew(make: Make) -> None:
    shop = grown(make, SHOP, FIRST, SECOND)
    shop.sql("DROP TABLE {silver.newest} PURGE")
    assert shop.must_run().published["silver.newest"].kind == "full"
    check(shop, FIRST, SECOND)
