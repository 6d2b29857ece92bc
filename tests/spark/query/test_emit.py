"""Windows that are published once the watermark has passed them; late rows correct theirs."""

import json
import re
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from harness import Harness, MakeShop

from lakesmith.errors import ProjectError
from lakesmith.execute import decide
from lakesmith.execute.status import facts_notes
from lakesmith.project.definitions import TableName
from lakesmith.serve.intake.frames import Frame
from lakesmith.serve.intake.segments import Segments

pytestmark = pytest.mark.in_turn("file", of=3)

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
EMIT = "emit:\n  closed: window_end\n  watermark: bronze.sales.at\n  delay: 90 seconds\n"


def sell(shop: Harness, *sales: tuple[str, int]) -> dict[str, int]:
    """Lands sales at times of one morning and runs; the sums of the windows that are there."""
    lines = "".join(f"2024-06-03 08:{at},{price}\n" for at, price in sales)
    if sales:
        shop.land(f"landing/{len(list(shop.root.glob('landing/*')))}.csv", "at,price\n" + lines)
    shop.must_run()
    return {f"{start:%H:%M}": total for start, total in shop.rows("gold.by_minute", "window_start", "total")}


def test_a_window_is_there_once_the_watermark_has_passed_it(shop: Harness) -> None:
    assert sell(shop, ("00:10", 1), ("01:20", 2)) == {}
    assert sell(shop, ("02:29", 4)) == {}
    # Exactly a delay after its end.
    assert sell(shop, ("02:30", 8)) == {"08:00": 1}
    # A late sale corrects its window, and moves no watermark.
    assert sell(shop, ("00:59", 16)) == {"08:00": 17}
    assert sell(shop, ("09:00", 32)) == {"08:00": 17, "08:01": 2, "08:02": 12}


