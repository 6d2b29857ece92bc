"""Calls that read metadata and start no Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lakesmith.api.access import Access
from lakesmith.api.words import iso
from lakesmith.execute.erase import Receipts
from lakesmith.execute.status import InputPosition, Standing, TableStatus, statuses
from lakesmith.plan.maintenance import signs
from lakesmith.serve.state import TableState, UpState, is_alive, is_here, read_state

__all__ = [
    "Standing", "Status", "TableState", "TableStatus", "UpState", "is_alive", "is_here", "signs", "status",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Status:
    """The selected tables, the process of ``lakesmith up`` (None: none runs), and the erasures that were not finished."""

    tables: tuple[TableStatus, ...]
    up: UpState | None
    erasures_begun: int

    @property
    def has_refused(self) -> bool:
        """Whether a table cannot be refreshed until somebody does something."""
        return any(each.standing is Standing.REFUSED for each in self.tables)

    def to_dict(self) -> dict[str, Any]:
        """The status as JSON data."""
        return {"tables": [table_to_dict(each) for each in self.tables], "up": up_to_dict(self.up)}


def status(access: Access, select: Sequence[str]) -> Status:
    """Returns the status of the selected tables."""
    opened = access.opened()
    state_dir = opened.project.state_dir
    found = statuses(opened.decider(), opened.names(select))
    return Status(found, read_state(state_dir), Receipts(state_dir).begun())


def table_to_dict(status: TableStatus) -> dict[str, Any]:
    return {
        "table": str(status.name),
        "status": status.standing.value,
        "why": status.why,
        "batch": status.record.batch if status.record else None,
        "published_at": None if status.published_ms is None else iso(status.published_ms),
        "rows": status.rows,
        "quarantined": status.quarantined,
        "files_waiting": status.files_waiting,
        "inputs": [input_to_dict(position) for position in status.inputs],
        "notes": list(status.notes),
        "health": asdict(status.health) if status.health else None,
        "problem": status.problem.as_dict() if status.problem else None,
    }


def input_to_dict(position: InputPosition) -> dict[str, Any]:
    """A position in an input as JSON data."""
    return {**asdict(position), "table": str(position.table), "change": position.change.value}


def up_to_dict(state: UpState | None) -> dict[str, Any] | None:
    """``is_alive`` is None for a process of another machine, of which that cannot be known."""
    if state is None:
        return None
    return {"is_alive": is_alive(state) if is_here(state) else None, **asdict(state)}
