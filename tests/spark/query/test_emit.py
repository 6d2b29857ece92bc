"""Windows that are published once the watermark has passed them; late rows correct theirs."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from harness import ProjectHarness

from lakesmith.errors import ProjectError
from lakesmith.execute import decide
from lakesmith.execute.decide import Decider
from lakesmith.execute.verify import Verdict, verification_of
from lakesmith.plan.steps import TableStep
from lakesmith.project.definitions import TableName
from lakesmith.spark.verify_session import verify_steps

if TYPE_CHECKING:
    from lakesmith.spark.start.session import SessionHandle

pytestmark = pytest.mark.spark

FILES = {
    "tables/bronze/sales.yaml": """
        source: {files: {path: landing/, format: csv}}
        columns: {at: timestamp, price: int}
        """,
    "tables/gold/by_minute.sql": """
        WITH sales AS (SELECT at, price FROM bronze.sales)
        SELECT window.start AS window_start, window.end AS window_end, sum(price) AS total
        FROM sales GROUP BY window(at, '1 minute');
        """,
    "tables/gold/by_minute.yaml": """
        emit: {closed: window_end, watermark: bronze.sales.at, delay: 90 seconds}
        """,
}


@pytest.fixture
def shop(tmp_path: Path, session: SessionHandle) -> ProjectHarness:
    return ProjectHarness(tmp_path / "shop", session, FILES)


def sell(shop: ProjectHarness, *sales: tuple[str, int]) -> dict[str, int]:
    """Lands sales at times of one morning and runs; the sums of the windows that are there."""
    lines = "".join(f"2024-06-03 08:{at},{price}\n" for at, price in sales)
    shop.land(f"landing/{len(list(shop.root.glob('landing/*')))}.csv", "at,price\n" + lines)
    shop.must_run()
    return {f"{start:%H:%M}": total for start, total in shop.rows("gold.by_minute", "window_start", "total")}


def test_a_window_is_there_once_the_watermark_has_passed_it(shop: ProjectHarness) -> None:
    assert sell(shop, ("00:10", 1), ("01:20", 2)) == {}
    assert sell(shop, ("02:29", 4)) == {}
    # Exactly a delay after its end.
    assert sell(shop, ("02:30", 8)) == {"08:00": 1}
    # A late sale corrects its window, and moves no watermark.
    assert sell(shop, ("00:59", 16)) == {"08:00": 17}
    assert sell(shop, ("09:00", 32)) == {"08:00": 17, "08:01": 2, "08:02": 12}


def test_what_cannot_be_is_told_at_its_line(shop: ProjectHarness) -> None:
    shop.write(
        {
            "tables/gold/by_minute.yaml": "emit: {closed: window_end, watermark: bronze.sales.at, delay: soon}\n"
        }
    )
    with pytest.raises(ProjectError) as caught:
        shop.load()
    (problem,) = caught.value.problems
    assert (problem.code, str(problem.place)) == ("LS105", "tables/gold/by_minute.yaml:1")
    shop.write({"tables/gold/by_minute.yaml": "emit: {closed: window_end, watermark: bronze.sold.at}\n"})
    with pytest.raises(ProjectError, match=r"bronze\.sold"):
        shop.load()


TWO = {
    "tables/bronze/web.yaml": """
        source: {files: {path: landing/web/, format: csv}}
        columns: {at: timestamp, price: int}
        """,
    "tables/bronze/till.yaml": """
        source: {files: {path: landing/till/, format: csv}}
        columns: {at: timestamp, price: int}
        """,
    "tables/gold/by_minute.sql": """
        WITH sales AS (SELECT at, price FROM bronze.web UNION ALL SELECT at, price FROM bronze.till)
        SELECT window.start AS window_start, window.end AS window_end, sum(price) AS total
        FROM sales GROUP BY window(at, '1 minute')
        """,
    "tables/gold/by_minute.yaml": """
        emit: {closed: window_end, watermark: [bronze.web.at, bronze.till.at], idle_after: 5 minutes}
        """,
}


class Sources:
    """Sales of a shop and of its web site, and a clock that stands where the test puts it."""

    def __init__(self, shop: ProjectHarness, patch: pytest.MonkeyPatch) -> None:
        self.shop, self.now_ms = shop, time.time_ns() // 1_000_000
        patch.setattr(decide, "time", SimpleNamespace(time_ns=lambda: self.now_ms * 1_000_000))

    def sell(self, source: str, at: str, price: int) -> None:
        number = len(list(self.shop.root.glob("landing/*/*")))
        self.shop.land(f"landing/{source}/{number}.csv", f"at,price\n2024-06-03 08:{at},{price}\n")

    def minutes_after(self, table: str, minutes: float) -> None:
        """Puts the clock so long after the last batch of a table."""
        _, shown_ms = self.shop.state(table).published[-1]
        self.now_ms = shown_ms + round(minutes * 60_000)

    def windows(self) -> dict[str, int]:
        """Runs; the sums of the windows that are there, which verify has to find in the same inputs."""
        self.shop.must_run()
        step = verification_of(
            Decider(self.shop.load()[1], self.shop.lake()), TableName.parse("gold.by_minute")
        )
        assert isinstance(step, TableStep)
        (found,) = verify_steps(self.shop.handle, self.shop.lake(), [step]).values()
        assert found.verdict is Verdict.SAME, found
        rows = self.shop.rows("gold.by_minute", "window_start", "total")
        return {f"{start:%H:%M}": total for start, total in rows}


def test_a_source_that_is_quiet_holds_no_window_open(
    tmp_path: Path, session: SessionHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = Sources(ProjectHarness(tmp_path / "two", session, TWO), monkeypatch)
    two.sell("till", "01:30", 1)
    two.sell("web", "05:30", 2)
    # The least of the two counts.
    assert two.windows() == {}
    two.sell("till", "03:10", 4)
    assert two.windows() == {"08:01": 1}
    two.sell("web", "06:10", 8)
    assert two.windows() == {"08:01": 1}
    # The till has gone quiet, and the web has not: nothing came, and windows are closed.
    two.minutes_after("bronze.till", 4.99)
    assert not two.shop.must_run().published
    two.minutes_after("bronze.till", 5)
    assert two.windows() == {"08:01": 1, "08:03": 4, "08:05": 2}
    assert not two.shop.must_run().published
    # It comes back, before what the web has passed: what is there stays, and is corrected, and it holds again.
    two.minutes_after("bronze.till", 1)
    two.sell("till", "04:10", 16)
    two.sell("web", "07:10", 32)
    two.sell("till", "03:20", 64)
    assert two.windows() == {"08:01": 1, "08:03": 68, "08:04": 16, "08:05": 2}
    # Both are quiet: all windows are closed. A full refresh makes no difference.
    two.minutes_after("bronze.web", 60)
    whole = {"08:01": 1, "08:03": 68, "08:04": 16, "08:05": 2, "08:06": 8, "08:07": 32}
    assert two.windows() == whole
    two.now_ms = 0
    two.shop.must_run(full=["gold.by_minute"])
    assert two.windows() == whole
