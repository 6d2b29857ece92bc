"""How a run looks: its lines, its summary, on a terminal and elsewhere, and when nobody reads any more."""

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from shop import Shop

from lakesmith.catalog.record import Account, Record, Versions
from lakesmith.cli.render import run_summary
from lakesmith.cli.render.live import Output
from lakesmith.cli.render.run_view import JsonView, TextView
from lakesmith.errors import Problem
from lakesmith.execute.events import (
    BatchReport,
    EngineStarted,
    Event,
    PhaseStarted,
    RunFinished,
    RunStarted,
    TableCurrent,
    TableFailed,
    TableHeld,
    TablePublished,
    TableStarted,
)
from lakesmith.graph.graph import load
from lakesmith.plan.steps import Base, Strategy, TableStep
from lakesmith.project.definitions import TableName

BRONZE, SILVER = TableName("bronze", "orders"), TableName("silver", "customers")


@pytest.fixture
def step(shop: Shop) -> TableStep:
    project, _ = load(shop.root)
    return TableStep(project.table(SILVER), Strategy.UPSERT, "because", Base(), "fingerprint")


def published(step: TableStep, account: Account, *warnings: str) -> TablePublished:
    record = Record("attempt", None, 7, "upsert", 0, "fingerprint", account)
    return TablePublished(SILVER, step, BatchReport(record, 42, warnings), 1.25)


def text_of(*events: Event) -> list[str]:
    out = io.StringIO()
    view = TextView(Output(out))
    for event in events:
        view(event)
    return out.getvalue().splitlines()


def test_a_run_as_plain_lines(step: TableStep) -> None:
    account = Account(read=10, inserted=6, updated=1, superseded=1, quarantined=2, rows_after=1234)
    assert text_of(
        RunStarted((BRONZE, SILVER)),
        TableCurrent(BRONZE, "all 2 files were ingested already"),
        EngineStarted(2.0, ("the archive was not used",)),
        TableStarted(step),
        PhaseStarted(SILVER, "merging"),
        published(step, account, "column x was added"),
        RunFinished(5.0, 0),
    ) == [
        "bronze.orders: up to date, all 2 files were ingested already", "Spark is ready after 2.0 s",
        "  the archive was not used", "silver.customers: merging by key, because",
        "silver.customers: published batch 7 in 1.2 s", "  note: column x was added", "",
        "table             how     read  inserted  updated  superseded  quarantined  rows now   time",
        "silver.customers  upsert    10         6        1           1            2     1,234  1.2 s", "",
        "1 table published, 1 up to date in 5.0 s",
        "2 rows of silver.customers are in quarantine. See: lakesmith quarantine show silver.customers",
    ]  # fmt: skip


def test_a_run_that_fails() -> None:
    problem = Problem("LS601", "Spark failed: it did", hint="look at the log")
    lines = text_of(
        TableFailed(BRONZE, (problem,), 1, 2.0), TableHeld(SILVER, (BRONZE,)), RunFinished(3.0, 1)
    )
    assert lines == [
        "bronze.orders: FAILED", "  LS601 Spark failed: it did", "      to do: look at the log",
        "silver.customers: not tried, because bronze.orders failed", "",
        "0 tables published, 1 failed, 1 not tried in 3.0 s",
    ]  # fmt: skip


def test_every_strategy_has_words(step: TableStep) -> None:
    for strategy in Strategy:
        (line,) = text_of(TableStarted(TableStep(step.table, strategy, "because", Base(), "f")))
        assert line.startswith("silver.customers: ") and "None" not in line


def test_a_table_that_would_be_too_wide_becomes_sentences(
    step: TableStep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_summary, "terminal_width", lambda: 50)
    lines = text_of(published(step, Account(read=3, inserted=3, rows_after=3)), RunFinished(1.0, 0))
    assert "silver.customers (upsert, 1.2 s): read 3: 3 inserted; 3 rows now" in lines


def test_what_versions_did_is_said_beside_the_rows_they_made(step: TableStep) -> None:
    account = Account(read=9, inserted=3, updated=2, filtered=1, versions=Versions(4, 2), rows_after=12)
    assert text_of(published(step, account), RunFinished(1.0, 0))[2:5] == [
        "table             how     read  inserted  updated  filtered  rows now   time",
        "silver.customers  upsert     9         3        2         1        12  1.2 s",
        "silver.customers: of 9 versions read 4 opened a row, 2 continued one",
    ]
    again = Account(read=2, superseded=2, versions=Versions(), rows_after=12)
    assert "silver.customers: of" not in "\n".join(text_of(published(step, again), RunFinished(1.0, 0)))


def test_what_was_stopped_is_no_failure() -> None:
    out = io.StringIO()
    view = TextView(Output(out))
    view.stopping()
    view(TableFailed(BRONZE, (Problem("LS601", "Spark failed: job cancelled"),), 1, 2.0))
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("stopping: what is not published yet is left as it was")
    assert lines[1:] == ["bronze.orders: stopped; nothing of its batch was published"]


def test_json_is_an_object_a_line(step: TableStep) -> None:
    out = io.StringIO()
    view = JsonView(Output(out))
    view(TableStarted(step))
    view(published(step, Account(read=1, inserted=1)))
    started, done = map(json.loads, out.getvalue().splitlines())
    assert (started["event"], started["table"], started["strategy"]) == (
        "table_started", "silver.customers", "upsert",
    )  # fmt: skip
    assert (done["event"], done["record"]["account"]["inserted"]) == ("table_published", 1)


def test_a_terminal_has_a_live_line_and_colours(step: TableStep) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=40, color_system="standard")
    with console.status("…") as status:
        view = TextView(status=status)
        view(PhaseStarted(BRONZE, "reading [red] files"))
        view(PhaseStarted(SILVER, "merging"))
        view.progress("1,204 rows read")
        assert (
            str(status.status)
            == "bronze.orders: reading \\[red] files, silver.customers: merging, 1,204 rows read"
        )
        view(published(step, Account(inserted=1)))
        view(TableFailed(BRONZE, (Problem("LS601", "x" * 60),), 1))
    text = out.getvalue()
    assert "\x1b[32msilver.customers: published batch 7 in 1.2 s" in text
    assert "\x1b[1;31mbronze.orders: FAILED" in text
    # Lines are left whole: a terminal wraps them itself, and what is copied from it stays one line.
    assert "LS601 " + "x" * 60 in text


@pytest.fixture
def closed_pipe() -> Iterator[io.TextIOWrapper]:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as out:
        yield out


def test_a_run_goes_on_when_nobody_reads_any_more(closed_pipe: io.TextIOWrapper, tmp_path: Path) -> None:
    view = TextView(Output(closed_pipe))
    view(TableCurrent(BRONZE, "once"))
    assert view.output.closed
    view(TableCurrent(BRONZE, "twice"))
    assert len(view.events) == 2
