"""On every catalog: each kind of source, and each way in which a table is brought up to date."""

from collections import Counter

import places
import pytest
from harness import fail, in_order
from shared_project import Make, grown
from small_shop import (
    BEST,
    FIRST,
    LATE,
    LINES,
    NEWEST,
    ORDERS,
    PYTHON,
    SECOND,
    SHARES,
    SHOP,
    SUMS,
    VERSIONS,
    Order,
    csv,
    json_lines,
    newest,
    versions,
)

from lakesmith.execute import faults
from lakesmith.project.definitions import TableName
from lakesmith.spark.iceberg.commits import physical


@pytest.mark.parametrize("place", places.KINDS, indirect=True)
def test_files_are_taken_once(make: Make) -> None:
    shop = make(ORDERS)
    shop.land("orders/1.csv", csv(*FIRST))
    assert shop.must("status", "--json").data["tables"][0]["files_waiting"] == 1
    assert shop.must_run().published["bronze.orders"].account.inserted == 3
    assert shop.must_run().published == {}
    assert shop.take("orders/2.csv", csv(*SECOND)).published["bronze.orders"].batch == 2
    assert shop.rows("bronze.orders") == sorted(FIRST + SECOND)


def test_json_files_are_taken(make: Make) -> None:
    text = ORDERS["tables/bronze/orders.yaml"].replace("*.csv", "*.json")
    shop = make({"tables/bronze/orders.yaml": text})
    shop.land("orders/1.json", json_lines(*FIRST))
    assert shop.take("orders/below/2.json", json_lines(*SECOND)).published["bronze.orders"].files == 2
    assert shop.rows("bronze.orders") == sorted(FIRST + SECOND)


WAYS = {
    "append": (LINES, "silver.lines"),
    "upsert": (NEWEST, "silver.newest"),
    "sums": (SUMS, "gold.sums"),
    "keys": (SHARES, "gold.shares"),
}


@pytest.mark.parametrize("strategy", WAYS)
def test_a_table_is_refreshed_by_what_changed(make: Make, strategy: str) -> None:
    files, table = WAYS[strategy]
    shop = grown(make, ORDERS | files, FIRST, SECOND, LATE)
    assert shop.record(table).kind == strategy
    shop.require(FIRST + SECOND + LATE, table)


def test_a_table_rule_stops_a_batch_and_remembers_what_it_measured(make: Make) -> None:
    files = {
        "tables/silver/lines.sql": LINES["tables/silver/lines.sql"].replace("SELECT", "SELECT customer,")
    }
    shop = grown(make, ORDERS | files | ruled("RowCount > last() * 2"), FIRST)
    before = shop.rows("silver.lines")
    shop.land("orders/1.csv", csv(*SECOND))
    stopped = shop.run()
    found = [(problem.code, problem.found, problem.expected) for problem in stopped.problems]
    assert (stopped.code, found) == (3, [("LS805", "RowCount is 6", "> 6")])
    assert shop.rows("silver.lines") == before
    shop.write(ruled("RowCount > last() * 1.9"))
    assert shop.must_run().published["silver.lines"].metrics["RowCount"] == (6.0, 3.0)
    assert "2 rules passed" in shop.must("check", "silver.lines").out
    checks = physical(TableName("lakesmith", "checks"))
    kept = shop.sql(f"SELECT source, outcome, count(*) FROM {checks} GROUP BY 1, 2 ORDER BY 1")
    assert kept == [("batch", "passed", 4), ("check", "passed", 2)]


def ruled(rule: str) -> dict[str, str]:
    reference = 'ReferentialIntegrity "customer" "bronze.orders.customer" = 1'
    return {"tables/silver/lines.yaml": f"rules: |\n  Rules = [ {rule}, {reference} ]\n"}


def test_a_table_is_rebuilt(make: Make) -> None:
    shop = grown(make, SHOP, FIRST, SECOND)
    assert shop.must_run("silver.newest", full=["silver.newest"]).published["silver.newest"].kind == "full"
    assert shop.rows("silver.newest") == newest(FIRST + SECOND)


