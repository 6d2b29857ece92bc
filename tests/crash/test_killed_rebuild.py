"""A rebuild killed after its rows are written: readers have the old rows, the next run publishes the new."""

from harness import Harness
from processes import run

SQL = "tables/silver/orders.sql"
FILES = {
    "tables/bronze/orders.yaml": """
        source:
          files: {path: landing/orders/, format: csv}
        columns: {id: int, amount: int}
        """,
    "tables/silver/orders.yaml": "key: [id]\n",
    SQL: "SELECT id, amount FROM bronze.orders",
}


def test_a_rebuild_that_is_killed_before_its_publish(shop: Harness) -> None:
    shop.take("landing/orders/1.csv", "id,amount\n1,5\n2,7\n")
    before = shop.state("silver.orders")
    held = before.refs["main"]
    # With another structure: a column more, another type, and a text.
    shop.write({SQL: "SELECT id, string(amount * 10) AS amount, id AS n FROM bronze.orders"})
    shop.write({"tables/silver/orders.yaml": "description: All\nkey: [id]\n"})
    ended = run(shop.root, "before-swap@silver.orders:killboth")
    assert ended.code == -9, ended.output
    assert "silver.orders: full refresh, its query has changed" in ended.output
    assert shop.rows("silver.orders") == [(1, 5), (2, 7)]
    assert shop.state("silver.orders") == before
    shop.must_run(approve=["silver.orders"])
    assert shop.rows("silver.orders") == [(1, "50", 1), (2, "70", 2)]
    assert shop.state("silver.orders").properties["comment"] == "All"
    assert sorted(map(tuple, shop.frame("silver.orders", as_of=held).collect())) == [(1, 5), (2, 7)]
