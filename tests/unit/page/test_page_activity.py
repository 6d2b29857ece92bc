"""The page of activity, and what is being done on the other pages, of a journal that actions write."""

import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from http.client import HTTPConnection
from pathlib import Path

import pytest

from lakesmith.errors import Problem, RunError
from lakesmith.execute.events import PhaseStarted, TableFailed
from lakesmith.journal.acting import Action, acting
from lakesmith.journal.lines import Journal
from lakesmith.project.definitions import TableName
from lakesmith.serve.state import TableState, this_process
from made_lake import HOSTILE, MadeLake
from page_server import Served, served

pytestmark = pytest.mark.processes
PART = TableName("silver", "part_0")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Served]:
    """The page of three tables."""
    lake = MadeLake(tmp_path, 3)
    lake.publish()
    with served(tmp_path) as found:
        yield found


def _said(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def _action(page: Served, kind: str, text: str, *tables: str, lasting: bool = False) -> Action:
    return Action(Journal(page.ui._lake.folder / ".lakesmith"), kind, text, tables, lasting)


def test_an_empty_lake_says_what_to_do(small: Served) -> None:
    said = _said(small.get("/activity").text)
    assert (
        "Nothing runs." in said
        and "Nothing was done yet. → lakesmith run" in said
        and "No tag is set" in said
    )


def test_what_runs_now_is_shown_with_its_phase_on_each_page(small: Served) -> None:
    with acting(_action(small, "run", "run silver.*")) as action:
        action(PhaseStarted(PART, "merging 3 rows"))
        time.sleep(0.1)
        for path in ("/", "/t/silver.part_0", "/activity"):
            assert "merging 3 rows" in small.get(path).text, path
        assert f"process {os.getpid()}" in _said(small.get("/activity").text)
    for path in ("/", "/t/silver.part_0", "/activity"):
        assert "merging 3 rows" not in small.get(path).text, path


def test_the_stream_tells_phases_and_activity_within_a_second(small: Served) -> None:
    connection = HTTPConnection("127.0.0.1", small.ui.port, timeout=5)
    connection.request("GET", "/live", headers={"Authorization": f"Bearer {small.token}"})
    stream = connection.getresponse()

    def until(wanted: str) -> float:
        began, event = time.monotonic(), ""
        while wanted not in event:
            event = "".join(iter(lambda: stream.readline().decode().strip(" "), "\n"))
        return time.monotonic() - began

    until("event: state")
    with acting(_action(small, "run", "run")) as action:
        assert until("event: activity") < 1
        action(PhaseStarted(PART, "merging"))
        assert until('data: {"silver.part_0": "merging"}') < 1
    assert until("data: {}") < 1
    connection.close()


def test_actions_are_filtered_by_table_and_kind_and_paged(small: Served) -> None:
    for number in range(70):
        with acting(
            _action(small, "run", f"run of number {number}", "silver.part_0" if number % 2 else "gold.x")
        ):
            pass
    with acting(_action(small, "tag", "tag may-closing", lasting=True)):
        pass
    first, second = small.get("/activity"), small.get("/activity?page=2")
    assert "71 actions" in _said(first.text) and "tag may-closing" in first.text
    assert "number 69" in first.text and "number 30" not in first.text and "number 30" in second.text
    mine = small.get("/activity?table=silver.part_0&kind=run").text
    assert "number 69" in mine and "number 68" not in mine and "tag may-closing" not in mine
    changes = small.get("/activity?kind=changes").text
    assert "tag may-closing" in changes and "number 69" not in changes
    for odd in (
        "?page=x",
        "?page=-1",
        "?page=99999999999999999999",
        "?page=%C2%B2",
        "?kind=%00",
        "?table=%ff%3Cscript",
    ):
        found = small.get(f"/activity{odd}")
        assert found.status == 200 and found.text.count("<script") == 1


def test_a_failure_shows_its_code_and_hostile_texts_are_text(small: Served) -> None:
    problem = Problem("LS601", f"it broke {HOSTILE}")
    with pytest.raises(RunError), acting(_action(small, "run", f"run {HOSTILE}")) as action:
        action(TableFailed(PART, (problem,), 1, 2.5))
        raise RunError(problem)
    text = small.get("/activity").text
    assert HOSTILE not in text and "<img" not in text
    assert "failed: it broke" in _said(text) and "LS601" in text


def test_up_shows_schedules_retries_and_intake(small: Served) -> None:
    state = replace(
        this_process("http://127.0.0.1:8080"),
        doing="waiting",
        tables={
            "gold.result_0": TableState("0 6 * * *", "2026-11-26T06:00:00.000+00:00"),
            "silver.part_0": TableState(
                failures=3,
                problem={"what": "no columns", "code": "LS601"},
                next_try="2026-11-25T20:00:00.000+00:00",
            ),
        },
    )
    path = small.ui._lake.folder / ".lakesmith/up.json"
    path.write_text(json.dumps(asdict(state)))
    said = _said(small.get("/activity").text)
    assert "lakesmith up: waiting" in said and "Events are not taken at http://127.0.0.1:8080" in said
    assert "gold.result_0 0 6 * * * 2026-11-26 06:00:00 UTC" in said
    assert "silver.part_0 3 2026-11-25 20:00:00 UTC no columns LS601" in said
    assert '<a class="node failing" id="node-silver.part_0"' in small.get("/").text
    assert "failed 3 times in a row, next try" in _said(small.get("/t/silver.part_0").text)


def test_a_service_that_writes_its_state_each_second_is_no_change_of_the_lake(small: Served) -> None:
    path = small.ui._lake.folder / ".lakesmith/up.json"
    found = set()
    end = time.time() // 10 * 10 + 10
    if end - time.time() < 3:
        time.sleep(end - time.time() + 0.1)
    begun = this_process()
    for second in range(3):
        state = replace(begun, written=f"at {second}", doing=f"refreshing {second}")
        path.write_text(json.dumps(asdict(state)))
        text = small.get("/").text
        assert f"lakesmith up: refreshing {second}" in _said(text)
        found.add(re.search(r'data-version="(\w+)"', text).group(1))  # type: ignore[union-attr]
    assert len(found) == 1
