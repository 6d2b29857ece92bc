"""Runs: the selected tables are refreshed in dependency order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
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
from lakesmith.execute.forecast import Forecast, forecast
from lakesmith.execute.opened import Opened
from lakesmith.execute.run import Run
from lakesmith.plan.changes import ChangeCost
from lakesmith.plan.cost import UNKNOWN, Amount, Cost
from lakesmith.plan.losses import WAITS
from lakesmith.plan.outlook import is_rebuilt
from lakesmith.plan.steps import Decision, Refused, Strategy, TableStep, UpToDate, Waiting
from lakesmith.project.definitions import TableName

__all__ = [
    "UNKNOWN",
    "Account",
    "Amount",
    "BatchReport",
    "ChangeCost",
    "Cost",
    "EngineStarted",
    "EngineStarting",
    "Event",
    "Forecast",
    "Listener",
    "LockWaiting",
    "PhaseStarted",
    "Plan",
    "Refused",
    "RunFailed",
    "RunFinished",
    "RunResult",
    "Strategy",
    "TableCurrent",
    "TableFailed",
    "TableHeld",
    "TableName",
    "TablePublished",
    "TableRedone",
    "TableStarted",
    "TableStep",
    "UpToDate",
    "Waiting",
    "account_in_words",
    "event_to_dict",
    "is_rebuilt",
    "plan",
    "run",
    "run_decided",
    "step_to_dict",
    "versions_in_words",
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


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run would do with each selected table."""

    tables: tuple[Forecast, ...]

    @property
    def would_fail(self) -> bool:
        """Whether a table is refused, or waits for approval."""
        return any(map(_would_fail, self.tables))

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON data."""
        return {"tables": [forecast_to_dict(item) for item in self.tables]}


def plan(access: Access, select: Sequence[str]) -> Plan:
    """Plans the selected tables; see ``Lakehouse.plan``."""
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
