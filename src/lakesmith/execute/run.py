"""One run, whole: the lock, the plan, the engine only if there is work, and the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from threading import Event as Flag
from threading import Lock

from lakesmith import limits
from lakesmith.catalog.home import project_lock
from lakesmith.catalog.lease import Waiting
from lakesmith.catalog.lock import Holder, ProjectLock
from lakesmith.execute.advance import takes_spark
from lakesmith.execute.alone import lease
from lakesmith.execute.decide import Decider
from lakesmith.execute.engine import Engine
from lakesmith.execute.events import Listener, LockWaiting, RunFinished, RunStarted, TableCurrent
from lakesmith.execute.faults import reach
from lakesmith.execute.fetch import fetch_all
from lakesmith.execute.runner import Walk
from lakesmith.execute.size import planned_bytes
from lakesmith.plan.steps import Decision, UpToDate
from lakesmith.project.definitions import TableName

EngineFactory = Callable[[ProjectLock, bool], Engine]
"""Starts an engine: the lock is told which JVM works under it, and True says that there is little data to work on."""


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
        """Ends running jobs, if there is an engine."""
        if self._engine is not None:
            self._engine.cancel()

    def close(self) -> None:
        """Closes the engine, if there is one."""
        with self._lock:
            if self._engine is not None:
                self._engine.close()
                self._engine = None


@dataclass
class Run:
    """Brings ``names`` up to date and tells ``listener``. ``stop`` asks it to end after what is being published."""

    decider: Decider
    names: Sequence[TableName]
    start_engine: EngineFactory
    listener: Listener
    command: str = "run"
    wait_seconds: float = 0.0
    parallel: int = 2
    stop: Flag = field(default_factory=Flag)
    engine: LazyEngine | None = None

    def run(self) -> int:
        """Runs to the end; returns the exit code.

        Raises LockedError when another process holds the project, and whatever starting the engine raises.
        """
        started = time.monotonic()
        self.listener(RunStarted(tuple(self.names)))
        with self._lock() as lock:
            reach("after-lock", "")
            code = self._under_lock(lock)
        self.listener(RunFinished(time.monotonic() - started, code))
        return code

    def _lock(self) -> ProjectLock:
        return project_lock(
            self.decider.lake.project,
            self.command,
            wait_seconds=self.wait_seconds,
            on_wait=lambda holder: self._waiting(holder),
            given_up=self.stop.is_set,
        )

    def _waiting(self, holder: Holder | None) -> None:
        self.listener(LockWaiting(str(holder) if holder else "another process"))

    def _under_lock(self, lock: ProjectLock) -> int:
        self.decider.unread = fetch_all(self.decider.lake, self.names)
        with self.decider.one_look(self.names):
            decisions = self.decider.decide_all(self.names)
            little = planned_bytes(self.decider.lake, decisions) <= limits.LITTLE_DATA_BYTES
        if all(isinstance(decision, UpToDate) for decision in decisions):
            for decision in decisions:
                self._current(decision)
            return 0
        self.engine = LazyEngine(lambda: self.start_engine(lock, little))
        if takes_spark(self.decider.lake, decisions):
            # There will be work for it: it starts while the first table is being planned again.
            self.engine()
        current = self._current_for_sure(decisions)
        try:
            with self._lease():
                return Walk(
                    self.decider, self.names, self.engine, self.listener, self.parallel, self.stop, current
                ).run()
        finally:
            self.engine.close()

    def _lease(self) -> AbstractContextManager[None]:
        """Of a lake that others may be at work on: each table is decided anew once it is held."""
        waiting = Waiting(
            self.wait_seconds,
            lambda other: self.listener(LockWaiting(str(other))),
            self.stop.is_set,
        )
        return lease(self.decider.lake, self.command, waiting)

    def _current_for_sure(self, decisions: Sequence[Decision]) -> dict[TableName, UpToDate]:
        """What has nothing to do, and reads nothing that this run may still bring on."""
        found: dict[TableName, UpToDate] = {}
        for decision in decisions:
            inputs = self.decider.graph.node(decision.name).inputs
            if isinstance(decision, UpToDate) and all(up in found or up not in self.names for up in inputs):
                found[decision.name] = decision
        return found

    def _current(self, decision: object) -> None:
        if isinstance(decision, UpToDate):
            self.listener(TableCurrent(decision.name, decision.reason, decision.notes, decision.held))
