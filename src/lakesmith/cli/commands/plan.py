"""``lakesmith plan``: what a run would do, table by table, and what it costs, without a JVM."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from lakesmith.cli.opening import open_project
from lakesmith.cli.options import HERE, JsonOption, ProjectOption, SelectArgument, TargetOption, command_app
from lakesmith.cli.render.plan_text import plan_lines
from lakesmith.cli.render.run_json import step_as_dict
from lakesmith.execute.forecast import Forecast, forecast
from lakesmith.plan.steps import Decision, Refused, TableStep, UpToDate, Waiting

app = command_app()


@app.command()
def plan(
    select: SelectArgument = None,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``plan_command`` takes them."""
    raise typer.Exit(plan_command(project, target, tuple(select or ()), json))


def plan_command(root: Path, target: str | None, patterns: tuple[str, ...], as_json: bool) -> int:
    """Prints the plan; 0, or 1 when a table is refused, or waits for approval."""
    opened = open_project(root, target)
    decider = opened.decider()
    plan = forecast(decider, opened.names(patterns))
    if as_json:
        print(json.dumps({"tables": [forecast_as_dict(item) for item in plan]}, indent=2))
    else:
        print("\n".join(plan_lines(plan)))
    return 1 if any(map(_would_fail, plan)) else 0


def _would_fail(item: Forecast) -> bool:
    decision = item.decision
    return isinstance(decision, Refused) or (isinstance(decision, TableStep) and bool(decision.loses))


def forecast_as_dict(item: Forecast) -> dict[str, Any]:
    """A decision as JSON data, with its cost or its outlook."""
    data = decision_as_dict(item.decision)
    if item.cost is not None:
        data["cost"] = asdict(item.cost)
    if item.outlook is not None:
        data["expected"] = asdict(item.outlook)
    if item.changes:
        data["changes"] = [asdict(change) for change in item.changes]
    if item.not_read:
        data["notes"] = [*data["notes"], *item.not_read]
    return data


def decision_as_dict(decision: Decision) -> dict[str, Any]:
    """A decision as JSON data."""
    match decision:
        case TableStep():
            return {"decision": "to_approve" if decision.loses else "step", **step_as_dict(decision)}
        case UpToDate(_, reason, notes, held):
            facts: dict[str, Any] = {
                "decision": "held" if held else "up_to_date",
                "reason": reason,
                "notes": list(notes),
            }
        case Waiting(_, upstream):
            facts = {"decision": "follows", "upstream": [str(name) for name in upstream]}
        case Refused(_, problem):
            facts = {"decision": "refused", "problem": problem.as_dict()}
    return {"table": str(decision.name), **facts}
