"""Equality deletes of other engines: no summary counts the rows they hide, and no batch fails on them."""

from dataclasses import dataclass
from typing import Any

import pytest
from equality_delete import delete_equal
from harness import Harness, MakeShop, RunResult

from lakesmith.catalog.progress import live_rows
from lakesmith.catalog.state import Snapshot

ORDERS = """
    source:
      files: {path: landing/orders/, pattern: "*.csv", format: csv, on_changed_file: replace}
    columns: {id: bigint, city: string}
    """
FILES = {"tables/bronze/orders.yaml": ORDERS, "tables/silver/orders.yaml": "from: bronze.orders\nkey: [id]\n"}
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Deleted:
    """A table from which a city was deleted, and then both tables after the next run."""

    rows: Rows
    head: Snapshot
    run: RunResult
    bronze: Rows
    silver: Rows
    heads: dict[str, Snapshot]


def _delete(shop: Harness, table: str, files: dict[str, str]) -> Deleted:
    delete_equal(shop, table, "Rome")
    rows, head = shop.rows(table), shop.head(table)
    for name, content in files.items():
        shop.land(f"landing/orders/{name}.csv", f"id,city\n{content}")
    run = shop.must_run()
    heads = {name: shop.head(name) for name in ("bronze.orders", "silver.orders")}
    return Deleted(rows, head, run, shop.rows("bronze.orders"), shop.rows("silver.orders"), heads)


@pytest.fixture(scope="module")
def deleted(make_lake: MakeShop) -> dict[str, Deleted]:
    """By the table that lost its row, the derived one first."""
    shop = make_lake(FILES)
    shop.land("landing/orders/1.csv", "id,city\n1,Oslo\n2,Rome\n")
    shop.take("landing/orders/2.csv", "id,city\n3,Bonn\n")
    derived = _delete(shop, "silver.orders", {})
    sourced = _delete(shop, "bronze.orders", {"3": "4,Kiel\n", "1": "1,Lund\n2,Pisa\n"})
    return {"silver.orders": derived, "bronze.orders": sourced}


def test_a_sourced_table_takes_its_next_files(deleted: dict[str, Deleted]) -> None:
    then = deleted["bronze.orders"]
    assert then.rows == [(1, "Oslo"), (3, "Bonn")]
    assert live_rows(then.head) is None
    assert then.bronze == [(1, "Lund"), (2, "Pisa"), (3, "Bonn"), (4, "Kiel")]
    assert then.silver == then.bronze


def test_a_derived_table_is_made_anew(deleted: dict[str, Deleted]) -> None:
    then = deleted["silver.orders"]
    assert then.rows == [(1, "Oslo"), (3, "Bonn")]
    assert then.run.published["silver.orders"].kind == "full"
    assert then.silver == [(1, "Oslo"), (2, "Rome"), (3, "Bonn")]
    assert live_rows(then.heads["silver.orders"]) == 3
