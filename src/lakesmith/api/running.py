"""Runs: the selected tables are refreshed in dependency order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from threading import Event as Flag
from typing import Any

from lakesmith.api.access import Access
from lakesmith.catalog.lock import ProjectLock
from lakesmith.errors import LakesmithError
from lakesmith.execute.decide import Decider
from lakesmith.execute.engine import Engine, RunStopped
from lakesmith.execute.events import (
    AlertFailed,
    Event,
    ExportFailed,
    Listener,
    RunFailed,
    RunResult,
    TableExported,
    TableFailed,
    TablePublished,
    TableStarted,
    result_of,
)
from lakesmith.execute.forecast import Forecast, forecast
from lakesmith.execute.opened import Opened
from lakesmith.execute.run import Run
from lakesmith.plan.cost import DataSize
from lakesmith.plan.losses import WAITS
from lakesmith.plan.steps import Decision, Refused, TableStep, UpToDate, Waiting
from lakesmith.project.definitions import TableName


def run(
    access: Access,
    select: Sequence[str],
    full_refresh: Sequence[str],
    approve: Sequence[str],
    wait: float,
    on_event: Listener | None,
) -> RunResult:
    opened = access.opened()
    names, decider = opened.to_run(select, full_refresh, access.is_warm, approve)
    lossy = [f"--{option} {each}" for option, named in (("full-refresh", full_refresh), ("approve", approve))
             for each in named]  # fmt: skip
    acting = access.noting(opened.project, "run", " ".join(("run", *select, *lossy)), lasting=bool(lossy))
    with acting as action:
        return run_decided(access, opened, (names, decider), ("run", wait), both(action, on_event))


def both(action: Listener, on_event: Listener | None) -> Listener:
    """Returns a listener that passes events to the journal and to the caller's listener, if any."""

    def tell(event: Event) -> None:
        action(event)
        if on_event is not None:
            on_event(event)

    return tell


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

    def engine(lock: ProjectLock, size: DataSize) -> Engine:
        if work.stop.is_set():
            raise RunStopped([])
        return access.engine(opened, lock, tell, size)

    work = Run(decider, names, engine, tell, command=how[0], wait_seconds=how[1], stays=access.stays)
    is_run = how[0] == "run"
    try:
        access.do(work.run, partial(_give_up, work))
    except LakesmithError as error:
        if is_run:
            _alert(opened, names, error, tell)
        raise
    result = result_of(events)
    if is_run:
        _alert(opened, names, result, tell)
    if result.exit_code:
        raise RunFailed(result)
    return result


def _alert(
    opened: Opened, names: Sequence[TableName], outcome: RunResult | LakesmithError, tell: Listener
) -> None:
    if opened.project.alerts is not None:
        from lakesmith.alerts.alerting import after_run

        after_run(opened.lake, names, outcome, tell)


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
        case TableExported(table, report, seconds):
            return {"table": str(table), **asdict(report), "seconds": round(seconds, 3)}
        case ExportFailed(table, problems, exit_code):
            found = [problem.as_dict() for problem in problems]
            return {"table": str(table), "problems": found, "exit_code": exit_code}
        case AlertFailed(channel, problem):
            return {"channel": channel, "problem": problem.as_dict()}
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


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run would do with each selected table."""

    tables: tuple[Forecast, ...]

    @property
    def would_fail(self) -> bool:
        """Whether a table is refused, or waits for approval."""
        return any(map(_would_fail, self.tables))

    def to_dict(self) -> dict[str, Any]:
        return {"tables": [forecast_to_dict(item) for item in self.tables]}


def plan(access: Access, select: Sequence[str]) -> Plan:
    opened = access.opened()
    return Plan(forecast(opened.decider(warm=access.is_warm), opened.names(select)))


def _would_fail(item: Forecast) -> bool:
    decision = item.decision
    return isinstance(decision, Refused) or (isinstance(decision, TableStep) and bool(decision.loses))


def forecast_to_dict(item: Forecast) -> dict[str, Any]:
    data = _decision_to_dict(item.decision)
    if item.cost is not None:
        data["cost"] = asdict(item.cost)
    if item.outlook is not None:
        data["expected"] = asdict(item.outlook)
    if item.changes:
        data["changes"] = [asdict(change) for change in item.changes]
    if item.export:
        data["export_behind"] = item.export
    if item.not_read:
        data["notes"] = [*data["notes"], *item.not_read]
    return data


def _decision_to_dict(decision: Decision) -> dict[str, Any]:
    match decision:
        case TableStep():
            return {"decision": "to_approve" if decision.loses else "step", **step_to_dict(decision)}
        case UpToDate(_, reason, notes, held):
            kind = "held" if held else "up_to_date"
            facts: dict[str, Any] = {"decision": kind, "reason": reason, "notes": list(notes)}
        case Waiting(_, upstream):
            facts = {"decision": "follows", "upstream": [str(name) for name in upstream]}
        case Refused(_, problem):
            facts = {"decision": "refused", "problem": problem.as_dict()}
    return {"table": str(decision.name), **facts}
