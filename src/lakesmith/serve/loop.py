"""The loop of ``up``: finds what is due, runs it, and notes the outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from lakesmith.errors import LakesmithError, Problem, RunError
from lakesmith.execute.events import Listener, RunFailed, RunResult, TableFailed, TablePublished
from lakesmith.execute.maintenance import MaintenanceResult, Slice
from lakesmith.serve.arrivals import Arrivals, Arrived, ready
from lakesmith.serve.kept_lake import KeptLake, MayLoseSpark, Opening
from lakesmith.serve.notices import (
    Batch,
    Besides,
    Boarding,
    Checked,
    Doing,
    Observer,
    batch_of,
    checked_in_words,
    failure_in_words,
    maintained_in_words,
    missed_in_words,
    slice_in_words,
    table_states,
)
from lakesmith.serve.options import Pace
from lakesmith.serve.orders import Orders
from lakesmith.serve.retries import Failing, failed, held_back, is_quiet, is_stopped_by_rules, without_parking
from lakesmith.serve.schedule import (
    MAINTAINED,
    Due,
    Firing,
    Rounds,
    due,
    fired,
    known_firings,
    read_firings,
    write_firings,
)
from lakesmith.serve.state import LastRun, TableState, moment
from lakesmith.serve.tables import CHECKS, Tables, Work, eased, next_work


class Lake(MayLoseSpark, Protocol):
    """The part of a Lakehouse that the loop uses."""

    def run(self, *select: str, on_event: Listener | None = None) -> RunResult:
        """Refreshes tables."""

    def maintain_slice(self, table: str, /) -> Slice:
        """Compacts a table's newest small files and expires old snapshots."""

    def maintain(self, *select: str, give_way: Callable[[], bool]) -> MaintenanceResult:
        """Maintains tables that need it; ends between two pieces if ``give_way`` returns True."""

    def check(self) -> Checked:
        """Checks the rules of all tables."""


class Surroundings(Opening[Lake], Protocol):
    """The surroundings of the loop: the project's files and folders."""

    def read(self) -> Tables:
        """Returns the tables as they are declared now. Raises LakesmithError."""

    def tidy(self, result: RunResult) -> None:
        """Cleans up after a run."""

    def alert(self, parked: Mapping[str, Problem], listener: Listener) -> None:
        """Sends alerts about parked tables, and about those that are not parked any more."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The clocks: ``monotonic`` for pauses, ``now``, the time in UTC, for schedules."""

    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


