"""When ``up`` looks after a table: after so many of its batches, one table at a time, and not all of them together; as a whole at the times that its
``maintain: {schedule: ...}`` says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

from lakesmith import limits
from lakesmith.execute.maintenance import Maintained, NotMaintained

FIRINGS: Final = "maintenance.json"
"""Where the last times of maintenance are kept, in ``.lakesmith/``."""


class Done(Protocol):
    """What ``execute.maintenance.Slice`` says."""

    @property
    def files(self) -> int:
        """Data files that were put together."""

    @property
    def into(self) -> int:
        """Data files that they became."""

    @property
    def snapshots(self) -> int:
        """Snapshots that left."""


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


def in_words(name: str, done: Done) -> str | None:
    """What was done for a table, in a line; None where there was nothing to do."""
    said = []
    if done.files:
        said.append(f"{done.files:,} small files were put together into {done.into:,}")
    if done.snapshots:
        said.append(f"{done.snapshots:,} old snapshots left")
    return f"{name}: {', '.join(said)}" if said else None


def maintained_in_words(done: Iterable[Maintained | NotMaintained]) -> list[str]:
    """What was done for tables, a line each."""
    return [line for each in done if (line := _maintained(each))]


def _maintained(done: Maintained | NotMaintained) -> str | None:
    if isinstance(done, NotMaintained):
        return f"{done.table} was not maintained: {done.problems[0].what}"
    return f"{done.table}: {'; '.join(done.done.values())}" if done.done else None
