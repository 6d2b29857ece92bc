"""What maintenance did to a table, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lakesmith.errors import Problem
from lakesmith.plan.expiry import HeldBack
from lakesmith.plan.maintenance import Task
from lakesmith.project.definitions import Maintenance, TableName


@dataclass(frozen=True, slots=True)
class Orders:
    """What the caller asks for besides what tables need: ``orphans``, that they are looked for, ``remove_orphans``, that they go."""

    orphans: bool = False
    remove_orphans: bool = False

    @property
    def looks_for_orphans(self) -> bool:
        """Whether files that no snapshot has are looked for in every table."""
        return self.orphans or self.remove_orphans

    def removes(self, settings: Maintenance) -> bool:
        """Whether those of a table are removed: as the call says, or without a word of it the table's settings."""
        return self.remove_orphans or (settings.remove_orphans and not self.orphans)


@dataclass(frozen=True, slots=True)
class Measured:
    """A table's head. Sizes are in bytes; ``planning_seconds``: how long a scan of the whole table takes to be planned."""

    data_files: int
    data_bytes: int
    delete_files: int
    deleted_rows: int
    manifests: int
    snapshots: int
    planning_seconds: float


@dataclass(frozen=True, slots=True)
class Maintained:
    """A table that was maintained. ``orphans`` are the files found that no snapshot has, ``removed``: whether they were removed.

    ``done`` says of each task what it did, in words; what had nothing to do is not there.
    """

    table: TableName
    before: Measured
    after: Measured
    seconds: float
    done: Mapping[Task, str] = field(default_factory=dict)
    orphans: tuple[str, ...] = ()
    removed: bool = False
    held_back: tuple[HeldBack, ...] = ()


@dataclass(frozen=True, slots=True)
class NotMaintained:
    """A table whose maintenance failed; what was done until then stays, and is right."""

    table: TableName
    problems: tuple[Problem, ...]


def maintained_as_dict(done: Maintained) -> dict[str, Any]:
    """As JSON data."""
    return {
        "table": str(done.table),
        "before": asdict(done.before),
        "after": asdict(done.after),
        "seconds": round(done.seconds, 3),
        "done": {task.value: said for task, said in done.done.items()},
        "orphans": list(done.orphans),
        "orphans_removed": done.removed,
        "held_back": [{**asdict(each), "reader": str(each.reader)} for each in done.held_back],
    }
