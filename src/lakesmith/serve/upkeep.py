"""When ``up`` looks after a table: after so many of its batches, one table at a time, and not all of them together; as a whole at the times that its
``maintain: {schedule: ...}`` says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from lakesmith import limits
from lakesmith.execute.maintenance import Maintained, NotMaintained, Slice, Unknown
from lakesmith.execute.maintenance_result import MaintenanceResult

FIRINGS: Final = "maintenance.json"
"""Where the last times of maintenance are kept, in ``.lakesmith/``."""


@dataclass
class Rounds:
    """Counts batches by table."""

    _since: dict[str, int] = field(default_factory=dict)

    def count(self, published: Iterable[str]) -> None:
        """These tables got a batch. A table that is new here is due sooner: nobody knows how many it has had."""
        for name in published:
            first = limits.BATCHES_BETWEEN_SLICES // 2 + 5 * len(self._since)
            self._since[name] = self._since.get(name, first % limits.BATCHES_BETWEEN_SLICES) + 1

    def due(self) -> str | None:
        """The table that is looked after now, if any; its count begins anew."""
        name = max(self._since, key=lambda each: self._since[each], default=None)
        if name is None or self._since[name] < limits.BATCHES_BETWEEN_SLICES:
            return None
        self._since[name] = 0
        return name


def slice_in_words(name: str, done: Slice) -> str | None:
    """What was done for a table, in a line; None where there was nothing to do."""
    said = []
    if done.files:
        said.append(f"{done.files:,} small files were put together into {done.into:,}")
    if done.snapshots:
        said.append(f"{done.snapshots:,} old snapshots left")
    return f"{name}: {', '.join(said)}" if said else None


def maintained_in_words(done: MaintenanceResult) -> list[str]:
    """Returns what was done for tables, a line each."""
    unknown = [NotMaintained(each.table, (each.problem,)) for each in done.left if isinstance(each, Unknown)]
    return [line for each in (*done.tables, *unknown) if (line := _maintained(each))]


def _maintained(done: Maintained | NotMaintained) -> str | None:
    if isinstance(done, NotMaintained):
        return f"{done.table} was not maintained: {done.problems[0].what}"
    return f"{done.table}: {'; '.join(done.done.values())}" if done.done else None
