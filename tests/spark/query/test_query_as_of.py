"""``query --as-of``: at each point of a table's past, the columns, types and rows that readers saw."""

from collections.abc import Mapping
from typing import Any

import pytest
from harness import Harness, MakeShop, in_order

from lakesmith.project.definitions import TableName
from lakesmith.spark.ask import run_query

pytestmark = pytest.mark.in_turn

ORDERS = """
    source:
      files: {path: landing/orders/, pattern: "*.csv", format: csv}
    columns: {id: int, price: int, note: string}
    """
STEPS = {
    "at first": "SELECT id, price, note FROM bronze.orders",
    "a column changes its type": "SELECT id, CAST(price AS string) AS price, note FROM bronze.orders",
    "it changes again": "SELECT id, price > 5 AS price, note FROM bronze.orders",
    "a column changes its type and another goes": "SELECT id, CAST(price AS string) AS price"
    " FROM bronze.orders",
    "a column widens and one comes": "SELECT CAST(id AS bigint) AS id, CAST(price AS string) AS price, 1 AS"
    " n FROM bronze.orders",
    "a column goes": "SELECT CAST(id AS bigint) AS id, CAST(price AS string) AS price FROM bronze.orders",
}
PRESENT = "SELECT * FROM silver.orders"

Seen = tuple[tuple[str, ...], tuple[str, ...], list[tuple[Any, ...]]]
"""Names, types and rows, in order."""


@pytest.fixture
def shop(make_shop: MakeShop) -> Harness:
    shop = make_shop({"tables/bronze/orders.yaml": ORDERS}, approves=True)
    shop.land("landing/orders/1.csv", "id,price,note\n1,5,a\n2,6,b\n")
    return shop


def ask(shop: Harness, sql: str, as_of: Mapping[str, int]) -> Seen:
    points = {TableName.parse(table): snapshot for table, snapshot in as_of.items()}
    with run_query(shop.handle, sql, points) as result:
        return result.columns, result.types, in_order(result.rows)


def see(shop: Harness) -> tuple[int, Seen]:
    """The head of silver.orders, and what Spark itself shows of the table now."""
    head, frame = shop.state("silver.orders").head, shop.frame("silver.orders")
    assert head is not None
    types = tuple(field.dataType.simpleString() for field in frame.schema.fields)
    return head.snapshot_id, (tuple(frame.columns), types, in_order(map(tuple, frame.collect())))


@pytest.mark.parametrize("settings", ["tags: [plain]\n", "key: [id]\n"], ids=["plain", "keyed"])
def test_each_point_shows_what_was_there(shop: Harness, settings: str) -> None:
    shop.write({"tables/silver/orders.yaml": settings})
    points: dict[str, tuple[int, Seen]] = {}
    for step, query in STEPS.items():
        shop.redefine({"tables/silver/orders.sql": query})
        points[step] = see(shop)
        snapshot, seen = points[step]
        assert ask(shop, PRESENT, {"silver.orders": snapshot}) == seen, f"as the present: {step}"
    assert points["a column changes its type"][1][:2] == (
        ("id", "price", "note"),
        ("int", "string", "string"),
    )
    for step, (snapshot, seen) in points.items():
        assert ask(shop, PRESENT, {"silver.orders": snapshot}) == seen, f"as the past: {step}"


def test_names_in_the_query_find_the_table_as_it_was(shop: Harness) -> None:
    for step in ("at first", "a column changes its type", "it changes again"):
        shop.redefine({"tables/silver/orders.sql": STEPS[step]})
        if step == "a column changes its type":
            points = {name: shop.state(name).head for name in ("silver.orders", "bronze.orders")}
    as_of = {name: head.snapshot_id for name, head in points.items() if head is not None}
    joined = (
        "SELECT silver.orders.price AS was, b.price FROM silver.orders JOIN bronze.orders b"
        " ON b.id = orders.id"
        " WHERE orders.price = '5'"
    )
    assert ask(shop, joined, as_of) == (("was", "price"), ("string", "int"), [("5", 5)])


