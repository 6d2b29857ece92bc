"""Brings tables up to date, in order, independent ones side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event as Flag

from lakesmith.errors import LakesmithError, Problem, RunError
from lakesmith.execute.advance import publish_advance
from lakesmith.execute.decide import Decider
from lakesmith.execute.engine import Engine, NotIncremental, Outdated, RunStopped, Unanswered
from lakesmith.execute.events import (
    Listener,
    TableCurrent,
    TableFailed,
    TableHeld,
    TablePublished,
    TableRedone,
    TableStarted,
)
from lakesmith.execute.faults import reach
from lakesmith.execute.unforeseen import unforeseen_of
from lakesmith.plan.steps import Refused, TableStep, UpToDate, Waiting
from lakesmith.project.definitions import TableName
from lakesmith.sources.bad_files import BadFiles

TRIES = 5
"""How often a batch is planned and done anew when what it was planned on moves."""


@dataclass
class Walk:
    """One walk over the selected tables, in the graph's order.

    ``engine`` gives the engine, starting it if need be; ``parallel`` is how many tables are worked on at once. ``current``: what was
    found to have nothing to do when the run began, which is not looked at again.
    """

    decider: Decider
    names: Sequence[TableName]
    engine: Callable[[], Engine]
    listener: Listener
    parallel: int = 2
    stop: Flag = field(default_factory=Flag)
    current: Mapping[TableName, UpToDate] = field(default_factory=dict)
    _failed: dict[TableName, int] = field(default_factory=dict)
    _unanswered: set[TableName] = field(default_factory=set)

    def run(self) -> int:
        """Walks to the end and returns the exit code: the highest of the tables' codes, 0 when none failed."""
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
        return max(self._failed.values(), default=0)

    def _ready(self, pending: Sequence[TableName], done: set[TableName]) -> list[TableName]:
        return [name for name in pending if all(up in done for up in self._upstream(name))]

    def _upstream(self, name: TableName) -> list[TableName]:
        return [table for table in self.decider.graph.node(name).inputs if table in self.names]

    def _bring(self, name: TableName) -> int:
        """One table, whatever happens to it; returns its exit code."""
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
        return 0

    def _failed_by(self, name: TableName, error: LakesmithError, started: float) -> int:
        self.listener(TableFailed(name, error.problems, error.exit_code, time.monotonic() - started))
        return error.exit_code

    def _bring_once(self, name: TableName) -> None:
        for _ in range(TRIES):
            # What has work is decided again, however lately it was: others may have moved it, its inputs or its files since.
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
        """Does a step; False when it has to be planned anew."""
        started = time.monotonic()
        self.listener(TableStarted(step))
        try:
            report = publish_advance(self.decider.lake, step) or self.engine().run_step(step, self.listener)
        except Outdated as moved:
            self.listener(TableRedone(step.name, moved.reason))
            return False
        except Unanswered as lost:
            # Once: a server that stays away is told of.
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
    return RunError(
        Problem(
            "LS612",
            f"{name} or its files changed in each of {TRIES} tries",
            expected="a table and files that nobody changes while a batch is read and published",
            found="other writers at every try",
            hint="stop the other writer, or give files time to be written: min_age on the source",
        )
    )
