"""What ``up`` reports: lines for its observer, and its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import Lock
from typing import Any, Protocol

from lakesmith.errors import LakesmithError, Problem, RunError
from lakesmith.execute.events import (
    AlertFailed,
    AlertsSent,
    BatchReport,
    EngineStarting,
    Event,
    ExportFailed,
    RunResult,
    TableCurrent,
    TableExported,
    TableFailed,
    TablePublished,
    TableStarted,
)
from lakesmith.execute.maintenance import Maintained, MaintenanceResult, NotMaintained, Slice, Unknown
from lakesmith.journal.acting import Action
from lakesmith.quality.results import TableResult
from lakesmith.serve.retries import PARKED_PAUSE, Failing
from lakesmith.serve.schedule import MOST_PASSED, Due, Firing, next_firing
from lakesmith.serve.state import TableState, moment
from lakesmith.serve.tables import Tables


class Observer(Protocol):
    """Receives what happens."""

    def notice(self, text: str, /) -> None:
        """Receives a line."""

    def on_batch(self, name: str, report: BatchReport, /) -> None:
        """Receives a batch when it is published."""

    def on_run(self, result: RunResult, /) -> None:
        """Receives the end of a run that published something."""

    def on_problems(self, error: LakesmithError, /) -> None:
        """Receives problems, to be shown in full."""


class Checked(Protocol):
    """What a check found."""

    @property
    def tables(self) -> tuple[TableResult, ...]:
        """The results."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known besides."""


@dataclass(frozen=True)
class Heard:
    """An observer that writes notices and problems to the journal too. Batches are there by their runs."""

    observer: Observer
    action: Action

    def notice(self, text: str) -> None:
        self.action.say(text)
        self.observer.notice(text)

    def on_batch(self, name: str, report: BatchReport) -> None:
        self.observer.on_batch(name, report)

    def on_run(self, result: RunResult) -> None:
        self.observer.on_run(result)

    def on_problems(self, error: LakesmithError) -> None:
        for each in error.problems:
            self.action.say(f"{each.code} {each.what}")
        self.observer.on_problems(error)


class Boarding(Protocol):
    """The part of ``state.Board`` that the loop uses."""

    def put(self, **changes: Any) -> None:
        """Changes the state."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The last batch of a table: the rows that it read, and those that it changed."""

    ended: str
    rows: int
    changed: int


def batch_of(report: BatchReport, ended: datetime) -> Batch:
    account = report.record.account
    changed = account.inserted + account.updated + account.deleted
    return Batch(moment(ended), account.read or changed, changed)


def missed_in_words(due: Due) -> str:
    more = "more than " if due.passed >= MOST_PASSED else ""
    times = "time" if due.passed == 1 else "times"
    return f"{due.table}: its schedule was missed {more}{due.passed:,} {times}; it runs once now"


def failure_in_words(name: str, failing: Failing, now: float) -> str:
    """Describes a failure in one line, with its next try."""
    row = f"{failing.failures} times in a row" if failing.failures > 1 else "once"
    if failing.is_parked:
        return (
            f"{name} is parked: it failed {row} with {failing.problem.code} ({failing.problem.what});"
            f" it is tried again when its definition changes, and every {PARKED_PAUSE / 60:g} minutes"
        )
    again = max(0.0, failing.next_try - now)
    return f"{name} failed {row} ({failing.problem.code}); it is tried again in {again:.0f} s"


def table_states(
    tables: Tables,
    firings: Mapping[str, Firing],
    failing: Mapping[str, Failing],
    batches: Mapping[str, Batch],
    now: tuple[float, datetime],
) -> dict[str, TableState]:
    """Returns the state of all tables. ``now``: on the clock of retries, and in UTC."""
    found = {}
    for name, table in tables.definitions.items():
        state = _failing(failing.get(name), now)
        if table.schedule is not None and name in firings:
            firing = moment(next_firing(table.schedule, firings[name].at))
            state = replace(state, schedule=str(table.schedule), next_firing=firing)
        if (batch := batches.get(name)) is not None:
            state = replace(state, last_batch=batch.ended, last_rows=batch.rows, last_changed=batch.changed)
        found[name] = state
    return found


