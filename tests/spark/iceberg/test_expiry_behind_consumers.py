"""Snapshots that expire before a consumer read them: nothing is lost, at the cost of one full refresh."""

import pytest
from harness import Harness, MakeShop, RunResult

from lakesmith.execute.events import TableStarted

pytestmark = pytest.mark.in_turn

FILES = {
    "tables/bronze/orders.yaml": """
        source:
          files: {path: landing/orders/, format: csv}
        columns: {id: int, at: int, city: string, amount: int}
        """,
    "tables/silver/orders.yaml": "query: SELECT id, at, city, amount FROM bronze.orders\nkey: [id]\n"
    "latest_by: [at]\n",
    "tables/gold/by_city.sql": "SELECT city, avg(amount) AS mean FROM silver.orders GROUP BY city",
}
BELOW = ("bronze.orders", "silver.orders")
GOLD = "gold.by_city"


@pytest.fixture
def shop(make_shop: MakeShop, by_keys: None) -> Harness:
    """A gold that is two batches of its input behind."""
    shop = make_shop(FILES)
    _land(shop, 1, "1,1,Oslo,4\n2,1,Rome,6\n3,1,Bonn,1\n")
    shop.must_run()
    return shop


def _land(shop: Harness, number: int, rows: str) -> None:
    shop.land(f"landing/orders/{number}.csv", "id,at,city,amount\n" + rows)


def _fall_behind(shop: Harness) -> None:
    for number, rows in ((2, "1,2,Rome,8\n"), (3, "2,3,Bonn,3\n4,1,Oslo,5\n")):
        _land(shop, number, rows)
        shop.must_run(*BELOW)


def _expire(shop: Harness) -> None:
    shop.spark.sql(
        "CALL lake.system.expire_snapshots(table => 'silver.orders', older_than => TIMESTAMP '2100-01-01',"
        " retain_last => 1)"
    ).collect()


def _reason(result: RunResult) -> str | None:
    (started,) = [event for event in result.of(GOLD) if isinstance(event, TableStarted)]
    return started.step.reason


CAUGHT_UP = [("Bonn", 2.0), ("Oslo", 5.0), ("Rome", 8.0)]


def test_where_only_those_between_have_expired_it_goes_on_by_keys(shop: Harness) -> None:
    consumed = shop.record(GOLD).inputs["silver.orders"].snapshot
    shop.spark.sql(f"ALTER TABLE lake.silver.orders CREATE TAG consumed AS OF VERSION {consumed}")
    _fall_behind(shop)
    _expire(shop)
    kept = set(shop.state("silver.orders").snapshots)
    assert kept == {consumed, shop.state("silver.orders").refs["main"]}
    result = shop.must_run()
    assert (result.published[GOLD].kind, shop.rows(GOLD)) == ("keys", CAUGHT_UP)


def test_where_its_position_has_expired_it_is_computed_as_a_whole_once_and_says_why(shop: Harness) -> None:
    _fall_behind(shop)
    _expire(shop)
    result = shop.must_run()
    assert (result.published[GOLD].kind, shop.rows(GOLD)) == ("full", CAUGHT_UP)
    assert "expired" in (_reason(result) or "")
    _land(shop, 4, "3,2,Bonn,7\n")
    result = shop.must_run()
    assert (result.published[GOLD].kind, shop.rows(GOLD)) == (
        "keys",
        [("Bonn", 5.0), ("Oslo", 5.0), ("Rome", 8.0)],
    )
