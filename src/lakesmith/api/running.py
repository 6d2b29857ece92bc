"""Runs: the selected tables are refreshed in dependency order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from threading import Event as Flag
from typing import Any

from lakesmith.api.access import Access
from lakesmith.catalog.history import account_in_words, versions_in_words
from lakesmith.catalog.lock import ProjectLock
from lakesmith.catalog.record import Account
from lakesmith.execute.decide import Decider
from lakesmith.execute.engine import Engine, RunStopped
from lakesmith.execute.events import (
    BatchReport,
    EngineStarted,
    EngineStarting,
    Event,
    Listener,
    LockWaiting,
    PhaseStarted,
    RunFailed,
    RunFinished,
    RunResult,
    TableCurrent,
    TableFailed,
    TableHeld,
    TablePublished,
    TableRedone,
    TableStarted,
    result_of,
)
from lakesmith.execute.opened import Opened
from lakesmith.execute.run import Run
from lakesmith.plan.losses import WAITS
from lakesmith.plan.steps import Strategy, TableStep
from lakesmith.project.definitions import TableName

__all__ = [
    "Account", "BatchReport", "EngineStarted", "EngineStarting", "Event", "Listener", "LockWaiting",
    "PhaseStarted", "RunFailed", "RunFinished", "RunResult", "Strategy", "TableCurrent", "TableFailed",
    "TableHeld", "TableName", "TablePublished", "TableRedone", "TableStarted", "TableStep",
    "account_in_words", "event_to_dict", "run", "run_decided", "step_to_dict", "versions_in_words",
    "waiting_for_approval",
]  # fmt: skip


def run(
    access: Access,
    select: Sequence[str],
    full_refresh: Sequence[str],
    approve: Sequence[str],
    wait: float,
    on_event: Listener | None,
) -> RunResult:
    """Refreshes the selected tables; see ``Lakehouse.run``."""
    opened = access.opened()
    names, decider = opened.to_run(select, full_refresh, access.is_warm, approve)
    return run_decided(access, opened, (names, decider), ("run", wait), on_event)


def run_decided(
    access: Access,
    opened: Opened,
    what: tuple[Sequence[TableName], Decider],
    how: tuple[str, float],
    on_event: Listener | None,
) -> RunResult:
    """Does what a decider decides on tables.

    Args:
        what: the tables, and the decider.
        how: what the lock's holder is called, and the seconds to wait for another holder.
        on_event: receives every event.

    Raises RunFailed if a table failed.
    """
    names, decider = what
    events: list[Event] = []

    def tell(event: Event) -> None:
        events.append(event)
        if on_event is not None:
            on_event(event)

    def engine(lock: ProjectLock, little: bool) -> Engine:
        if work.stop.is_set():
            raise RunStopped([])
        return access.engine(opened, lock, tell, little)

    work = Run(decider, names, engine, tell, command=how[0], wait_seconds=how[1])
    access.do(work.run, partial(_give_up, work))
    result = result_of(events)
    if result.exit_code:
        raise RunFailed(result)
    return result


def waiting_for_approval(result: RunResult) -> tuple[str, ...]:
    """The tables of a run that wait for approval to lose something (``LS524``)."""
    failed = result.failed.items()
    return tuple(table for table, problems in failed if any(each.code == WAITS for each in problems))


def _give_up(run: Run, ended: Flag) -> None:
    run.stop.set()
    from lakesmith.spark.open import keep_cancelling

    keep_cancelling(lambda: run.engine.cancel() if run.engine else None, ended)


def event_to_dict(event: Event) -> dict[str, Any]:
    """An event as JSON data, as ``run --json`` prints it: ``event`` is its kind in snake case."""
    return {"event": _kind(event), **_facts(event)}


def _kind(event: Event) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()


def _facts(event: Event) -> dict[str, Any]:
    match event:
        case TableStarted(step):
            return step_to_dict(step)
        case TablePublished(table, _, report, seconds):
            return {
                "table": str(table),
                "snapshot": report.snapshot,
                "seconds": round(seconds, 3),
                "warnings": list(report.warnings),
                "record": asdict(report.record),
            }
        case TableFailed(table, problems, exit_code, seconds):
            found = [problem.as_dict() for problem in problems]
            return {
                "table": str(table),
                "problems": found,
                "exit_code": exit_code,
                "seconds": round(seconds, 3),
            }
        case _:
            return {key: _plain(getattr(event, key)) for key in event.__slots__}


def _plain(value: object) -> Any:
    """Names as text, tuples as lists; everything else as it is."""
    if isinstance(value, TableName):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return round(value, 3) if isinstance(value, float) else value


def step_to_dict(step: TableStep) -> dict[str, Any]:
    """A step as JSON data: what ``plan --json`` and ``run --json`` both show."""
    return {
        "table": str(step.name),
        "strategy": step.strategy.value,
        "reason": step.reason,
        "inputs": [
            {"table": str(item.table), "from": item.start, "to": item.end, "rows": item.rows}
            for item in step.inputs
        ],
        "files": [file.path for intake in step.intakes for file in intake.files],
        "notes": list(step.notes),
    }
