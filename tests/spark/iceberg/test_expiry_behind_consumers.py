"""Snapshots that expire before a consumer read them: nothing is lost, at the cost of one full refresh.

Two tables of one query stand at two snapshots of their input, of which one is kept by a tag.
"""

from dataclasses import dataclass
from typing import Any

import pytest
from harness import Harness, MakeShop, RunResult, refresh_by_keys

from lakesmith.execute.events import TableStarted

QUERY = "SELECT city, avg(amount) AS mean FROM bronze.orders GROUP BY city"
FILES = {
    "tables/bronze/orders.yaml": """
        source:
          files: {path: landing/orders/, format: csv, on_changed_file: replace}
        columns: {id: int, city: string, amount: int}
        """,
    "tables/gold/tagged.sql": QUERY,
    "tables/gold/expired.sql": QUERY,
}
CAUGHT_UP = [("Bonn", 2.0), ("Oslo", 5.0), ("Rome", 8.0)]


@dataclass(frozen=True)
class Behind:
    """``kept``: snapshots after the expiry; ``consumed``: that of ``gold.tagged``. Then both caught up.

    ``after``: the run after that, of ``gold.expired``.
    """

    kept: set[int]
    consumed: int | None
    head: int
    caught_up: RunResult
    rows: dict[str, list[tuple[Any, ...]]]
    after: RunResult
    rows_after: list[tuple[Any, ...]]


def _land(shop: Harness, files: dict[str, str]) -> None:
    for name, row in files.items():
        shop.land(f"landing/orders/{name}.csv", f"id,city,amount\n{row}\n")


@pytest.fixture(scope="module")
def behind(make_lake: MakeShop) -> Behind:
    """Of three batches, ``gold.tagged`` reads the first, ``gold.expired`` the second."""
    shop = make_lake(FILES)
    with pytest.MonkeyPatch.context() as patch:
        refresh_by_keys(patch)
        _land(shop, {"1": "1,Oslo,4", "2": "2,Rome,6", "3": "3,Bonn,1"})
        shop.must_run("bronze.orders", "gold.tagged")
        _land(shop, {"1": "1,Rome,8"})
        shop.must_run("bronze.orders", "gold.expired")
        _land(shop, {"2": "2,Bonn,3", "4": "4,Oslo,5"})
        shop.must_run("bronze.orders")
        consumed = shop.record("gold.tagged").inputs["bronze.orders"].snapshot
        shop.spark.sql(f"ALTER TABLE lake.bronze.orders CREATE TAG consumed AS OF VERSION {consumed}")
        shop.spark.sql(
            "CALL lake.system.expire_snapshots(table => 'bronze.orders', older_than => TIMESTAMP"
            " '2100-01-01', retain_last => 1)"
        ).collect()
        state = shop.state("bronze.orders")
        caught_up = shop.must_run()
        rows = {table: shop.rows(table) for table in ("gold.tagged", "gold.expired")}
        _land(shop, {"3": "3,Bonn,7"})
        after = shop.must_run("bronze.orders", "gold.expired")
    return Behind(
        set(state.snapshots), consumed, state.refs["main"], caught_up, rows, after, shop.rows("gold.expired")
    )


def test_where_only_those_between_have_expired_it_goes_on_by_keys(behind: Behind) -> None:
    assert behind.consumed != behind.head
    assert behind.kept == {behind.consumed, behind.head}
    assert behind.caught_up.published["gold.tagged"].kind == "keys"
    assert behind.rows["gold.tagged"] == CAUGHT_UP


def test_where_its_position_has_expired_it_is_computed_as_a_whole_once_and_says_why(behind: Behind) -> None:
    assert behind.caught_up.published["gold.expired"].kind == "full"
    assert behind.rows["gold.expired"] == CAUGHT_UP
    (started,) = [event for event in behind.caught_up.of("gold.expired") if isinstance(event, TableStarted)]
    assert "expired" in (started.step.reason or "")
    assert behind.after.published["gold.expired"].kind == "keys"
    assert behind.rows_after == [("Bonn", 5.0), ("Oslo", 5.0), ("Rome", 8.0)]
