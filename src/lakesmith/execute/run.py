"""Runs the selected tables in dependency order, independent ones in parallel."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event as Flag
from threading import Lock

from lakesmith.catalog.lock import ProjectLock
from lakesmith.errors import LakesmithError, RunError
from lakesmith.execute.decide import Decider
from lakesmith.execute.engine import Engine, NotIncremental, Outdated, RunStopped, Unanswered
from lakesmith.execute.events import (
    ExportFailed,
    Listener,
    LockWaiting,
    PhaseStarted,
    RunFinished,
    RunStarted,
    TableCurrent,
    TableExported,
    TableFailed,
    TableHeld,
    TablePublished,
    TableRedone,
    TableStarted,
)
from lakesmith.execute.faults import reach
from lakesmith.execute.forecast import fetch_all
from lakesmith.execute.lake import planned_bytes, table_bytes
from lakesmith.execute.locking import Claim
from lakesmith.execute.publish import publish_advance, takes_spark
from lakesmith.execute.unforeseen import unforeseen_of
from lakesmith.exports.publishing import exports_behind, publish, step_of
from lakesmith.plan.cost import DataSize
from lakesmith.plan.steps import Decision, Refused, TableStep, UpToDate, Waiting
from lakesmith.project.definitions import TableName
from lakesmith.sources.bad_files import BadFiles

TRIES = 5
"""How often a batch is planned and done again when what it was planned on moves."""


@dataclass
class Walk:
    """Runs the selected tables in the graph's order, ``parallel`` at a time. ``engine`` starts the engine
    if need be. ``current``: tables that were idle when the run began. ``exports``: whether their exports
    follow."""

    decider: Decider
    names: Sequence[TableName]
    engine: Callable[[], Engine]
    listener: Listener
    parallel: int = 2
    stop: Flag = field(default_factory=Flag)
    current: Mapping[TableName, UpToDate] = field(default_factory=dict)
    exports: bool = True
    _failed: dict[TableName, int] = field(default_factory=dict)
    _unanswered: set[TableName] = field(default_factory=set)
    _not_exported: int = 0

    def run(self) -> int:
        """Runs all tables and returns the highest of their exit codes."""
        pending, done = list(self.names), set[TableName]()
        running: dict[Future[int], TableName] = {}
        with ThreadPoolExecutor(self.parallel, thread_name_prefix="table") as pool:
            while pending or running:
                for name in self._ready(pending, done):
                    pending.remove(name)
                    running[pool.submit(self._bring, name)] = name
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    name = running.pop(future)
                    done.add(name)
                    if code := future.result():
                        self._failed[name] = code
        return max([self._not_exported, *self._failed.values()])

    def _ready(self, pending: Sequence[TableName], done: set[TableName]) -> list[TableName]:
        return [name for name in pending if all(up in done for up in self._before(name))]

    def _before(self, name: TableName) -> list[TableName]:
        """Returns the tables that are refreshed first: its inputs, and those that its rules name."""
        named = self.decider.graph.node(name).after
        return [*self._upstream(name), *(table for table in named if table in self.names)]

    def _upstream(self, name: TableName) -> list[TableName]:
        return [table for table in self.decider.graph.node(name).inputs if table in self.names]

    def _bring(self, name: TableName) -> int:
        if self.stop.is_set():
            return RunStopped.exit_code
        # What is only looked up is taken as it is: rows do not wait for it.
        lookups = self.decider.graph.node(name).definition.lookups
        if failed := tuple(up for up in self._upstream(name) if up in self._failed and up not in lookups):
            self.listener(TableHeld(name, failed))
            return self._failed[failed[0]]
        started = time.monotonic()
        try:
            self._bring_once(name)
        except LakesmithError as error:
            return self._failed_by(name, error, started)
        except Exception as error:  # noqa: BLE001 - whatever happens to one table, the others go on
            definition = self.decider.graph.node(name).definition
            problem = unforeseen_of(error, definition, self.decider.lake.project)
            return self._failed_by(name, RunError(problem), started)
        if self.exports:
            self.export(name)
        return 0

    def export(self, name: TableName) -> None:
        """Brings the table's export to its head. If that fails, tables that read the table go on."""
        lake, definition = self.decider.lake, self.decider.graph.node(name).definition
        if definition.export is None:
            return
        started = time.monotonic()
        try:
            step = step_of(lake.project, definition, lake.catalog.table(name.layer, name.name))
            if step is None or self.stop.is_set():
                return
            self.listener(PhaseStarted(name, "exporting"))
            report = publish(
                lake.project,
                step,
                lambda step, folder: self.engine().run_export(step, folder),
                lambda point: reach(point, str(name)),
            )
            self.listener(TableExported(name, report, time.monotonic() - started))
        except Exception as error:  # noqa: BLE001 - whatever happens to one export, the tables go on
            found = (
                error
                if isinstance(error, LakesmithError)
                else RunError(unforeseen_of(error, definition, lake.project))
            )
            self._not_exported = max(self._not_exported, found.exit_code)
            self.listener(ExportFailed(name, found.problems, found.exit_code))

    def _failed_by(self, name: TableName, error: LakesmithError, started: float) -> int:
        self.listener(TableFailed(name, error.problems, error.exit_code, time.monotonic() - started))
        return error.exit_code

    def _bring_once(self, name: TableName) -> None:
        for _ in range(TRIES):
            # What has work is decided again, however lately it was: others may have moved it, its inputs or
            # its files since.
            decision = self.current.get(name) or self.decider.decide(name)
            reach("after-listing", str(name))
            match decision:
                case UpToDate(_, reason, notes, held):
                    return self.listener(TableCurrent(name, reason, notes, held))
                case Waiting(_, upstream):
                    what = ", ".join(map(str, upstream))
                    return self.listener(TableCurrent(name, f"{what} has no data yet"))
                case Refused(_, problem):
                    raise RunError(problem)
                case TableStep():
                    if self._do(decision):
                        return None
        raise _never_still(name)

    def _do(self, step: TableStep) -> bool:
        """Does a step; False when it has to be planned again."""
        started = time.monotonic()
        self.listener(TableStarted(step))
        try:
            report = publish_advance(self.decider.lake, step) or self.engine().run_step(step, self.listener)
        except Outdated as moved:
            self.listener(TableRedone(step.name, moved.reason))
            return False
        except Unanswered as lost:
            # Once: a server that stays away is an error.
            if step.name in self._unanswered:
                raise
            self._unanswered.add(step.name)
            self.listener(TableRedone(step.name, lost.problems[0].what))
            return False
        except BadFiles as bad:
            if not (left_out := self.decider.leave_out(step, bad)):
                raise
            self.listener(TableRedone(step.name, left_out))
            return False
        except NotIncremental as refused:
            self.decider.refuse(step, refused)
            self.listener(TableRedone(step.name, refused.reason))
            return False
        self.listener(TablePublished(step.name, step, report, time.monotonic() - started))
        return True


