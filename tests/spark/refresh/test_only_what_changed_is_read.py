"""Law 4: a refresh opens the files that changed and those that can have a touched key, and no others.

The others are taken away meanwhile: whoever opens one fails.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import Harness, MakeShop

from lakesmith.project.definitions import TableName
from lakesmith.spark.iceberg.change_feed import changed_rows

pytestmark = pytest.mark.in_turn

SOURCED = """
source:
  files: {{path: landing/{name}/, format: csv}}
columns: {{{columns}}}
partition_by: [{by}]
"""
SLIDING = "window(sold, '20 minutes', '10 minutes')"
FILES = {
    "tables/bronze/sales.yaml": SOURCED.format(
        name="sales", columns="id: int, shop: int, amount: int, sold: timestamp", by="days(sold)"
    ),
    "tables/bronze/shops.yaml": SOURCED.format(name="shops", columns="shop: int, city: string", by="shop"),
    "tables/gold/by_hour.sql": "SELECT date_trunc('hour', sold) AS hour, avg(amount) AS mean"
    " FROM bronze.sales"
    " GROUP BY date_trunc('hour', sold)",
    "tables/gold/sliding.sql": f"SELECT {SLIDING}.start AS since, avg(amount) AS mean FROM bronze.sales"
    f" GROUP BY {SLIDING}",
    "tables/gold/by_day.sql": "SELECT CAST(sold AS date) AS day, count(*) AS n, sum(amount) AS total"
    " FROM bronze.sales"
    " GROUP BY CAST(sold AS date)",
    "tables/gold/of_shops.sql": "SELECT s.id, s.shop, c.city FROM bronze.sales s JOIN bronze.shops c"
    " ON s.shop = c.shop",
    "tables/gold/positive.sql": "SELECT hour, mean > 0 AS is_positive, count(*) AS n FROM gold.by_hour"
    " GROUP BY hour, mean > 0",
    "tables/gold/above.sql": "SELECT hour, count(*) AS n FROM gold.positive GROUP BY hour",
}
IN_TIME = {"gold.by_hour": "keys", "gold.sliding": "keys", "gold.by_day": "sums"}
SALES, SHOPS = TableName("bronze", "sales"), TableName("bronze", "shops")


@pytest.fixture
def shop(make_shop: MakeShop, by_keys: None) -> Harness:
    """Two sales on each of three days, each day in a shop of its own."""
    shop = make_shop(FILES)
    rows = [f"{day}{half},{day},{day},2024-06-0{day} {half}0:15:00" for day in (1, 2, 3) for half in (0, 1)]
    shop.land("landing/sales/1.csv", "\n".join(["id,shop,amount,sold", *rows]) + "\n")
    shop.take("landing/shops/1.csv", "shop,city\n1,Oslo\n2,Rome\n3,Bonn\n")
    return shop


@contextmanager
def hidden(shop: Harness, table: TableName, which: Callable[[Path], bool]) -> Iterator[None]:
    """Some data files of a table are not there."""
    folder = shop.root / ".lakesmith/warehouse" / table.layer / table.name / "data"
    away = [path for path in folder.rglob("*.parquet") if which(path)]
    assert away
    for path in away:
        path.rename(path.with_suffix(".hidden"))
    yield
    for path in away:
        path.with_suffix(".hidden").rename(path)


def _of_other_days(path: Path) -> bool:
    return "2024-06-02" not in str(path)


def test_the_feed_opens_the_files_that_differ(shop: Harness) -> None:
    before = shop.state("bronze.sales").refs["main"]
    old = {path.name for path in (shop.root / ".lakesmith/warehouse/bronze/sales").rglob("*.parquet")}
    shop.take("landing/sales/2.csv", "id,shop,amount,sold\n30,2,9,2024-06-02 00:20:00\n", "bronze.sales")
    after = shop.state("bronze.sales").refs["main"]
    with (
        hidden(shop, SALES, lambda path: path.name in old),
        changed_rows(shop.spark, SALES, before, after) as changes,
    ):
        assert [row["id"] for row in changes.came.collect()] == [30]
        assert changes.went.collect() == []


def test_files_of_other_hours_windows_and_days_are_not_opened(shop: Harness) -> None:
    shop.take("landing/sales/2.csv", "id,shop,amount,sold\n30,2,9,2024-06-02 00:20:00\n", "bronze.sales")
    with hidden(shop, SALES, _of_other_days):
        published = shop.must_run(*IN_TIME).published
    assert {name: record.kind for name, record in published.items()} == IN_TIME
    moved = {name: (each.account.inserted, each.account.updated) for name, each in published.items()}
    # At 0:15 lie the windows from 0:00 and 0:10, at 0:20 those from 0:10 and 0:20.
    assert moved == {"gold.by_hour": (0, 1), "gold.sliding": (1, 1), "gold.by_day": (0, 1)}
    expected = "SELECT date_trunc('hour', sold), avg(amount) FROM lake.bronze.sales GROUP BY 1"
    assert sorted(map(tuple, shop.spark.sql(expected).collect())) == shop.rows("gold.by_hour")


def test_a_corrected_row_reaches_its_own_day_alone(shop: Harness) -> None:
    shop.spark.sql("UPDATE lake.bronze.sales SET amount = 50 WHERE id = 20").collect()
    with hidden(shop, SALES, _of_other_days):
        published = shop.must_run(*IN_TIME).published
    assert {name: record.kind for name, record in published.items()} == IN_TIME
    assert {name: each.account.updated for name, each in published.items()} == {
        "gold.by_hour": 1,
        "gold.sliding": 2,
        "gold.by_day": 1,
    }


def test_a_changed_side_of_a_join_reaches_its_partners_alone(shop: Harness) -> None:
    shop.spark.sql("UPDATE lake.bronze.shops SET city = 'Roma' WHERE shop = 2").collect()
    with hidden(shop, SHOPS, lambda path: "shop=2" not in str(path)):
        record = shop.must_run("gold.of_shops").published["gold.of_shops"]
    assert (record.kind, record.account.inserted, record.account.deleted) == ("keys", 2, 2)
    assert [row[2] for row in shop.rows("gold.of_shops", "id", "shop", "city")] == ["Oslo"] * 2 + [
        "Roma"
    ] * 2 + ["Bonn"] * 2


def test_a_batch_that_changes_nothing_is_no_work_for_the_tables_below(shop: Harness) -> None:
    shop.land("landing/sales/2.csv", "id,shop,amount,sold\n30,2,9,2024-06-02 00:20:00\n")
    published = shop.must_run("bronze.sales", "gold.by_hour", "gold.positive", "gold.above").published
    account = published["gold.positive"].account
    assert (published["gold.positive"].kind, account.read) == ("sums", 2)
    assert (account.inserted, account.updated, account.deleted) == (0, 0, 0)
    assert published["gold.above"].kind == "advance"
    written = [each for each in shop.state("gold.above").snapshots.values() if each.count("added-records")]
    assert len(written) == 1
