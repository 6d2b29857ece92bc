"""Maintenance beside runs, and failing at any point: no run fails, and the table is right at each point."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from harness import fail
from maintained_shop import DERIVED, After, grown, land, require_readable, require_rows
from maintaining import data_files, maintained, must_maintain, soon
from pyspark.errors import PySparkException

from lakesmith.execute import faults
from lakesmith.spark.maintenance import maintainer, tasks

POINTS = ("maintain-begin", "maintain-deletes", "maintain-piece", "maintain-manifests", "maintain-expiry")


@pytest.fixture(autouse=True)
def _soon(by_keys: None) -> Iterator[None]:
    with soon():
        yield


def at_first(point: str, action: Callable[[], object], table: str) -> None:
    """Does something the first time the point is passed."""
    done: list[None] = []

    def act() -> None:
        if not done:
            done.append(None)
            action()

    faults.arrange(point, act, table)


def test_runs_come_in_between_and_none_of_them_fails(after: After) -> None:
    shop = after(3)
    codes: list[int] = []
    run = threading.Thread(target=lambda: codes.append(shop.run().code))

    def begin_a_run() -> None:
        # The lock is held by this piece: the run waits for its end, and goes before the next one.
        land(shop, 3)
        run.start()

    at_first("maintain-begin", begin_a_run, "silver.newest")
    at_first("maintain-piece", lambda: grown(shop, 4), "bronze.sales")
    must_maintain(shop)
    run.join()
    assert codes == [0]
    require_rows(shop, range(5))
    shop.must_verify(*DERIVED)


def test_maintenance_waits_for_a_run_that_is_under_way(after: After) -> None:
    shop = after(3)
    worker = threading.Thread(target=lambda: maintained(shop))
    seen: list[int] = []

    def begin_maintenance() -> None:
        worker.start()
        worker.join(3.0)
        seen.append(data_files(shop, "bronze.sales"))

    at_first("before-swap", begin_maintenance, "bronze.sales")
    grown(shop, 3)
    worker.join()
    assert seen == [3], "nothing was put together while the batch was at work"
    assert data_files(shop, "bronze.sales") == 1
    require_rows(shop, range(4))


@pytest.mark.release
def test_maintenance_that_fails_anywhere_leaves_the_tables_right_and_the_next_goes_on(after: After) -> None:
    shop = after(3)
    for number, point in enumerate(POINTS, 3):
        at_first(point, fail, "silver.newest")
        with pytest.raises(OSError, match="arranged by a test"):
            maintained(shop)
        faults.clear()
        grown(shop, number)
        require_rows(shop, range(number + 1))
    must_maintain(shop)
    require_rows(shop, range(3 + len(POINTS)))
    require_readable(shop)
    shop.must_verify(*DERIVED)


def test_a_piece_that_another_tool_was_quicker_than_is_done_again(
    after: After, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = after(3)
    rewrite, refused = tasks.rewrite_data_files, list[object]()

    def quicker(*given: Any) -> object:
        if not refused:
            refused.append(given[1])
            shop.spark.sql("DELETE FROM lake.bronze.sales WHERE sale = 0").collect()
            raise PySparkException("ValidationException: Missing required files to delete")
        return rewrite(*given)

    monkeypatch.setattr(tasks, "rewrite_data_files", quicker)
    monkeypatch.setattr(maintainer, "_FIRST_PAUSE_SECONDS", 0.01)
    must_maintain(shop)
    assert data_files(shop, "bronze.sales") == 1
    assert [row[0] for row in shop.rows("bronze.sales", "sale")] == list(range(1, 30))
