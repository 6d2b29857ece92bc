"""After each operation DuckDB and PyIceberg read the same rows, at the end a Spark without lakesmith."""

from collections.abc import Iterable
from pathlib import Path

import places
import pytest
from maintaining import soon
from other_engines import by_spark
from read_elsewhere import by_duckdb, by_pyiceberg, names_of
from shared_project import Make, SharedProject
from small_shop import NEWEST, SUMS, Order, csv, sums

from lakesmith.spark.start.versions import local_jars

pytestmark = pytest.mark.release

ADA = "Ada"
BRONZE, NEW, LINES, TOTALS = (
    "tables/bronze/orders.yaml",
    "tables/silver/newest.yaml",
    "tables/silver/lines.sql",
    "tables/gold/sums.sql",
)
TABLES = ("bronze.orders", "silver.newest", "silver.lines", "gold.sums")
SOURCE = 'source: {files: {path: "${vars.landing}/orders/", format: csv, on_erase: remove}}\n'
COLUMNS = "columns: {order_id: bigint, customer: string, amount: int, version: bigint}\n"
RENAMED = COLUMNS.replace("customer: string", "buyer: {type: string, renamed_from: customer}")
GROWN = RENAMED.replace("amount: int", "amount: bigint").replace("}\n", ", note: string}\n")
PARTED = "partition_by: ['bucket(2, order_id)', buyer]\n"
FILES = {
    BRONZE: SOURCE + COLUMNS,
    **NEWEST,
    **SUMS,
    LINES: "SELECT order_id, amount * 2 AS twice, version FROM bronze.orders\n",
}
BATCHES = (
    (Order(1, ADA, 5, 1), Order(2, "Bo", 7, 1), Order(3, ADA, 11, 1)),
    (Order(2, "Bo", 8, 2), Order(4, "Cy", 13, 1), Order(1, ADA, -1, 2)),
    (Order(5, ADA, 1, 1), Order(4, "Cy", 14, 2)),
    (Order(6, "Di", 2, 1), Order(7, ADA, 3, 1)),
    (Order(8, "Bo", 4, 1), Order(2, "Bo", 9, 3)),
    (Order(9, "Cy", 6, 1), Order(10, ADA, 5, 1)),
)


@pytest.fixture
def place() -> places.Place:
    return places.embedded()


@pytest.mark.parametrize("version", [3, 2])
def test_other_engines_after_every_operation(make: Make, tmp_path: Path, version: int) -> None:
    shop = make({**FILES, "tables/_defaults.yaml": f"format_version: {version}\n"})
    _take(shop, 0)
    _take(shop, 1)
    shop.must("tag", "before")
    _take(shop, 2)

    shop.must("rollback", "bronze.orders", "--to", "before", "--yes")
    assert require_alike(shop) == sorted(_first(2))
    shop.must_run()
    assert require_alike(shop) == sorted(_first(3))
    shop.must("rollback", "bronze.orders", "--to", "before", "--with-downstream", "--yes")
    assert require_alike(shop) == sorted(_first(2))
    assert shop.rows("gold.sums") == sums(_first(2))
    shop.must_run()
    assert require_alike(shop) == sorted(_first(3))

    shop.write({BRONZE: SOURCE + RENAMED, NEW: _by_buyer(NEWEST[NEW]), TOTALS: _by_buyer(SUMS[TOTALS])})
    _take(shop, 3)
    assert require_alike(shop) == sorted(_first(4))

    # A column that is new, one that is wider, one that is gone.
    shop.write({BRONZE: SOURCE + GROWN, LINES: "SELECT order_id, amount * 2 AS twice FROM bronze.orders\n"})
    shop.approves = True
    _take(shop, 4, ",a note", ",note")
    assert names_of(shop, "silver.lines") == ["order_id", "twice"]
    assert [row[:4] for row in require_alike(shop)] == sorted(_first(5))

    shop.write({BRONZE: SOURCE + GROWN + PARTED})
    _take(shop, 5, ",another", ",note")
    assert [row[:4] for row in require_alike(shop)] == sorted(_first(6))

    shop.must("erase", "bronze.orders", "--where", f"buyer = '{ADA}'", "--yes")
    left = [order for order in _first(6) if order.customer != ADA]
    assert [row[:4] for row in require_alike(shop)] == sorted(left)

    with soon():
        shop.must("maintain")
    assert [row[:4] for row in require_alike(shop)] == sorted(left)
    shop.must_run()
    assert shop.rows("gold.sums") == sums(left)
    require_alike(shop)
    require_alike_in_spark(shop, tmp_path)


def _first(count: int) -> list[Order]:
    return [order for batch in BATCHES[:count] for order in batch]


def _by_buyer(text: str) -> str:
    return text.replace("customer", "buyer AS customer", 1).replace("BY customer", "BY buyer")


def _take(shop: SharedProject, batch: int, more: str = "", header: str = "") -> None:
    first, *rows = csv(*BATCHES[batch]).splitlines()
    shop.take(f"orders/{batch}.csv", "\n".join([first + header, *(row + more for row in rows)]) + "\n")


def require_alike(shop: SharedProject) -> list[tuple[object, ...]]:
    """All tables read by three engines; the rows of the first."""
    for table in TABLES:
        assert by_pyiceberg(shop, table) == by_duckdb(shop, table) == shop.rows(table), table
    return shop.rows(TABLES[0])


def require_alike_in_spark(shop: SharedProject, folder: Path) -> None:
    """The same in a Spark of its own, as ``lakesmith connect`` tells it."""
    found = by_spark(shop.must("connect", "spark").out, TABLES, folder, local_jars())
    for table, rows in found.items():
        names = names_of(shop, table)
        assert _sorted(row.values() for row in rows.select(names).to_pylist()) == _sorted(shop.rows(table))


def _sorted(rows: Iterable[Iterable[object]]) -> list[tuple[object, ...]]:
    return sorted((tuple(row) for row in rows), key=repr)
