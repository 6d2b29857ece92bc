"""Whether acknowledged events are in the table: counted from metadata, without a JVM."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lakesmith.catalog.progress import rows_at
from lakesmith.errors import StateError
from lakesmith.execute.opened import read_project
from lakesmith.execute.status import quarantined_rows
from lakesmith.serve.routes import EventSource

_LOOK_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows of a table and of its quarantine; ``is_settled``: no event waits to become one."""

    rows: int
    quarantined: int
    is_settled: bool


@dataclass(frozen=True, slots=True)
class Found:
    """Rows since sending began. ``expected``: acknowledged events; ``uncertain``: unanswered ones."""

    expected: int
    uncertain: int
    rose: int
    quarantined: int
    seconds: float

    @property
    def is_right(self) -> bool:
        """Whether every acknowledged event is there, once."""
        return self.expected <= self.rose <= self.expected + self.uncertain

    def as_dict(self) -> dict[str, Any]:
        return {
            "expected": self.expected,
            "uncertain": self.uncertain,
            "found": self.rose,
            "quarantined": self.quarantined,
            "seconds": round(self.seconds, 1),
            "right": self.is_right,
        }


def count_now(root: Path, target: str | None, source: EventSource) -> Counted:
    """Counts a table's rows. Raises LakesmithError, LS520 if its metadata has no counts."""
    opened = read_project(root, target)
    name = source.table.name
    facts = opened.lake.facts(name)
    head = facts.state.head if facts.state else None
    rows, quarantined = (
        rows_at(facts.state, head) if facts.state and head else 0,
        quarantined_rows(opened.lake, name, facts),
    )
    if rows is None or quarantined is None:
        raise StateError.of("LS520", f"the metadata of {name} has no number of rows")
    intakes = opened.lake.source_facts(opened.project.table(name), facts).intakes
    waits = any(intake.take for intake in intakes) or any(source.folder.glob(".*.journal"))
    return Counted(rows, quarantined, not waits)


def settled(count: Callable[[], Counted], patience: float) -> Counted:
    """Returns the counts once nothing waits. Raises StateError LS521 if that does not come."""
    end = time.monotonic() + patience
    while not (counted := count()).is_settled:
        if time.monotonic() > end:
            raise StateError.of(
                "LS521",
                f"earlier events are still pending after {patience:g} seconds",
                expected="a run that takes them",
                hint="lakesmith up, or lakesmith run; --patience SECONDS waits longer",
            )
        time.sleep(_LOOK_SECONDS)
    return counted


def awaited(
    count: Callable[[], Counted], before: Counted, expected: int, uncertain: int, patience: float
) -> Found:
    """Returns the new rows once all are there and nothing waits, or patience ends."""
    begun = time.monotonic()
    while True:
        now = count()
        found = Found(
            expected,
            uncertain,
            now.rows - before.rows,
            now.quarantined - before.quarantined,
            time.monotonic() - begun,
        )
        if (now.is_settled and found.rose >= expected) or found.seconds > patience:
            return found
        time.sleep(_LOOK_SECONDS)
