"""What a run came to, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lakesmith.errors import LakesmithError, Problem
from lakesmith.execute.events import (
    BatchReport,
    Event,
    RunFinished,
    TableCurrent,
    TableFailed,
    TableHeld,
    TablePublished,
)


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended.

    Attributes:
        published: the tables that got a batch, in that order, with its record and warnings.
        current: the tables that had nothing to do, and why.
        failed: the tables that failed, with their problems; nothing of their batches was published.
        held: the tables that were not tried because of tables that failed.
        seconds: wall time.
        exit_code: 0, or the highest of the tables' codes, as ``lakesmith run`` returns it.
    """

    published: Mapping[str, BatchReport]
    current: Mapping[str, str]
    failed: Mapping[str, tuple[Problem, ...]]
    held: tuple[str, ...]
    seconds: float
    exit_code: int

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON data."""
        published = {
            table: {
                "snapshot": report.snapshot,
                "warnings": list(report.warnings),
                "record": asdict(report.record),
            }
            for table, report in self.published.items()
        }
        failed = {table: [problem.as_dict() for problem in found] for table, found in self.failed.items()}
        return {
            "published": published,
            "current": dict(self.current),
            "failed": failed,
            "held": list(self.held),
            "seconds": round(self.seconds, 3),
            "exit_code": self.exit_code,
        }


class RunFailed(LakesmithError):
    """Tables of a run failed; ``result`` tells of all tables, ``problems`` of those that failed."""

    def __init__(self, result: RunResult) -> None:
        super().__init__([problem for problems in result.failed.values() for problem in problems])
        self.result = result
        self.exit_code = result.exit_code


def result_of(events: list[Event]) -> RunResult:
    """The result, from the events of a run that came to its end."""
    (end,) = (event for event in events if isinstance(event, RunFinished))
    return RunResult(
        {str(e.table): e.report for e in events if isinstance(e, TablePublished)},
        {str(e.table): e.reason for e in events if isinstance(e, TableCurrent)},
        {str(e.table): e.problems for e in events if isinstance(e, TableFailed)},
        tuple(str(e.table) for e in events if isinstance(e, TableHeld)),
        end.seconds,
        end.exit_code,
    )
