"""The front door for Python: plan, run, read, on real tables."""

from contextlib import suppress
from pathlib import Path

import pytest
from harness import Harness

import lakesmith
from lakesmith import limits
from lakesmith.errors import LockedError, UsageError
from lakesmith.execute.status import Standing
from lakesmith.plan.steps import Strategy, TableStep
from lakesmith.spark import open as spark_open
from lakesmith.spark.start.session import SessionHandle

FILES = {
    "tables/bronze/orders.yaml": """
        source:
          files: {path: landing/orders/, pattern: '*.csv', format: csv}
        columns: {id: bigint, city: string}
        """,
    "tables/silver/cities.sql": "SELECT city, count(*) AS orders FROM bronze.orders GROUP BY city",
}


@pytest.fixture
def shop(tmp_path: Path, session: SessionHandle, monkeypatch: pytest.MonkeyPatch) -> lakesmith.Lakehouse:
    """A project with one file landed, on the session that all tests share."""
    project = Harness(tmp_path / "shop", session, FILES)
    project.land("landing/orders/1.csv", "id,city\n1,Oslo\n2,Rome\n")
    monkeypatch.setattr(spark_open, "open_session", lambda *_, **__: project.handle)
    return lakesmith.open(tmp_path / "shop")


def land(shop: lakesmith.Lakehouse, name: str, text: str) -> None:
    (shop.folder / "landing/orders" / name).write_text(text)


def open_files(process: int, folder: Path) -> int:
    """How many files of a folder a process holds open."""
    found = 0
    for link in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            found += link.readlink().is_relative_to(folder)
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="Linux alone tells what a process has open")
def test_runs_leave_no_files_open_in_the_jvm(shop: lakesmith.Lakehouse, session: SessionHandle) -> None:
    shop.run()
    before = open_files(session.jvm_pid, shop.folder)
    for number in range(2, 5):
        land(shop, f"{number}.csv", f"id,city\n{number},Bonn\n")
        shop.run()
    assert before > 0, "the session itself has the catalog open"
    assert open_files(session.jvm_pid, shop.folder) == before


def test_a_run_brings_tables_up_to_date(shop: lakesmith.Lakehouse) -> None:
    (first, second) = shop.plan().tables
    assert isinstance(first.decision, TableStep) and not isinstance(second.decision, TableStep)
    told: list[lakesmith.events.Event] = []
    result = shop.run(on_event=told.append)
    assert list(result.published) == ["bronze.orders", "silver.cities"]
    assert result.published["bronze.orders"].record.account.inserted == 2
    assert (result.failed, result.held, result.exit_code) == ({}, (), 0)
    assert isinstance(told[0], lakesmith.events.RunStarted)
    assert sum(isinstance(event, lakesmith.events.EngineStarted) for event in told) == 1
    again = shop.run()
    assert (list(again.current), again.published) == (["bronze.orders", "silver.cities"], {})
    assert [status.standing for status in shop.status().tables] == [Standing.UP_TO_DATE] * 2


def test_once_it_is_warm_small_inputs_are_looked_at_as_well(
    shop: lakesmith.Lakehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command of its own computes the table in full; what ``plan`` says is what ``run`` does."""
    monkeypatch.setattr(limits, "COMPUTED_WHOLE_WARM_BELOW_BYTES", 0)
    monkeypatch.setattr(limits, "COMPUTED_WHOLE_ABOVE_CHANGED_PART", float("inf"))
    shop.run()
    land(shop, "2.csv", "id,city\n3,Oslo\n")
    shop.run("bronze.*")
    kinds = {}
    for name, each in (("cold", lakesmith.open(shop.folder)), ("warm", shop)):
        (forecast,) = each.plan("silver.cities").tables
        assert isinstance(forecast.decision, TableStep)
        kinds[name] = forecast.decision.strategy
    assert kinds == {"cold": Strategy.FULL, "warm": Strategy.KEYS}
    assert shop.run().published["silver.cities"].record.kind == "sums"
    assert sorted(map(tuple, shop.table("silver.cities").spark().collect())) == [("Oslo", 2), ("Rome", 1)]


def test_rows_are_read_as_frames_now_and_as_they_were(shop: lakesmith.Lakehouse) -> None:
    before = shop.run().published["silver.cities"].snapshot
    land(shop, "2.csv", "id,city\n3,Oslo\n")
    shop.run()
    table = shop.table("silver.cities")
    assert sorted(map(tuple, table.spark().collect())) == [("Oslo", 2), ("Rome", 1)]
    assert table.arrow().sort_by("city").to_pydict() == {"city": ["Oslo", "Rome"], "orders": [2, 1]}
    then = shop.table("silver.cities", as_of=str(before)).arrow()
    assert then.sort_by("city").to_pydict()["orders"] == [1, 1]
    oslo = shop.query("SELECT orders FROM silver.cities WHERE city = 'Oslo'")
    assert oslo.arrow().to_pydict() == {"orders": [2]}
    assert [row.id for row in shop.session().sql("SELECT id FROM bronze.orders ORDER BY id").collect()] == [
        1,
        2,
        3,
    ]


def test_what_failed_is_raised_with_what_did_not(shop: lakesmith.Lakehouse) -> None:
    (shop.folder / "tables/silver/cities.sql").write_text("SELECT city, 1 / 0 AS n FROM bronze.orders")
    with pytest.raises(lakesmith.RunFailed) as raised:
        shop.run()
    assert list(raised.value.result.published) == ["bronze.orders"]
    (problem,) = raised.value.problems
    assert raised.value.result.failed == {"silver.cities": (problem,)}
    assert "divided by zero" in problem.what.lower() or "DIVIDE_BY_ZERO" in problem.what


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT * FROM bronze.nothing", "LS240"),
        ("DELETE FROM bronze.orders", "LS241"),
        ("SELECT no_such_column FROM bronze.orders", "LS244"),
    ],
)
def test_queries_that_are_not_right(shop: lakesmith.Lakehouse, sql: str, code: str) -> None:
    shop.run("bronze.*")
    with pytest.raises(UsageError) as raised:
        shop.query(sql).arrow()
    assert raised.value.problems[0].code == code


def test_a_table_is_rebuilt_only_where_it_can_be(shop: lakesmith.Lakehouse) -> None:
    shop.run()
    assert list(shop.run(full_refresh=["silver.cities"]).published) == ["silver.cities"]
    with pytest.raises(UsageError, match="LS220"):
        shop.run(full_refresh=["bronze.orders"])


def test_two_runs_at_once_are_refused(shop: lakesmith.Lakehouse) -> None:
    def run_inside(event: lakesmith.events.Event) -> None:
        if isinstance(event, lakesmith.events.TableStarted):
            with pytest.raises(LockedError):
                shop.run()

    assert shop.run(on_event=run_inside).exit_code == 0