@dataclass
class Loop:
    """The loop. ``firings_file`` keeps the last firings; a file beside it keeps those of maintenance.
    ``seal`` has the intake make segments of the events that it has written."""

    around: Surroundings
    arrivals: Arrivals
    observer: Observer
    board: Boarding
    firings_file: Path
    pace: Pace = field(default_factory=Pace)
    clock: Clock = Clock()
    seal: Callable[[], None] = lambda: None
    project_changed: bool = False
    is_running: bool = False
    is_ending: bool = False
    _tables: Tables = field(default_factory=lambda: Tables({}))
    _firings: dict[str, Firing] = field(default_factory=dict)
    _maintained: dict[str, Firing] = field(default_factory=dict)
    _repeated: dict[str, Failing] = field(default_factory=dict)
    """Maintenance and checks during which Spark was lost."""
    _failing: dict[str, Failing] = field(default_factory=dict)
    _batches: dict[str, Batch] = field(default_factory=dict)
    _rounds: Rounds = field(default_factory=Rounds)
    _doing: Doing = field(init=False)
    _besides: Besides = field(init=False)
    _kept: KeptLake[Lake] = field(init=False)
    _nothing_runs: Failing | None = None
    _look_at: float = float("-inf")
    _begun: float = float("-inf")
    _is_first: bool = True
    has_just_run: bool = False
    """Whether the last look led to a run: what has arrived now arrived during it."""
    _put_off: tuple[str, ...] = ()
    _paused: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self._besides = Besides(self.observer)
        self._kept = KeptLake(self.around, lambda text: self.observer.notice(text))

    def start(self) -> None:
        """Reads the project and opens the lake. Raises LakesmithError."""
        self._firings = read_firings(self.firings_file)
        self._maintained = read_firings(self._maintained_file)
        self._read()
        self._kept.living()

    def close(self) -> None:
        """Ends Spark."""
        if self.lake is not None:
            self.lake.close()

    @property
    def lake(self) -> Lake | None:
        """The lake that it runs in now."""
        return self._kept.now

    @property
    def is_replacing_spark(self) -> bool:
        """Whether Spark was lost, and another one is started shortly."""
        return self._kept.is_replaced and not self.is_ending

    def look(self) -> None:
        """Does what is due now."""
        self._kept.replace()
        now = self.clock.monotonic()
        if now < self._begun + self.pace.at_most_every:
            return
        if self._nothing_runs is not None and now < self._nothing_runs.next_try and not self.project_changed:
            return
        everything = now >= self._look_at or self.project_changed
        try:
            if everything:
                self._read()
        except LakesmithError as error:
            self._fail_as_a_whole(error.problems)
        else:
            self._work(now, everything)

    def _work(self, now: float, everything: bool) -> None:
        waiting = self.arrivals.waiting()
        self._follow_orders(now)
        arrived = ready(waiting, self.clock.now().timestamp()) - self._paused
        found = due(self._tables.schedules, self._firings, self.clock.now())
        left = (self._put_off, self._paused)
        work = next_work(self._tables, arrived, found, self._failing, now, everything=everything, left=left)
        is_under_load = bool(arrived) and self.has_just_run
        self.has_just_run = work is not None
        if work is not None:
            before, self._put_off = self._put_off, ()
            if is_under_load:
                work, self._put_off = eased(self._tables, work, before, found, self._failing)
            self._tell_missed(found, work)
            self._run(work, waiting)
        elif everything:
            self._nothing_runs = None
        self._maintain()
        if everything and self._nothing_runs is None:
            self._look_at = self.clock.monotonic() + self.pace.every
        self._is_first = False

    def _follow_orders(self, now: float) -> None:
        orders = Orders(self.firings_file.parent)
        self._failing = orders.tried_at_once(self._failing, now)
        if (paused := orders.paused()) != self._paused:
            self._paused = paused
            self._show()

    def _read(self) -> None:
        self.project_changed = False
        before, self._tables = self._tables, self.around.read()
        now = self._tables.definitions
        # A failing table that was changed is tried at once.
        self._failing = {
            name: each
            for name, each in self._failing.items()
            if name in now and now[name] == before.definitions.get(name)
        }
        firings = known_firings(self._tables.schedules, self._firings, self.clock.now())
        self._keep_firings(firings)
        self._show()

    def _run(self, work: Work, waiting: Mapping[str, Arrived]) -> None:
        self._begun = self.clock.monotonic()
        if any(each.segments for each in waiting.values()):
            # So the run takes all that was acknowledged until now.
            self.seal()
        try:
            result = self._result(work)
        except LakesmithError as error:
            self._fail_as_a_whole(error.problems)
        except Exception as error:  # noqa: BLE001 - there is a next run
            self._fail_as_a_whole([self.around.explain(error)])
        else:
            if self._nothing_runs is not None:
                self.observer.notice("runs go on")
                self._nothing_runs = None
            self._note(work, waiting, result)

    def _result(self, work: Work) -> RunResult:
        lake = self._kept.living()
        self._doing = Doing(self.board, self._on_outcome, self._besides)
        self.is_running = True
        try:
            return lake.run(*work.tables, on_event=self._doing)
        except RunFailed as error:
            return error.result
        finally:
            self._doing.is_over = True
            self.is_running = False

    def _on_outcome(self, event: TablePublished | TableFailed) -> None:
        """Reports how a table's batch ended at once: other tables of the run may take long."""
        name = str(event.table)
        if isinstance(event, TablePublished):
            self._batches[name] = batch_of(event.report, self.clock.now())
            self.observer.on_batch(name, event.report)
            self._recover(name)
        else:
            self._fail(name, event.problems)
        self.board.put(tables=self._table_states())

    def _note(self, work: Work, waiting: Mapping[str, Arrived], result: RunResult) -> None:
        done = [name for name in work.tables if name in result.published or name in result.current]
        stopped = [name for name, problems in result.failed.items() if is_stopped_by_rules(problems)]
        self.arrivals.settle(waiting, [*done, *stopped])
        answered = {name: at for name, at in work.firings.items() if name in done}
        self._keep_firings(fired(self._firings, answered))
        for name in done:
            self._recover(name)
        for name, problems in result.failed.items():
            if name not in self._doing.done:
                self._fail(name, problems)
        if result.published:
            self.observer.on_run(result)
        self._kept.renew([problem for problems in result.failed.values() for problem in problems])
        self.around.tidy(result)
        self._show_run(result)
        parked = {name: each.problem for name, each in self._failing.items() if each.is_parked}
        self.around.alert(parked, self._besides)
        self._rounds.count(result.published)
        if (due_now := self._rounds.due()) is not None:
            self._maintain_table(due_now, self._slice_lines)

    def _slice_lines(self, name: str) -> list[str]:
        return [line] if (line := slice_in_words(name, self._kept.living().maintain_slice(name))) else []

    def _check_lines(self, _name: str) -> list[str]:
        return checked_in_words(self._kept.living().check())

    def _maintain_table(self, name: str, work: Callable[[str], list[str]]) -> bool:
        """Does maintenance of a table. A failure is reported: the table's rows do not depend on it. Returns
        whether Spark was lost meanwhile."""
        self.board.put(doing=f"maintaining {name}")
        self.is_running = True
        problems: Sequence[Problem] = ()
        try:
            said = work(name)
        except LakesmithError as error:
            problems = error.problems
        except Exception as error:  # noqa: BLE001 - the next batch must come
            problems = [self.around.explain(error)]
        finally:
            self.is_running = False
        what = "the rules were not checked" if name == CHECKS else f"{name} was not maintained"
        for line in [f"{what}: {problems[0].what}"] if problems else said:
            self.observer.notice(line)
        is_lost = self._kept.renew(problems)
        self._show()
        return is_lost

    def _maintain(self) -> None:
        """Maintains one table that is due; arrivals come first. A failed table waits for its next time, but
        is repeated if Spark was lost."""
        schedules = self._tables.maintenance
        self._keep_maintained(known_firings(schedules, self._maintained, self.clock.now()))
        later = held_back(self._repeated, self.clock.monotonic())
        found = [
            each for each in due(schedules, self._maintained, self.clock.now()) if each.table not in later
        ]
        if not found or self.is_ending:
            return
        gave_way: list[bool] = []

        def give_way() -> bool:
            arrived = ready(self.arrivals.waiting(), self.clock.now().timestamp())
            if self.is_ending or arrived - self._paused:
                gave_way.append(True)
            return bool(gave_way)

        name = found[0].table
        is_lost = self._maintain_table(
            name,
            self._check_lines
            if name == CHECKS
            else lambda name: maintained_in_words(self._kept.living().maintain(name, give_way=give_way)),
        )
        if not gave_way and not self._is_repeated(name, is_lost):
            self._keep_maintained(fired(self._maintained, {name: found[0].at}))

    def _is_repeated(self, name: str, is_lost: bool) -> bool:
        """Returns whether maintenance is done again before its next time: as batches, but not for ever."""
        before = self._repeated.pop(name, None)
        if is_lost:
            now = self.clock.monotonic()
            after = failed(before, [Problem("LS604", "Spark was lost")], now)
            if not after.is_parked:
                self._repeated[name] = after
                return True
            self.observer.notice(f"{name} lost Spark {after.failures} times, and waits for its next time")
        return False

    def _show_run(self, result: RunResult) -> None:
        ended = self.clock.now()
        found = result.published.keys() - self._doing.done
        self._batches |= {name: batch_of(result.published[name], ended) for name in found}
        if result.published or result.failed:
            last = LastRun(moment(ended), result.seconds, tuple(result.published), tuple(result.failed))
            self.board.put(last_run=last)
        self._show()

    def _recover(self, name: str) -> None:
        before = self._failing.pop(name, None)
        if before is not None and not is_quiet(before):
            times = "once" if before.failures == 1 else f"{before.failures} times"
            self.observer.notice(f"{name} works again, after it had failed {times}")

    def _fail(self, name: str, problems: Sequence[Problem]) -> None:
        now = self.clock.monotonic()
        before, after = self._failing.get(name), failed(self._failing.get(name), problems, now)
        self._failing[name] = after
        if is_quiet(after) or (before is not None and before.is_parked and not after.is_new):
            return
        if after.is_new or (before is not None and is_quiet(before)):
            self.observer.on_problems(RunError(problems))
        self.observer.notice(failure_in_words(name, after, now))

    def _fail_as_a_whole(self, problems: Sequence[Problem]) -> None:
        now = self.clock.monotonic()
        after = without_parking(failed(self._nothing_runs, problems, now), now)
        self._nothing_runs, self._look_at = after, after.next_try
        if after.is_new:
            self.observer.on_problems(RunError(problems))
            self.observer.notice(
                f"nothing can be run; it is tried again, first in {after.next_try - now:.0f} s"
            )
        self._kept.renew(problems)
        self._show()

    def _tell_missed(self, found: Sequence[Due], work: Work) -> None:
        for each in found:
            is_cron = self._tables.schedules[each.table].cron is not None
            is_missed = is_cron and (each.passed > 1 or self._is_first)
            if is_missed and each.table in work.firings and each.table not in self._failing:
                self.observer.notice(missed_in_words(each))

    def _keep_firings(self, firings: dict[str, Firing]) -> None:
        if firings != self._firings:
            self._firings = firings
            self._write(self.firings_file, firings)

    def _keep_maintained(self, firings: dict[str, Firing]) -> None:
        if firings != self._maintained:
            self._maintained = firings
            self._write(self._maintained_file, firings)

    @property
    def _maintained_file(self) -> Path:
        return self.firings_file.with_name(MAINTAINED)

    def _write(self, path: Path, firings: dict[str, Firing]) -> None:
        try:
            write_firings(path, firings)
        except OSError as error:
            self.observer.notice(f"{path} cannot be written: {error.strerror or error}")

    def _show(self) -> None:
        problem = self._nothing_runs.problem.as_dict() if self._nothing_runs else None
        self.board.put(doing="waiting", problem=problem, tables=self._table_states())

    def _table_states(self) -> dict[str, TableState]:
        now = (self.clock.monotonic(), self.clock.now())
        states = table_states(self._tables, self._firings, self._failing, self._batches, now)
        return {name: replace(each, is_paused=name in self._paused) for name, each in states.items()}