def test_every_version_is_kept_with_the_time_it_held(make: Make) -> None:
    shop = grown(make, ORDERS | VERSIONS, FIRST, SECOND, LATE)
    assert shop.record("silver.versions").kind == "upsert"
    epochs = "unix_timestamp(valid_from), unix_timestamp(valid_to)"
    found = shop.sql(f"SELECT order_id, amount, {epochs} FROM {{silver.versions}} ORDER BY 1, 3")
    assert found == versions(FIRST + SECOND + LATE)


def test_what_cannot_be_refreshed_is_computed_as_a_whole(make: Make) -> None:
    shop = grown(make, ORDERS | BEST, FIRST, SECOND)
    assert shop.record("gold.best").kind == "full"
    assert shop.rows("gold.best") == [(max(FIRST + SECOND, key=lambda each: each.amount).customer, 6)]


def test_a_table_made_by_python(make: Make) -> None:
    shop = grown(make, ORDERS | PYTHON, FIRST, SECOND)
    odd = Counter(
        (order.order_id, abs(order.amount) % 2 * (1 if order.amount > 0 else -1)) for order in FIRST + SECOND
    )
    assert Counter(shop.rows("silver.halves")) == odd


def test_a_column_that_comes_with_a_file(make: Make) -> None:
    text = ORDERS["tables/bronze/orders.yaml"].replace("replace}", "replace, on_new_column: evolve}")
    shop = grown(make, {"tables/bronze/orders.yaml": text, **NEWEST}, FIRST)
    more = (
        csv(*SECOND)
        .replace("version\n", "version,city\n")
        .replace(",2\n", ",2,Oslo\n")
        .replace(",1\n", ",1,Rome\n")
    )
    shop.take("orders/1.csv", more)
    cities = [(order.order_id, "Oslo" if order.version == 2 else "Rome") for order in SECOND]
    cities += [(each.order_id, None) for each in FIRST]
    assert shop.rows("bronze.orders", "order_id", "city") == in_order(cities)
    assert shop.rows("silver.newest") == newest(FIRST + SECOND)


def test_a_file_that_was_replaced_in_place(make: Make) -> None:
    shop = grown(make, ORDERS | SUMS, FIRST, SECOND)
    shop.take("orders/0.csv", csv(*LATE, Order(9, "Di", 3, 1)))
    there = (*SECOND, *LATE, Order(9, "Di", 3, 1))
    shop.require(there, "bronze.orders", "gold.sums")


def test_no_file_of_positions_has_an_empty_part_in_its_name(make: Make) -> None:
    """A name with ``//`` is another one in S3, which Arrow refuses to read."""
    shop = grown(make, ORDERS | NEWEST | {"tables/_defaults.yaml": "format_version: 2\n"}, FIRST, SECOND)
    found = shop.sql("SELECT file_path FROM {silver.newest}.delete_files")
    assert found
    assert not [path for (path,) in found if "//" in path.partition("://")[2]]


def test_a_batch_that_fails_leaves_the_columns_as_they_were(make: Make) -> None:
    shop = grown(make, ORDERS | NEWEST, FIRST)
    text = ORDERS["tables/bronze/orders.yaml"].replace(
        "customer: string", "buyer: {type: string, renamed_from: customer}"
    )
    before = shop.state("bronze.orders")
    shop.write({"tables/bronze/orders.yaml": text})
    shop.land("orders/1.csv", csv(*SECOND).replace("customer", "buyer"))
    faults.arrange("before-swap", fail, "bronze.orders")
    assert shop.run("bronze.orders").code == 1
    faults.clear()
    there = [column.name for column in shop.state("bronze.orders").columns]
    if shop.place.kind != places.REST:
        assert there == [column.name for column in before.columns]
    shop.must_run("bronze.orders")
    assert "buyer" in [column.name for column in shop.state("bronze.orders").columns]
    assert shop.rows("bronze.orders") == sorted(FIRST + SECOND)
