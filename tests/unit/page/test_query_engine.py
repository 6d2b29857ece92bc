"""One query at a time, a time limit, cancelling, and what becomes of a process that hangs or dies.

The process is a stand-in that answers the same lines: what Spark does is tested in tests/spark.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lakesmith.errors import LakesmithError
from lakesmith.page.query import engine as module
from lakesmith.page.query.engine import Engine

pytestmark = pytest.mark.processes

CHILD = """
import json, sys, threading, time
print_line = lambda **answer: print(json.dumps(answer), flush=True)
sys.stdin.readline()
for line in sys.stdin:
    task = json.loads(line)
    if "cancel" in task:
        print_line(id=task["cancel"], problems=[dict(code="LS601", what="cancelled", file=None, line=None,
            expected=None, found=None, hint=None)])
        continue
    number, kind = task["id"], task["sql"]
    if kind != "starts":
        print_line(id=number, running=True)
    if kind == "answer":
        print_line(id=number, columns=["a"], rows=[[1]])
    elif kind == "last":
        print_line(id=number, columns=["a"], rows=[[2]])
        time.sleep(0.5)
        print_line(ends=True)
        time.sleep(0.5)
        sys.exit(0)
    elif kind == "die":
        sys.exit(3)
    elif kind == "deaf":
        time.sleep(60)
"""


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Engine]:
    monkeypatch.setattr(module, "_COMMAND", (sys.executable, "-c", CHILD))
    monkeypatch.setattr(module, "_CANCEL_SECONDS", 0.5)
    found = Engine(tmp_path, None, seconds=lambda: 30.0)
    yield found
    found.close()


def _outcome(call: Callable[[], Any]) -> str:
    try:
        return str(call())
    except LakesmithError as error:
        return error.problems[0].code


def _in_thread(engine: Engine, number: str, sql: str) -> tuple[threading.Thread, list[str]]:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(_outcome(lambda: engine.ask(number, sql, "", 10))))
    thread.start()
    while engine.running is None and not found:
        time.sleep(0.01)
    return thread, found


def test_answers_come_from_one_process(engine: Engine) -> None:
    assert engine.ask("1", "answer", "", 10)["rows"] == [[1]]
    first = engine._child
    assert engine.ask("2", "answer", "", 10)["id"] == "2" and engine._child is first
    assert engine.running is None


@pytest.mark.parametrize("pause", [0.0, 0.7])
def test_a_query_that_comes_as_the_process_ends_is_answered_by_the_next_one(
    engine: Engine, pause: float
) -> None:
    assert engine.ask("1", "last", "", 10)["rows"] == [[2]]
    time.sleep(pause)
    assert engine.ask("2", "answer", "", 10)["rows"] == [[1]]
    assert _outcome(lambda: engine.ask("3", "die", "", 10)) == "LS671"


def test_a_second_query_is_refused_while_one_runs(engine: Engine) -> None:
    thread, found = _in_thread(engine, "1", "long")
    assert _outcome(lambda: engine.ask("2", "answer", "", 10)) == "LS246"
    assert not engine.cancel("2") and engine.cancel("1")
    thread.join(10)
    assert found == ["LS248"]
    assert engine.ask("3", "answer", "", 10)["rows"] == [[1]]


@pytest.mark.parametrize("sql", ["long", "deaf"])
def test_a_query_ends_at_the_time_limit(engine: Engine, sql: str) -> None:
    engine.seconds = lambda: 0.3
    begun = time.monotonic()
    assert _outcome(lambda: engine.ask("1", sql, "", 10)) == "LS247"
    assert time.monotonic() - begun < 5
    assert engine.ask("2", "answer", "", 10)["rows"] == [[1]]


@pytest.mark.parametrize("sql", ["starts", "deaf"])
def test_a_query_that_does_not_hear_is_killed(engine: Engine, sql: str) -> None:
    thread, found = _in_thread(engine, "1", sql)
    engine.cancel("1")
    thread.join(10)
    assert found == ["LS248"]
    assert engine.ask("2", "answer", "", 10)["rows"] == [[1]]


def test_a_process_that_dies_is_said_and_replaced(engine: Engine) -> None:
    assert _outcome(lambda: engine.ask("1", "die", "", 10)) == "LS671"
    assert engine.ask("2", "answer", "", 10)["rows"] == [[1]]


def test_the_end_of_the_page_ends_the_query_and_its_process(engine: Engine) -> None:
    thread, found = _in_thread(engine, "1", "deaf")
    while engine._child is None:
        time.sleep(0.01)
    process = engine._child.process
    engine.close()
    thread.join(10)
    assert found in (["LS248"], ["LS671"]) and process.poll() is not None
    assert _outcome(lambda: engine.ask("2", "answer", "", 10)) == "LS248"
