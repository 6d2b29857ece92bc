"""A project to be maintained: what lands in it, and what its tables must hold."""

from collections.abc import Callable, Sequence
from typing import Final

from harness import Harness

FILES: Final = {
    "tables/bronze/sales.yaml": """
        source: {files: {path: landing/sales/, format: csv, on_changed_file: replace}}
        columns: {sale: bigint, product: bigint, price: "decimal(10,2)"}
        on_bad_row: quarantine
        """,
    "tables/silver/newest.yaml": """
        query: SELECT product, sale, price FROM bronze.sales
        key: [product]
        latest_by: [sale]
        delete_when: price = 0
        """,
    "tables/silver/lines.sql": "SELECT sale, price * 2 AS twice FROM bronze.sales\n",
    "tables/gold/by_product.sql": (
        "SELECT product, sum(price) AS total, count(*) AS sales FROM bronze.sales GROUP BY product\n"
    ),
}
DERIVED: Final = ("silver.newest", "silver.lines", "gold.by_product")
PRODUCTS: Final = 7

After = Callable[[int], Harness]
"""Type of the fixture ``after``, which gives the project as so many batches have left it."""


def sales(batch: int) -> list[tuple[int, int, str]]:
    """What a batch brings: ten sales, of which one deletes its product."""
    found = [(10 * batch + each, (batch + each) % PRODUCTS, f"{each + 1}.50") for each in range(10)]
    number, product, _ = found[3]
    found[3] = (number, product, "0.00")
    return found


def land(shop: Harness, batch: int) -> None:
    """A file, with a bad row at its end."""
    rows = "".join(f"{sale},{product},{price}\n" for sale, product, price in sales(batch))
    shop.land(f"landing/sales/{batch:03}.csv", f"sale,product,price\n{rows}x,1,1\n")


def grown(shop: Harness, *batches: int) -> Harness:
    for batch in batches:
        land(shop, batch)
        shop.must_run()
    return shop


def require_rows(shop: Harness, batches: Sequence[int]) -> None:
    """The tables hold what these batches make of them: worked out in plain Python."""
    every = [row for batch in batches for row in sales(batch)]
    cents = [(sale, product, int(price.replace(".", ""))) for sale, product, price in every]
    assert [tuple(map(int, (s, p, c * 100))) for s, p, c in shop.rows("bronze.sales")] == sorted(cents)
    newest: dict[int, tuple[int, int]] = {}
    for sale, product, price in sorted(cents):
        newest[product] = (sale, price)
    kept = sorted((product, *found) for product, found in newest.items() if found[1])
    assert [(p, s, int(c * 100)) for p, s, c in shop.rows("silver.newest")] == kept
    assert [(s, int(t * 100)) for s, t in shop.rows("silver.lines")] == sorted(
        (s, 2 * c) for s, _, c in cents
    )
    totals = sorted(
        (product, sum(c for _, p, c in cents if p == product), sum(p == product for _, p, _ in cents))
        for product in {p for _, p, _ in cents}
    )
    assert [(p, int(t * 100), n) for p, t, n in shop.rows("gold.by_product")] == totals


def require_readable(shop: Harness) -> None:
    """Every snapshot that is left can be read: none of its files has left."""
    for table in shop.lake().project.tables:
        for snapshot in shop.state(str(table.name)).snapshots:
            shop.frame(str(table.name), as_of=snapshot).collect()
