"""Events as JSON data: the same facts as the text, named as the fields are."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from lakesmith.execute.events import Event, TableFailed, TablePublished, TableStarted
from lakesmith.plan.steps import TableStep
from lakesmith.project.definitions import TableName


def event_as_dict(event: Event) -> dict[str, Any]:
    """An event as JSON data: ``event`` is its kind in snake case."""
    return {"event": _kind(event), **_facts(event)}


def _kind(event: Event) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()


def _facts(event: Event) -> dict[str, Any]:
    match event:
        case TableStarted(step):
            return step_as_dict(step)
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
            return {key: plain(getattr(event, key)) for key in event.__slots__}


def plain(value: object) -> Any:
    """Names as text, tuples as lists; everything else as it is."""
    if isinstance(value, TableName):
        return str(value)
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return round(value, 3) if isinstance(value, float) else value


def step_as_dict(step: TableStep) -> dict[str, Any]:
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