def _failing(failing: Failing | None, now: tuple[float, datetime]) -> TableState:
    if failing is None:
        return TableState()
    again = now[1] + timedelta(seconds=failing.next_try - now[0])
    return TableState(
        failures=failing.failures,
        is_parked=failing.is_parked,
        problem=failing.problem.as_dict(),
        next_try=moment(again),
    )


@dataclass
class Besides:
    """Reports exports and alerts that do not work: each problem once, until it is another one or is over."""

    observer: Observer
    _said: dict[str, str] = field(default_factory=dict)

    def __call__(self, event: Event) -> None:
        """Receives the events of a run."""
        match event:
            case ExportFailed(table, problems):
                self._report(f"the export of {table}", problems)
            case AlertFailed(channel, problem):
                self._report(f"the channel {channel}", (problem,))
            case TableExported(table):
                self._recover(f"the export of {table}")
            case AlertsSent(channel):
                self._recover(f"the channel {channel}")

    def _report(self, what: str, problems: Sequence[Problem]) -> None:
        text = str(RunError(problems))
        if self._said.get(what) != text:
            self._said[what] = text
            self.observer.on_problems(RunError(problems))

    def _recover(self, what: str) -> None:
        if self._said.pop(what, None) is not None:
            self.observer.notice(f"{what} works again")


class Doing:
    """Follows one run: shows what it does, and passes on the outcome of each table at once.

    Events come from several threads, and are handled one at a time. ``done``: the tables whose outcome was
    passed on. ``is_over``: the run has ended or was abandoned; events of its threads are ignored.
    """

    def __init__(
        self,
        board: Boarding,
        outcome: Callable[[TablePublished | TableFailed], None],
        beside: Callable[[Event], None] = lambda _: None,
    ) -> None:
        self.done: set[str] = set()
        self.is_over = False
        self._board = board
        self._outcome, self._beside = outcome, beside
        self._lock = Lock()
        self._tables: list[str] = []

    def __call__(self, event: Event) -> None:
        with self._lock:
            if self.is_over:
                return
            match event:
                case EngineStarting():
                    self._board.put(doing="starting Spark")
                case TableStarted(step):
                    self._change(add=str(step.name))
                case TablePublished(name) | TableFailed(name) | TableCurrent(name):
                    self._change(remove=str(name))
            if isinstance(event, TablePublished | TableFailed):
                self.done.add(str(event.table))
                self._outcome(event)
            self._beside(event)

    def _change(self, add: str = "", remove: str = "") -> None:
        before = self._tables
        self._tables = [each for each in before if each not in (add, remove)] + ([add] if add else [])
        if before != self._tables:
            text = f"refreshing {', '.join(self._tables)}" if self._tables else "looking for work"
            self._board.put(doing=text)


def slice_in_words(name: str, done: Slice) -> str | None:
    """Describes a slice of maintenance; None if there was nothing to do."""
    parts = []
    if done.files:
        parts.append(f"{done.files:,} small files were compacted into {done.into:,}")
    if done.snapshots:
        parts.append(f"{done.snapshots:,} old snapshots expired")
    return f"{name}: {', '.join(parts)}" if parts else None


def checked_in_words(found: Checked) -> list[str]:
    """Returns a line for each rule that failed in a check, one for the check, and its notes."""
    results = found.tables
    failed = [(result.table, each) for result in results for each in result.failed]
    lines = [f"{table}: the rule {each.rule} fails: {each.found}" for table, each in failed]
    lines += [f"{each.table}: {problem.what}" for each in results for problem in each.problems]
    rules = sum(len(each.results) for each in results)
    return [*lines, f"{rules} rules were checked; {len(failed)} failed", *found.notes]


def maintained_in_words(done: MaintenanceResult) -> list[str]:
    """Describes maintenance, a line for each table."""
    unknown = [NotMaintained(each.table, (each.problem,)) for each in done.left if isinstance(each, Unknown)]
    return [line for each in (*done.tables, *unknown) if (line := _maintained(each))]


def _maintained(done: Maintained | NotMaintained) -> str | None:
    if isinstance(done, NotMaintained):
        return f"{done.table} was not maintained: {done.problems[0].what}"
    return f"{done.table}: {'; '.join(done.done.values())}" if done.done else None
