"""The results of maintenance, as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from lakesmith.execute.maintenance import Maintained, NotMaintained, Unknown, Verdict
from lakesmith.plan.expiry import HeldBack
from lakesmith.plan.maintenance import Care
from lakesmith.project.definitions import TableName


@dataclass(frozen=True, slots=True)
class MaintenancePlan:
    """What tables need, each with the reasons."""

    tables: tuple[Verdict, ...]

    @property
    def failed(self) -> bool:
        return any(isinstance(each, Unknown) for each in self.tables)

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON data."""
        return {"tables": list(map(_plan_as_dict, self.tables))}


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """What was done.

    Attributes:
        tables: the tables that were maintained, or whose maintenance failed.
        left: the tables that need nothing, do not exist, or whose needs are unknown.
        stopped: whether it ended early; the next call goes on.
    """

    tables: tuple[Maintained | NotMaintained, ...] = ()
    left: tuple[Verdict, ...] = ()
    stopped: bool = False

    @property
    def failed(self) -> bool:
        return any(isinstance(each, NotMaintained | Unknown) for each in (*self.tables, *self.left))

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {
            "maintained": list(map(_done_as_dict, self.tables)),
            "left": list(map(_plan_as_dict, self.left)),
            "stopped": self.stopped,
        }


@dataclass(frozen=True, slots=True)
class RewriteResult:
    """Data files that were rewritten, and the files and pieces that they became; ``stopped``: it ended
    early."""

    table: TableName
    files: int = 0
    into: int = 0
    pieces: int = 0
    stopped: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON data."""
        if self.stopped:
            return {"table": str(self.table), "stopped": True}
        return {**asdict(self), "table": str(self.table)}


def _plan_as_dict(each: Verdict) -> dict[str, Any]:
    if isinstance(each, Care):
        return {
            "table": str(each.table),
            "health": asdict(each.health),
            "small_files": each.small.files,
            "needs": {task.value: why for task, why in each.todo.items()},
            "left": {task.value: why for task, why in each.left.items()},
            "held_back": [_held_as_dict(one) for one in each.held_back],
        }
    if isinstance(each, Unknown):
        return {"table": str(each.table), "problem": each.problem.as_dict()}
    return {"table": str(each.table), "why": each.why}


def _done_as_dict(done: Maintained | NotMaintained) -> dict[str, Any]:
    if isinstance(done, Maintained):
        return {
            "table": str(done.table),
            "before": asdict(done.before),
            "after": asdict(done.after),
            "seconds": round(done.seconds, 3),
            "done": {task.value: said for task, said in done.done.items()},
            "orphans": list(done.orphans),
            "orphans_removed": done.removed,
            "held_back": [_held_as_dict(each) for each in done.held_back],
        }
    return {"table": str(done.table), "problems": [problem.as_dict() for problem in done.problems]}


def _held_as_dict(each: HeldBack) -> dict[str, Any]:
    return {**asdict(each), "reader": str(each.reader)}
