"""Windows that are published once the watermark has passed them; late rows correct theirs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from harness import ProjectHarness

from lakesmith.errors import ProjectError

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
