"""``verify`` where there is nothing to compute: no JVM is started, and each table's reason is said."""

import io
import sys

import pytest
from rich.console import Console
from shop import Cli, Shop

from lakesmith.cli.commands.verify import VerifyView, open_view, report
from lakesmith.cli.render.live import Output
from lakesmith.errors import Problem, RunError
from lakesmith.execute.events import EngineStarting
from lakesmith.execute.verify import Verdict, Verification, VerifyStarted, as_dict, failed
from lakesmith.project.definitions import TableName

SILVER = TableName("silver", "customers")


def test_nothing_to_verify(cli: Cli, shop: Shop) -> None:
    said = cli("verify", "--project", shop.root)
    assert said.code == 0
    assert said.out.splitlines() == [
        "bronze.orders                 skipped  its rows come from files, which are taken once",
        "silver.customers              skipped  it has not been built yet",
        "gold.customers_by_city_month  skipped  it has not been built yet", "", "nothing to verify",
    ]  # fmt: skip


def test_what_failed_is_told_below_its_table_and_last() -> None:
    problem = Problem("LS604", "a file is gone", found="part-1.parquet")
    gone = failed(TableName("silver", "log"), RunError(problem))
    differs = Verification(SILVER, Verdict.DIFFERS, 3, 1, 0)
    assert list(report((gone, differs))) == [
        "silver.log        failed   it could not be computed", "  LS604 a file is gone",
        "      found: part-1.parquet", "silver.customers  differs  1 row missing, 0 too many", "",
        "not known, because computing it failed: silver.log",
        "not as their inputs make them: silver.customers; run --full-refresh rebuilds them",
    ]  # fmt: skip
    assert as_dict(gone)["problems"] == [problem.as_dict()]


def test_as_data(cli: Cli, shop: Shop) -> None:
    said = cli("verify", "silver.*", "--project", shop.root, "--json")
    assert said.code == 0
    (table,) = said.data["tables"]
    assert (table["table"], table["verdict"], table["examples"]) == ("silver.customers", "skipped", [])
    assert table["why"] == "it has not been built yet"


def test_a_table_that_is_not_there(cli: Cli, shop: Shop) -> None:
    assert cli("verify", "silver.nothing", "--project", shop.root).code == 2


def test_progress_is_a_line_for_each_table_where_there_is_no_terminal() -> None:
    out = io.StringIO()
    view = VerifyView(Output(out))
    view(EngineStarting())
    view.progress("nothing runs yet")
    view(VerifyStarted(SILVER, 2, 3))
    view.progress("10 rows read")
    assert out.getvalue() == "silver.customers: computing it again, 2 of 3\n"


def test_progress_is_the_live_line_of_a_terminal() -> None:
    with Console(file=io.StringIO(), force_terminal=True).status("") as status:
        view = VerifyView(status=status)
        view(EngineStarting())
        lines = [str(status.status)]
        view.progress("not shown before a table is begun")
        view(VerifyStarted(SILVER, 1, 3))
        lines.append(str(status.status))
        view.progress("10 rows read, task 1 of 4")
        lines.append(str(status.status))
        view.progress("")
        lines.append(str(status.status))
    table = "silver.customers: computing it again, 1 of 3"
    assert lines == ["starting Spark", table, f"{table}, 10 rows read, task 1 of 4", table]


def test_what_the_progress_is_shown_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_view(as_json=True) as view:
        assert (view.output, view.status) == (None, None)
    with open_view(as_json=False) as view:
        assert view.output is not None and view.status is None
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with open_view(as_json=False) as view:
        assert view.output is None and view.status is not None