def _never_still(name: TableName) -> RunError:
    return RunError.of(
        "LS612",
        f"{name} or its files changed in each of {TRIES} tries",
        expected="a table and files that nobody changes while a batch is read and published",
        found="other writers at every try",
        hint="stop the other writer, or give files time to be written: min_age on the source",
    )


EngineFactory = Callable[[ProjectLock, DataSize], Engine]
"""Starts an engine under the lock; the size of the data to work on."""


@dataclass
class LazyEngine:
    """An engine that is started when it is first asked for, once, whatever thread asks."""

    start: Callable[[], Engine]
    _engine: Engine | None = None
    _lock: Lock = field(default_factory=Lock)

    def __call__(self) -> Engine:
        with self._lock:
            if self._engine is None:
                self._engine = self.start()
            return self._engine

    def cancel(self) -> None:
        if self._engine is not None:
            self._engine.cancel()

    def close(self) -> None:
        with self._lock:
            if self._engine is not None:
                self._engine.close()
                self._engine = None


@dataclass
class Run:
    """Refreshes ``names`` and calls ``listener``. ``stop`` ends the run after the current publish;
    ``stays``: the engine does more work later."""

    decider: Decider
    names: Sequence[TableName]
    start_engine: EngineFactory
    listener: Listener
    command: str = "run"
    wait_seconds: float = 0.0
    parallel: int = 2
    stop: Flag = field(default_factory=Flag)
    engine: LazyEngine | None = None
    stays: bool = False

    def run(self) -> int:
        """Runs to the end and returns the exit code. Raises LockedError, and whatever starting the engine
        raises."""
        started = time.monotonic()
        self.listener(RunStarted(tuple(self.names)))
        claim = Claim(
            self.decider.lake,
            self.command,
            self.wait_seconds,
            lambda holder: self.listener(LockWaiting(holder)),
            self.stop.is_set,
        )
        with claim.lock() as lock:
            reach("after-lock", "")
            code = self._under(claim, lock)
        self.listener(RunFinished(time.monotonic() - started, code))
        return code

    def _under(self, claim: Claim, lock: ProjectLock) -> int:
        self.decider.unread = fetch_all(self.decider.lake, self.names)
        with self.decider.one_look(self.names):
            decisions = self.decider.decide_all(self.names)
            behind = exports_behind(self.decider.lake.project, self.decider.lake.catalog, self.names)
            read = planned_bytes(self.decider.lake, decisions) + table_bytes(self.decider.lake, behind)
            size = DataSize.of(read, self.decider.rows_in_full(decisions), self.stays)
        if not behind and all(isinstance(decision, UpToDate) for decision in decisions):
            for decision in decisions:
                self._current(decision)
            return 0
        self.engine = LazyEngine(lambda: self.start_engine(lock, size))
        if takes_spark(self.decider.lake, decisions):
            # There will be work for it: it starts while the first table is being planned again.
            self.engine()
        current = self._current_for_sure(decisions)
        try:
            # Others may have been at work until now: each table is decided again under the lease.
            with claim.lease():
                return Walk(
                    self.decider, self.names, self.engine, self.listener, self.parallel, self.stop, current
                ).run()
        finally:
            self.engine.close()

    def _current_for_sure(self, decisions: Sequence[Decision]) -> dict[TableName, UpToDate]:
        """Returns the tables that are current for the whole run: no input of theirs may still change."""
        found: dict[TableName, UpToDate] = {}
        for decision in decisions:
            inputs = self.decider.graph.node(decision.name).inputs
            if isinstance(decision, UpToDate) and all(up in found or up not in self.names for up in inputs):
                found[decision.name] = decision
        return found

    def _current(self, decision: object) -> None:
        if isinstance(decision, UpToDate):
            self.listener(TableCurrent(decision.name, decision.reason, decision.notes, decision.held))
