"""``lakesmith plan``: what a run would do, table by table, without a JVM."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lakesmith.cli.opening import open_project
from lakesmith.cli.run_json import step_as_dict
from lakesmith.cli.text import columns_aligned, count
from lakesmith.execute.decide import has_work
from lakesmith.plan.steps import Decision, Refused, TableStep, UpToDate, Waiting


def plan_command(root: Path, target: str | None, patterns: tuple[str, ...], as_json: bool) -> int:
    """Prints the plan; 0, or 1 when a table is refused."""
    opened = open_project(root, target)
    decisions = opened.decider().decide_all(opened.names(patterns))
    if as_json:
        print(json.dumps({"tables": [decision_as_dict(decision) for decision in decisions]}, indent=2))
    else:
        print("\n".join(plan_lines(decisions)))
    return 1 if any(isinstance(decision, Refused) for decision in decisions) else 0


def plan_lines(decisions: Sequence[Decision]) -> list[str]:
    """The plan as lines: each table, what would be done to it and why."""
    lines = columns_aligned([(str(item.name), *_verdict(item)) for item in decisions])
    notes = [
        f"  note: {item.name}: {note}"
        for item in decisions
        if isinstance(item, TableStep | UpToDate)
        for note in item.notes
    ]
    problems = [
        f"  {line}" for item in decisions if isinstance(item, Refused) for line in item.problem.lines()
    ]
    closing = "" if has_work(decisions) or problems else "nothing to do"
    return [*lines, *notes, *problems, *([closing] if closing else [])]


def _verdict(decision: Decision) -> tuple[str, str]:
    match decision:
        case TableStep():
            files = f" ({count(decision.file_count, 'file')})" if decision.file_count else ""
            return decision.strategy.value + files, decision.reason
        case UpToDate(_, reason, _):
            return "up to date", reason
        case Waiting(_, upstream):
            return "follows", f"decided once {', '.join(map(str, upstream))} is up to date"
        case Refused(_, problem):
            return "refused", problem.what


def decision_as_dict(decision: Decision) -> dict[str, Any]:
    """A decision as JSON data."""
    match decision:
        case TableStep():
            return {"decision": "step", **step_as_dict(decision)}
        case UpToDate(_, reason, notes):
            facts: dict[str, Any] = {"decision": "up_to_date", "reason": reason, "notes": list(notes)}
        case Waiting(_, upstream):
            facts = {"decision": "follows", "upstream": [str(name) for name in upstream]}
        case Refused(_, problem):
            facts = {"decision": "refused", "problem": problem.as_dict()}
    return {"table": str(decision.name), **facts}