def test_an_event_ahead_of_its_arrival_closes_no_window(shop: Harness) -> None:
    """Neither the year 9999 nor an hour: the other windows are as if it had not come, in a rebuild too."""
    soon = f"{datetime.now(UTC) + timedelta(hours=1):%Y-%m-%d %H:%M:%S}"
    shop.land("landing/ahead.csv", f"at,price\n9999-12-31 23:59:30,100\n{soon},200\n")
    assert sell(shop, ("00:10", 1), ("01:20", 2)) == {}
    assert sell(shop, ("02:30", 8)) == {"08:00": 1}
    assert sell(shop, ("00:59", 16), ("05:00", 4)) == {"08:00": 17, "08:01": 2, "08:02": 8}
    said = (
        "2 rows of bronze.sales with a time further ahead of arrival than max_ahead: at is up to"
        " 9999-12-31 23:59:30, and moves no watermark"
    )
    facts = shop.lake().facts(TableName.parse("gold.by_minute"))
    assert facts.base.record is not None
    assert facts.base.record.notes == (said,)
    assert said in facts_notes(facts)
    printed = subprocess.run(
        [sys.executable, "-c", "from lakesmith.cli.main import main; main()", "files", "bronze.sales"],
        cwd=shop.root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"gold.by_minute: {said}" in printed.stdout
    shop.must_verify("gold.by_minute")
    shop.must_run(full=["gold.by_minute"])
    assert sell(shop) == {"08:00": 17, "08:01": 2, "08:02": 8}
    # Who means such times says so: then one of them passes all others.
    shop.write({"tables/gold/by_minute.yaml": EMIT + "  max_ahead: 2 hours\n"})
    assert len(sell(shop)) == 4
    shop.must_verify("gold.by_minute")


LOCAL = {
    "tables/bronze/sales.yaml": """
        source: {files: {path: landing/, format: csv}}
        columns: {at: timestamp_ntz, price: int}
        """
}


def test_a_time_without_zone_is_not_ahead_because_of_its_zone(make_shop: MakeShop) -> None:
    shop = make_shop({**FILES, **LOCAL})
    east, ahead = (f"{datetime.now(UTC) + timedelta(hours=hours):%Y-%m-%d %H:%M:%S}" for hours in (13, 16))
    shop.land("landing/east.csv", f"at,price\n{east},1\n{ahead},2\n")
    assert sell(shop, ("00:10", 1)) == {"08:00": 1}
    record = shop.lake().facts(TableName.parse("gold.by_minute")).base.record
    assert record is not None
    assert record.ahead == {"bronze.sales.at": (1, ahead)}


def test_what_cannot_be_is_told_at_its_line(shop: Harness) -> None:
    shop.write(
        {
            "tables/gold/by_minute.yaml": "emit: {closed: window_end, watermark: bronze.sales.at, delay:"
            " soon}\n"
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

    def __init__(self, shop: Harness, patch: pytest.MonkeyPatch) -> None:
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
        self.shop.must_verify("gold.by_minute")
        rows = self.shop.rows("gold.by_minute", "window_start", "total")
        return {f"{start:%H:%M}": total for start, total in rows}


@pytest.mark.in_turn
def test_a_source_that_is_quiet_holds_no_window_open(
    make_shop: MakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = Sources(make_shop(TWO), monkeypatch)
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
    # It comes back, before what the web has passed: what is there stays, and is corrected, and it holds
    # again.
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


def test_a_window_far_ahead_that_was_closed_as_all_were_quiet_closes_no_other_later(
    make_shop: MakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = Sources(make_shop(TWO), monkeypatch)
    two.sell("till", "01:30", 1)
    two.sell("web", "02:30", 2)
    two.shop.land("landing/web/ahead.csv", "at,price\n9999-12-31 23:59:30,100\n")
    assert two.windows() == {}
    two.minutes_after("bronze.web", 60)
    assert two.windows() == {"08:01": 1, "08:02": 2, "23:59": 100}
    two.minutes_after("bronze.web", 1)
    two.sell("till", "05:30", 4)
    two.sell("web", "04:30", 8)
    two.sell("web", "02:40", 16)
    # What was published stays and is corrected; the windows at 08:04 and 08:05 wait for the watermark.
    assert two.windows() == {"08:01": 1, "08:02": 18, "23:59": 100}
    two.sell("web", "05:10", 32)
    assert two.windows() == {"08:01": 1, "08:02": 18, "08:04": 8, "23:59": 100}


def test_the_windows_of_the_guide(make_shop: MakeShop) -> None:
    """Its tables as they stand there, over events as the intake leaves them."""
    guide = (Path(__file__).parents[3] / "docs/live.md").read_text()
    source = re.search(r"```yaml\n# (tables/bronze/sales_raw.yaml)\n(.*?)```", guide, re.S)
    windows = guide.partition("\n## Windows\n")[2].partition("\n## ")[0]
    found = re.findall(r"```(?:sql|yaml)\n(?:--|#) (tables/\S+)\n(.*?)```", windows, re.S)
    assert source is not None
    assert len(found) == 3
    shop = make_shop(dict([source.groups(), *found]))
    sales = [
        ("10:15:10", 7, 1.5), ("10:15:50", 7, 2.25), ("10:15:59", 8, 1), ("10:16:00", 7, 9),
        ("10:18:00", 7, 9),
    ]  # fmt: skip
    events = [
        {"price": price, "sale_time": f"2026-11-23T{at}Z", "product_id": product}
        for at, product, price in sales
    ]
    segments = Segments(shop.root / ".lakesmith/intake/bronze.sales_raw/http")
    segments.open()
    segments.append([Frame("".join(json.dumps(each) + "\n" for each in events).encode())])
    segments.seal()
    segments.close()
    shop.must_run()
    columns = ("window_start", "product_id", "sales", "total")
    rows = shop.rows("gold.sales_aggregated", *columns)
    assert [(f"{start:%H:%M}", *rest) for start, *rest in rows] == [
        ("10:15", 7, 2, Decimal("3.75")),
        ("10:15", 8, 1, Decimal("1.00")),
    ]
