"""What happens in a run, as frozen events: the terminal, ``--json`` and the web page all read these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lakesmith.catalog.record import Record
from lakesmith.errors import Problem
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
class RunFinished:
    """The run ended. ``seconds`` is wall time."""

    seconds: float
    exit_code: int


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
    | RunFinished
)

Listener = Callable[[Event], None]
"""Receives events, possibly from several threads."""
