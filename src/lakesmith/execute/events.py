"""What happens in a run, as frozen events: the terminal, ``--json`` and the web page all read these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lakesmith.catalog.record import Record
from lakesmith.errors import LakesmithError, Problem
from lakesmith.exports.publishing import ExportReport
from lakesmith.plan.steps import TableStep
from lakesmith.project.definitions import TableName


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The run begins over these tables, in order."""

    tables: tuple[TableName, ...]


@dataclass(frozen=True, slots=True)
class LockWaiting:
    """Another process holds the project; ``holder`` says who, in words."""

    holder: str


@dataclass(frozen=True, slots=True)
class EngineStarting:
    """There is work, so Spark is being started."""


@dataclass(frozen=True, slots=True)
class EngineStarted:
    """Spark is ready, ``seconds`` after its start; ``notes`` say why the fast start was not possible."""

    seconds: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableStarted:
    """A table's batch begins."""

    step: TableStep


@dataclass(frozen=True, slots=True)
class PhaseStarted:
    """A batch enters a phase; ``phase`` is a short verb phrase for people: 'reading 3 files'."""

    table: TableName
    phase: str


@dataclass(frozen=True, slots=True)
class BatchReport:
    """A published batch: its record and what to look at. ``snapshot`` is main's new head."""

    record: Record
    snapshot: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TablePublished:
    """A table's batch was published."""

    table: TableName
    step: TableStep
    report: BatchReport
    seconds: float


@dataclass(frozen=True, slots=True)
class TableCurrent:
    """A table had nothing to do. ``held``: it was left where it is, as it is to be."""

    table: TableName
    reason: str
    notes: tuple[str, ...] = ()
    held: bool = False


@dataclass(frozen=True, slots=True)
class TableFailed:
    """A table's batch failed; nothing of it was published. ``exit_code`` as in ``lakesmith.errors``."""

    table: TableName
    problems: tuple[Problem, ...]
    exit_code: int
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class TableHeld:
    """A table was not tried because tables it reads failed."""

    table: TableName
    because: tuple[TableName, ...]


@dataclass(frozen=True, slots=True)
class TableRedone:
    """A batch is done again from fresh state, because the table moved before it could be published."""

    table: TableName
    reason: str


@dataclass(frozen=True, slots=True)
class TableExported:
    """A version of a table's export was published."""

    table: TableName
    report: ExportReport
    seconds: float


@dataclass(frozen=True, slots=True)
class ExportFailed:
    """A table is as it should be, and its export was not written. The next run exports it."""

    table: TableName
    problems: tuple[Problem, ...]
    exit_code: int


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The run ended. ``seconds`` is wall time."""

    seconds: float
    exit_code: int


@dataclass(frozen=True, slots=True)
class AlertsSent:
    """A channel was notified: how many alerts fire, and how many are over."""

    channel: str
    firing: int
    over: int


@dataclass(frozen=True, slots=True)
class AlertFailed:
    """A channel was not notified. The next run tries again. ``channel`` empty: what was sent could not be
    kept."""

    channel: str
    problem: Problem


Event = (
    RunStarted
    | LockWaiting
    | EngineStarting
    | EngineStarted
    | TableStarted
    | PhaseStarted
    | TablePublished
    | TableCurrent
    | TableFailed
    | TableHeld
    | TableRedone
    | TableExported
    | ExportFailed
    | RunFinished
    | AlertsSent
    | AlertFailed
)

Listener = Callable[[Event], None]
"""Receives events, possibly from several threads."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended.

    Attributes:
        published: the tables that got a batch, in that order, with its record and warnings.
        current: the tables that had nothing to do, and why.
        failed: the tables that failed, with their problems; nothing of their batches was published.
        held: the tables that were not tried because of tables that failed.
        exported: the tables whose exports were published.
        not_exported: the tables whose exports were not written, with the problems. The tables themselves are
            as they should be.
        seconds: wall time.
        exit_code: 0, or the highest of the tables' codes, as ``lakesmith run`` returns it.
    """

    published: Mapping[str, BatchReport]
    current: Mapping[str, str]
    failed: Mapping[str, tuple[Problem, ...]]
    held: tuple[str, ...]
    seconds: float
    exit_code: int
    exported: Mapping[str, ExportReport] = field(default_factory=dict)
    not_exported: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        published = {
            table: {
                "snapshot": report.snapshot,
                "warnings": list(report.warnings),
                "record": asdict(report.record),
            }
            for table, report in self.published.items()
        }
        return {
            "published": published,
            "current": dict(self.current),
            "failed": _as_data(self.failed),
            "held": list(self.held),
            "exported": {table: asdict(report) for table, report in self.exported.items()},
            "not_exported": _as_data(self.not_exported),
            "seconds": round(self.seconds, 3),
            "exit_code": self.exit_code,
        }


def _as_data(found: Mapping[str, tuple[Problem, ...]]) -> dict[str, Any]:
    return {table: [problem.as_dict() for problem in problems] for table, problems in found.items()}


class RunFailed(LakesmithError):
    """Tables of a run failed; ``result`` tells of all tables, ``problems`` of those that failed."""

    def __init__(self, result: RunResult) -> None:
        found = (*result.failed.values(), *result.not_exported.values())
        super().__init__([problem for problems in found for problem in problems])
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
        {str(e.table): e.report for e in events if isinstance(e, TableExported)},
        {str(e.table): e.problems for e in events if isinstance(e, ExportFailed)},
    )
