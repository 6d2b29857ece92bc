"""A slice of maintenance: the same rows in fewer files and snapshots, and every consumer goes on."""

import pytest
from harness import Harness, MakeShop

import lakesmith
from lakesmith import limits
from lakesmith.execute.maintenance import Slice
from lakesmith.spark import open as spark_open

FILES = {
    "tables/bronze/sales.yaml": """
        source: {files: {path: landing/sales/, format: csv}}
        columns: {sale: bigint, product: bigint, price: "decimal(10,2)"}
        on_bad_row: quarantine
        """,
    "tables/bronze/products.yaml": """
        source: {files: {path: landing/products/, format: csv}}
        columns: {product: bigint, name: string, seq: bigint}
        """,
    "tables/silver/products.yaml": """
        from: bronze.products
        key: [product]
        latest_by: [seq]
        """,
    "tables/silver/enriched.yaml": """
        query: |
          SELECT s.sale, s.price, p.name
          FROM bronze.sales s LEFT JOIN silver.products p ON p.product = s.product
        lookups: {silver.products: {as_of: arrival}}
        """,
    "tables/silver/newest.yaml": """
        query: SELECT product, sale, price FROM bronze.sales
        key: [product]
        latest_by: [sale]
        """,
    "tables/gold/by_name.sql": "SELECT name, sum(price) AS total, count(*) AS sales FROM silver.enriched"
    " GROUP BY name",
}
TABLES = (
    "bronze.sales", "bronze.products", "silver.products", "silver.enriched", "silver.newest", "gold.by_name",
)  # fmt: skip
LOOKUP_CHANGES = {0: "1,pen,1\n2,ink,1\n", 3: "1,quill,2\n"}


def land(shop: Harness, batch: int) -> None:
    if batch in LOOKUP_CHANGES:
        shop.land(f"landing/products/{batch}.csv", "product,name,seq\n" + LOOKUP_CHANGES[batch])
    shop.land(
        f"landing/sales/{batch}.csv",
        f"sale,product,price\n{2 * batch},1,1.50\n{2 * batch + 1},2,2.25\nx,1,1\n",
    )


def expected(batches: int) -> list[tuple[int, str]]:
    rows = []
    for batch in range(batches):
        rows += [(2 * batch, "pen" if batch < 3 else "quill"), (2 * batch + 1, "ink")]
    return rows


@pytest.mark.in_turn
def test_a_day_of_small_batches(make_shop: MakeShop, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, value in {
        "NEWEST_POINTS_KEPT": 2,
        "PAST_KEPT": (),
        "COMPACTED_FILES_KEPT_SECONDS": 0,
        "FRESH_FILES": 4,
    }.items():
        monkeypatch.setattr(limits, limit, value)
    shop = make_shop(FILES)
    monkeypatch.setattr(spark_open, "open_session", lambda *_, **__: shop.handle)
    for batch in range(5):
        land(shop, batch)
        shop.must_run()

    lake = lakesmith.open(shop.root)
    done = {name: lake.maintain_slice(name) for name in TABLES}

    assert (done["bronze.sales"].files, done["bronze.sales"].into) == (5, 1)
    assert (done["silver.enriched"].files, done["silver.enriched"].into) == (5, 1)
    assert done["gold.by_name"].files == 0 and done["gold.by_name"].snapshots > 5
    assert done["bronze.sales"].snapshots > 5
    assert lake.maintain_slice("bronze.products") == Slice()

    # Consumers still read only what is new.
    land(shop, 5)
    ran = shop.must_run()
    kinds = {name: report.kind for name, report in ran.published.items()}
    assert (kinds["silver.enriched"], kinds["silver.newest"]) == ("append", "upsert")
    assert lake.maintain_slice("silver.enriched").snapshots > 0
    require_right(shop, 6)


def require_right(shop: Harness, batches: int) -> None:
    assert shop.rows("silver.enriched", "sale", "name") == expected(batches)
    assert shop.rows("silver.newest", "product", "sale") == [(1, 2 * batches - 2), (2, 2 * batches - 1)]
    assert shop.rows("gold.by_name", "name", "sales") == sorted(
        {
            name: sum(1 for _, each in expected(batches) if each == name) for name in ("pen", "quill", "ink")
        }.items()
    )
    shop.must_verify(*(name for name in TABLES if not name.startswith("bronze")))
    for name in TABLES:
        assert_every_snapshot_can_be_read(shop, name)


def assert_every_snapshot_can_be_read(shop: Harness, name: str) -> None:
    """Expiry has deleted no file that a snapshot which is left still has."""
    spark = shop.handle.spark
    for row in spark.sql(f"SELECT snapshot_id FROM lake.{name}.snapshots").collect():
        spark.sql(f"SELECT * FROM lake.{name} VERSION AS OF {row.snapshot_id}").collect()
