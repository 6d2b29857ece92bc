"""Law 4: a refresh opens the files that changed and those that can have a touched key, and no others.

The others are taken away meanwhile: whoever opens one fails.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from harness import Harness, MakeShop, refresh_by_keys

from lakesmith.catalog.record import Record
from lakesmith.project.definitions import TableName
from lakesmith.spark.iceberg.change_feed import changed_rows

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
Seen = tuple[dict[str, dict[str, Record]], dict[str, list[Any]]]
"""What runs with hidden files published, and the rows that were there after them."""


@pytest.fixture(scope="module")
def seen(make_lake: MakeShop) -> Seen:
    """Two sales on each of three days, each in a shop of its own; then a shop and sales of a day change."""
    runs, there = dict[str, dict[str, Record]](), dict[str, list[Any]]()
    shop = make_lake(FILES)
    rows = [f"{day}{half},{day},{day},2024-06-0{day} {half}0:15:00" for day in (1, 2, 3) for half in (0, 1)]
    shop.land("landing/sales/1.csv", "\n".join(["id,shop,amount,sold", *rows]) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        refresh_by_keys(patch)
        shop.take("landing/shops/1.csv", "shop,city\n1,Oslo\n2,Rome\n3,Bonn\n")
        shop.spark.sql("UPDATE lake.bronze.shops SET city = 'Roma' WHERE shop = 2").collect()
        with hidden(shop, SHOPS, lambda path: "shop=2" not in str(path)):
            runs["joined"] = shop.must_run("gold.of_shops").published
        there["joined"] = shop.rows("gold.of_shops", "id", "shop", "city")

        before = shop.state("bronze.sales").refs["main"]
        old = {path.name for path in (shop.root / ".lakesmith/warehouse/bronze/sales").rglob("*.parquet")}
        shop.take("landing/sales/2.csv", "id,shop,amount,sold\n30,2,9,2024-06-02 00:20:00\n", "bronze.sales")
        after = shop.state("bronze.sales").refs["main"]
        with (
            hidden(shop, SALES, lambda path: path.name in old),
            changed_rows(shop.spark, SALES, before, after) as changes,
        ):
            there["came"], there["went"] = changes.came.collect(), changes.went.collect()
        with hidden(shop, SALES, _of_other_days):
            runs["in time"] = shop.must_run(*IN_TIME).published
        expected = "SELECT date_trunc('hour', sold), avg(amount) FROM lake.bronze.sales GROUP BY 1"
        there["computed"] = sorted(map(tuple, shop.spark.sql(expected).collect()))
        there["by_hour"] = shop.rows("gold.by_hour")
        runs["below"] = shop.must_run("gold.positive", "gold.above").published
        there["above"] = list(shop.state("gold.above").snapshots.values())

        shop.spark.sql("UPDATE lake.bronze.sales SET amount = 50 WHERE id = 20").collect()
        with hidden(shop, SALES, _of_other_days):
            runs["corrected"] = shop.must_run(*IN_TIME).published
    return runs, there


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


def test_the_feed_opens_the_files_that_differ(seen: Seen) -> None:
    _, there = seen
    assert [row["id"] for row in there["came"]] == [30]
    assert there["went"] == []


def test_files_of_other_hours_windows_and_days_are_not_opened(seen: Seen) -> None:
    published, there = seen[0]["in time"], seen[1]
    assert {name: record.kind for name, record in published.items()} == IN_TIME
    moved = {name: (each.account.inserted, each.account.updated) for name, each in published.items()}
    # At 0:15 lie the windows from 0:00 and 0:10, at 0:20 those from 0:10 and 0:20.
    assert moved == {"gold.by_hour": (0, 1), "gold.sliding": (1, 1), "gold.by_day": (0, 1)}
    assert there["computed"] == there["by_hour"]


def test_a_corrected_row_reaches_its_own_day_alone(seen: Seen) -> None:
    published = seen[0]["corrected"]
    assert {name: record.kind for name, record in published.items()} == IN_TIME
    assert {name: each.account.updated for name, each in published.items()} == {
        "gold.by_hour": 1,
        "gold.sliding": 2,
        "gold.by_day": 1,
    }


def test_a_changed_side_of_a_join_reaches_its_partners_alone(seen: Seen) -> None:
    record = seen[0]["joined"]["gold.of_shops"]
    assert (record.kind, record.account.inserted, record.account.deleted) == ("keys", 2, 2)
    assert [row[2] for row in seen[1]["joined"]] == ["Oslo"] * 2 + ["Roma"] * 2 + ["Bonn"] * 2


def test_a_batch_that_changes_nothing_is_no_work_for_the_tables_below(seen: Seen) -> None:
    published, there = seen[0]["below"], seen[1]
    account = published["gold.positive"].account
    assert (published["gold.positive"].kind, account.read) == ("sums", 2)
    assert (account.inserted, account.updated, account.deleted) == (0, 0, 0)
    assert published["gold.above"].kind == "advance"
    assert len([each for each in there["above"] if each.count("added-records")]) == 1