def test_a_point_that_main_was_set_back_from(shop: Harness) -> None:
    shop.redefine({"tables/silver/orders.sql": STEPS["at first"]})
    first, _ = see(shop)
    shop.redefine({"tables/silver/orders.sql": STEPS["a column changes its type"]})
    left, seen = see(shop)
    shop.spark.sql(f"CALL lake.system.rollback_to_snapshot('silver.orders', {first})")
    shop.must_run()
    assert see(shop)[0] != left
    assert ask(shop, PRESENT, {"silver.orders": left}) == seen


def test_a_column_that_others_drop_from_a_sourced_table_is_still_in_its_past(shop: Harness) -> None:
    shop.must_run("bronze.orders")
    head = shop.head("bronze.orders")
    shop.spark.sql("ALTER TABLE lake.bronze.orders DROP COLUMN note")
    _, _, rows = ask(shop, "SELECT id, note FROM bronze.orders", {"bronze.orders": head.snapshot_id})
    assert rows == [(1, "a"), (2, "b")]


def test_a_condition_on_a_column_that_has_another_name_now(shop: Harness) -> None:
    """Iceberg knows a file's columns by their present names, and would skip files by others' values."""
    shop.must_run("bronze.orders")
    head = shop.head("bronze.orders")
    as_of = {"bronze.orders": head.snapshot_id}
    for change in ("price TO was_price", "id TO price", "was_price TO id"):
        shop.spark.sql(f"ALTER TABLE lake.bronze.orders RENAME COLUMN {change}")
        assert ask(shop, "SELECT id FROM bronze.orders WHERE price > 5", as_of)[2] == [(2,)]


def test_a_point_before_the_columns_that_the_table_is_partitioned_and_ordered_by_now(shop: Harness) -> None:
    shop.redefine({"tables/silver/orders.sql": STEPS["at first"]})
    first, seen = see(shop)
    shop.redefine(
        {
            "tables/silver/orders.sql": "SELECT id, price, note, upper(note) AS part, id + 1 AS next"
            " FROM bronze.orders",
            "tables/silver/orders.yaml": "partition_by: [part]\n",
        }
    )
    last, seen_last = see(shop)
    shop.spark.sql("ALTER TABLE lake.silver.orders WRITE ORDERED BY next")
    assert ask(shop, PRESENT, {"silver.orders": first}) == seen
    shop.take("landing/orders/2.csv", "id,price,note\n3,7,c\n")
    assert ask(shop, PRESENT, {"silver.orders": last}) == seen_last


def test_a_tagged_point_whose_followers_have_expired(shop: Harness) -> None:
    points = {}
    for step in ("at first", "a column changes its type", "it changes again"):
        shop.redefine({"tables/silver/orders.sql": STEPS[step]})
        points[step] = see(shop)
    snapshot, seen = points["a column changes its type"]
    shop.spark.sql(f"ALTER TABLE lake.silver.orders CREATE TAG kept AS OF VERSION {snapshot}")
    shop.take("landing/orders/2.csv", "id,price,note\n3,7,c\n")
    expire = "CALL lake.system.expire_snapshots('silver.orders', older_than => now(), retain_last => 1)"
    shop.spark.sql(expire).collect()
    assert ask(shop, PRESENT, {"silver.orders": snapshot}) == seen


def test_a_table_whose_query_reads_no_table(shop: Harness) -> None:
    points = []
    for query in ("x, y", "x, y = 'a' AS y", "x"):
        shop.write({"tables/silver/orders.sql": f"SELECT {query} FROM VALUES (1, 'a'), (2, 'b') AS t(x, y)"})
        shop.must_run()
        points.append(see(shop))
    for snapshot, seen in points:
        assert ask(shop, PRESENT, {"silver.orders": snapshot}) == seen
