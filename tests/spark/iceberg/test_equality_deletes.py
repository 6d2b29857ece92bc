"""Equality deletes of other engines: no summary counts the rows they hide, and no batch fails on them."""

import pytest
from equality_delete import delete_equal
from harness import Harness, MakeShop

from lakesmith.catalog.progress import live_rows

pytestmark = pytest.mark.in_turn

ORDERS = """
    source:
      files: {path: landing/orders/, pattern: "*.csv", format: csv, on_changed_file: replace}
    columns: {id: bigint, city: string}
    """


@pytest.fixture
def shop(make_shop: MakeShop) -> Harness:
    files = {
        "tables/bronze/orders.yaml": ORDERS,
        "tables/silver/orders.yaml": "from: bronze.orders\nkey: [id]\n",
    }
    shop = make_shop(files)
    shop.land("landing/orders/1.csv", "id,city\n1,Oslo\n2,Rome\n")
    shop.take("landing/orders/2.csv", "id,city\n3,Bonn\n")
    return shop


def test_a_sourced_table_takes_its_next_files(shop: Harness) -> None:
    delete_equal(shop, "bronze.orders", "Rome")
    assert shop.rows("bronze.orders") == [(1, "Oslo"), (3, "Bonn")]
    head = shop.head("bronze.orders")
    assert live_rows(head) is None

    shop.land("landing/orders/3.csv", "id,city\n4,Kiel\n")
    shop.take("landing/orders/1.csv", "id,city\n1,Lund\n2,Pisa\n")
    assert shop.rows("bronze.orders") == [(1, "Lund"), (2, "Pisa"), (3, "Bonn"), (4, "Kiel")]
    assert shop.rows("silver.orders") == shop.rows("bronze.orders")


def test_a_derived_table_is_made_anew(shop: Harness) -> None:
    delete_equal(shop, "silver.orders", "Rome")
    assert shop.rows("silver.orders") == [(1, "Oslo"), (3, "Bonn")]
    assert shop.must_run().published["silver.orders"].kind == "full"
    assert shop.rows("silver.orders") == [(1, "Oslo"), (2, "Rome"), (3, "Bonn")]
    head = shop.head("silver.orders")
    assert live_rows(head) == 3
