"""Activity as a person meets it, and phases on the graph while a command works."""

import time
from pathlib import Path
from typing import Any

import pytest

from lakesmith.catalog.record import Account, Record
from lakesmith.errors import Problem, RunError
from lakesmith.execute.events import BatchReport, PhaseStarted, TableFailed, TablePublished, TableStarted
from lakesmith.execute.opened import read_project
from lakesmith.journal.acting import Action, acting
from lakesmith.journal.lines import Journal
from lakesmith.plan.steps import Strategy, TableStep
from lakesmith.project.definitions import TableName
from made_lake import MadeLake
from page_server import PICTURES, Open, served

BRONZE, PART, GOLD = (
    TableName("bronze", "source_0"),
    TableName("silver", "part_0"),
    TableName("gold", "result_0"),
)


def _action(root: Path, kind: str, text: str, *tables: TableName, lasting: bool = False) -> Action:
    return Action(Journal(root / ".lakesmith"), kind, text, tables, lasting)


def _step(root: Path, name: TableName, strategy: Strategy) -> TableStep:
    opened = read_project(root, None)
    base = opened.lake.facts(name).base
    return TableStep(opened.graph.node(name).definition, strategy, "new rows", base, "")


def _published(root: Path, name: TableName, rows: int) -> TablePublished:
    account = Account(rows, rows - 2, updated=2, rows_before=100, rows_after=98 + rows)
    record = Record("a", None, 3, "append", 0, "", account)
    return TablePublished(name, _step(root, name, Strategy.APPEND), BatchReport(record, 1), 2.1)


@pytest.fixture
def busy(tmp_path: Path) -> Path:
    """A lake where much was done."""
    lake = MadeLake(tmp_path, 7)
    lake.publish()
    for kind, text, tables in (
        ("tag", "tag may-closing", ()),
        ("rollback", "rollback silver.part_0 --to may-closing", (PART,)),
        ("erase", "erase bronze.source_0 --where email=...", (BRONZE, PART)),
    ):
        with acting(_action(tmp_path, kind, text, *tables, lasting=True)):
            pass
    with acting(_action(tmp_path, "maintain", "maintain")) as action:
        action.say("silver.part_0: 40 small files were compacted into 2")
    with acting(_action(tmp_path, "run", "run")) as action:
        action(_published(tmp_path, BRONZE, 1200))
        action(_published(tmp_path, PART, 1198))
    problem = Problem("LS601", "gold.result_0: a value does not fit the column n: bigint")
    with pytest.raises(RunError), acting(_action(tmp_path, "run", "run gold.*")) as action:
        action(TableFailed(GOLD, (problem,), 1, 2.5))
        raise RunError(problem)
    return tmp_path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_activity(busy: Path, opened: Open, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with served(busy) as page, acting(_action(busy, "run", "run")) as action:
        action(TableStarted(_step(busy, PART, Strategy.UPSERT)))
        action(PhaseStarted(PART, "merging 1,198 rows"))
        time.sleep(0.2)
        shown = opened(page, "/activity", scheme, bypass_csp=True)
        shown.locator(".actions details").nth(1).locator("summary").click()
        found = axe.run(shown).response["violations"]
        assert [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in found] == []
        _picture(shown, f"activity-{scheme}")


def test_activity_fits_a_narrow_screen_and_is_filtered_without_scripts(busy: Path, opened: Open) -> None:
    with served(busy) as page:
        shown = opened(page, "/activity", width=390, java_script_enabled=False)
        assert shown.evaluate("document.documentElement.scrollWidth") <= 390
        _picture(shown, "activity-narrow")
        shown.click("nav[aria-label='Kinds of actions'] >> text=changes by people")
        assert shown.locator(".actions > li").count() == 3
        shown.fill("#table", "silver.part_0")
        shown.click("text=Filter")
        assert shown.locator(".actions > li").count() == 2 and "kind=changes" in shown.url


def test_phases_come_and_go_on_the_graph_and_in_activity_within_a_second(busy: Path, opened: Open) -> None:
    with served(busy) as page:
        lake, activity = opened(page), opened(page, "/activity")
        for each in (lake, activity):
            each.wait_for_selector("#live[data-state=live]")
        node = lake.locator("#node-silver\\.part_0 .doing")
        assert node.inner_html() == ""
        with acting(_action(busy, "run", "run silver.*")) as action:
            action(TableStarted(_step(busy, PART, Strategy.UPSERT)))
            _within_a_second(lambda: node.inner_html() == "upsert")
            action(PhaseStarted(PART, "merging 1,198 rows"))
            _within_a_second(lambda: node.inner_html() == "merging 1,198 rows")
            _within_a_second(lambda: "merging 1,198 rows" in activity.inner_text("[data-part=now]"))
            _picture(lake, "lake-running")
        _within_a_second(lambda: node.inner_html() == "")
        _within_a_second(lambda: "Nothing runs" in activity.inner_text("[data-part=now]"))
        assert "run silver.*" in activity.inner_text("[data-part=done]")


def _within_a_second(is_so: Any) -> None:
    # The half second until a phase is written, and one more for a machine that is busy.
    end = time.monotonic() + 2
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def _picture(page: Any, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png", full_page=True)
