"""Does one thing that was confirmed on the web page: ``python -m lakesmith.api.doing``.

The page's own process starts no JVM and must not wait, so each action has a process of its own, which borrows
the Spark of ``up`` or a warm one. The standard input has one line of JSON: ``folder``, ``target``,
``action``, ``heads`` (the snapshots of the tables that the person saw) and what the action needs. A rollback
is made on these heads alone; what refreshes tables plans on what it finds once it holds the lake. The
standard output gets lines of JSON: ``now`` (what is done at present), ``line`` (what was done), and at the
end ``result`` or ``problems``. The process goes on if the page has ended.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Any, Final

from lakesmith.api.access import Host, unforeseen_in
from lakesmith.api.answering import lines_to_page
from lakesmith.api.frames import exact_text
from lakesmith.api.lakehouse import Lakehouse
from lakesmith.api.maintaining import MaintenanceEvent, Step
from lakesmith.api.results import require_same_heads
from lakesmith.catalog.history import account_in_words
from lakesmith.errors import LakesmithError, Problem
from lakesmith.execute.events import (
    EngineStarting,
    Event,
    ExportFailed,
    LockWaiting,
    PhaseStarted,
    TableCurrent,
    TableExported,
    TableFailed,
    TableHeld,
    TablePublished,
    TableRedone,
    TableStarted,
)
from lakesmith.execute.maintenance import Maintained, NotMaintained
from lakesmith.project.definitions import TableName

_WAIT_SECONDS: Final = 600.0
"""How long another run of the project is waited for."""
_DIFF_ROWS: Final = 200
_CELL: Final = 300
"""The most characters of a value that differs."""

Task = Mapping[str, Any]
Tell = Callable[[str, Any], None]


def in_words(event: Event) -> tuple[str, str] | None:
    """Returns ``now`` or ``line``, and an event in words; None for one that says nothing new."""
    match event:
        case LockWaiting(holder):
            return "now", f"waiting for {holder}"
        case EngineStarting():
            return "now", "starting Spark"
        case TableStarted(step):
            return "now", f"{step.name}: {step.strategy.value}, {step.reason}"
        case PhaseStarted(table, phase):
            return "now", f"{table}: {phase}"
    end = _end_in_words(event)
    return ("line", end) if end else None


def _end_in_words(event: Event) -> str:
    match event:
        case TablePublished(table, _, report):
            return f"{table}: batch {report.record.batch}: {account_in_words(report.record.account)}"
        case TableCurrent(table, reason):
            return f"{table}: nothing to do, {reason}"
        case TableHeld(table, because):
            return f"{table} was not tried, as {', '.join(map(str, because))} failed"
        case TableRedone(table, reason):
            return f"{table} is done again: {reason}"
        case TableExported(table, report):
            return f"{table}: exported to {report.place}"
        case TableFailed(table) | ExportFailed(table):
            return f"{table} failed"
    return ""


def _run(lake: Lakehouse, task: Task, tell: Tell) -> Any:
    return lake.run(*task["select"], wait=_WAIT_SECONDS, on_event=_listener(tell)).to_dict()


def _replay(lake: Lakehouse, task: Task, tell: Tell) -> Any:
    return lake.quarantine_replay(task["table"], wait=_WAIT_SECONDS, on_event=_listener(tell)).to_dict()


def _listener(tell: Tell) -> Callable[[Event], None]:
    def listen(event: Event) -> None:
        if (said := in_words(event)) is not None:
            tell(*said)

    return listen


def _maintain(lake: Lakehouse, task: Task, tell: Tell) -> Any:
    def listen(event: MaintenanceEvent) -> None:
        match event:
            case Step(text):
                tell("now", text)
            case Maintained(table, done=done):
                tell("line", f"{table}: {'; '.join(done.values()) or 'nothing to do'}")
            case NotMaintained(table, problems):
                tell("line", f"{table} was not maintained: {problems[0].what}")

    found = lake.maintain(task["table"], on_event=listen)
    if problems := [p for each in found.tables if isinstance(each, NotMaintained) for p in each.problems]:
        raise LakesmithError(problems)
    return found.to_dict()


def _tag(lake: Lakehouse, task: Task, tell: Tell) -> Any:
    found = lake.tag(task["name"], wait=_WAIT_SECONDS)
    tell("line", f"{len(found.tables):,} tables have the tag {found.name}")
    return found.to_dict()


def _roll_back(lake: Lakehouse, task: Task, tell: Tell) -> Any:
    change = lake.rollback(
        task["table"], task["to"], with_downstream=task["downstream"], hold=task["hold"], wait=_WAIT_SECONDS
    )
    require_same_heads(_heads(task), change.heads)
    done = change.apply()
    for move in done.prepared.rollback.moves:
        tell("line", f"{move.name} is at batch {move.record.batch} again")
    return done.to_dict()


def _release(lake: Lakehouse, task: Task, tell: Tell) -> Any:
    found = lake.release(task["table"], wait=_WAIT_SECONDS)
    tell("line", f"{found.table}: runs refresh it again")
    return found.to_dict()


def _diff(lake: Lakehouse, task: Task, _tell: Tell) -> Any:
    found = lake.diff(task["table"], task["begin"], task["end"], limit=_DIFF_ROWS)
    rows = [[_short(value) for value in row] for row in found.rows]
    return {"counts": asdict(found.counts), "names": found.columns, "rows": rows, "is_cut": found.is_cut}


def _short(value: Any) -> Any:
    if value is None:
        return None
    text = exact_text(value)
    return text if len(text) <= _CELL else f"{text[:_CELL]}…"


ACTIONS: Final[Mapping[str, Callable[[Lakehouse, Task, Tell], Any]]] = {
    "run": _run,
    "retry": _run,
    "maintain": _maintain,
    "replay": _replay,
    "tag": _tag,
    "rollback": _roll_back,
    "release": _release,
    "diff": _diff,
}


def _heads(task: Task) -> dict[TableName, int | None]:
    return {TableName(*name.split(".", 1)): head for name, head in task["heads"].items()}


def do(task: Task, tell: Tell) -> bool:
    """Does a task; returns whether it was done. ``tell`` gets the kind and the content of each line."""

    @contextmanager
    def busy(text: str) -> Iterator[None]:
        tell("now", text)
        yield

    def now(text: str) -> None:
        tell("now", text)

    host = Host(notice=now, busy=busy, reuses=True, keeps_warm=True, place="on the page")
    lake = Lakehouse(task["folder"], task["target"], host=host)
    try:
        with lake:
            tell("result", ACTIONS[task["action"]](lake, task, tell))
            return True
    except KeyboardInterrupt:
        problems = [Problem("LS278", "it was cancelled", hint="what was published until then stays")]
    except LakesmithError as error:
        problems = list(error.problems)
    except Exception as error:  # noqa: BLE001 - shown on the page, with its log
        problems = [unforeseen_in(lake.access, error)]
    tell("problems", [each.as_dict() for each in problems])
    return False


def main() -> int:
    """Does the task on the standard input. Returns the exit code."""
    say = lines_to_page()

    def tell(kind: str, content: Any) -> None:
        # It goes on if the page has ended.
        with suppress(OSError):
            say({kind: content})

    return 0 if do(json.loads(sys.stdin.readline()), tell) else 1


if __name__ == "__main__":
    sys.exit(main())
