"""What planning is told of the lake: read beforehand, passed in as values."""

from __future__ import annotations

from dataclasses import dataclass

from lakesmith.catalog.progress import Progress
from lakesmith.catalog.state import TableState
from lakesmith.errors import Problem
from lakesmith.plan.steps import Base, FileIntake


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A table as it is: ``state`` None when it does not exist, ``problem`` when what it has consumed cannot be told.

    ``begin``: of a table of others, the snapshot whose rows do not count; None: all count.
    """

    state: TableState | None = None
    progress: Progress | None = None
    problem: Problem | None = None
    begin: int | None = None

    @property
    def base(self) -> Base:
        """Where a batch on this table begins."""
        if self.state is None:
            return Base()
        head = self.state.head
        record = self.progress.record if self.progress else None
        return Base(self.state.uuid, head.snapshot_id if head else None, record)


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What a table's sources have to give: per source the chosen files, and everything to say about them.

    ``waiting`` files are too young to be taken. ``known`` are all others that are there, ``skipped`` those of them that are
    left out on record.
    """

    intakes: tuple[FileIntake, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    waiting: int = 0
    known: int = 0
    skipped: int = 0
