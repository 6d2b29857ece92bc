"""The plan: what a run would do, table by table, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lakesmith.api.access import Access
from lakesmith.api.running import step_to_dict
from lakesmith.execute.forecast import Forecast, forecast
from lakesmith.plan.changes import ChangeCost
from lakesmith.plan.cost import UNKNOWN, Amount, Cost
from lakesmith.plan.outlook import is_rebuilt
from lakesmith.plan.steps import Decision, Refused, TableStep, UpToDate, Waiting

__all__ = [
    "UNKNOWN", "Amount", "ChangeCost", "Cost", "Forecast", "Plan", "Refused", "TableStep", "UpToDate", "Waiting",
    "is_rebuilt", "plan",
]  # fmt: skip


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
