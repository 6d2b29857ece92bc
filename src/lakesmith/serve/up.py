"""``lakesmith up``: one warm Spark session refreshes the tables, and a process beside it takes events."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from socket import socket
from typing import TYPE_CHECKING, Final

from lakesmith.catalog.home import project_lock
from lakesmith.errors import LakesmithError, Problem
from lakesmith.execute.events import Listener, RunResult
from lakesmith.execute.opened import Opened, read_project
from lakesmith.execute.quarantine import bad_positions
from lakesmith.execute.status import quarantined_rows
from lakesmith.execute.unforeseen import unforeseen
from lakesmith.journal.acting import Action, acting
from lakesmith.journal.lines import Journal
from lakesmith.project.definitions import Project
from lakesmith.project.files import scratch_folder
from lakesmith.serve.arrivals import Arrivals
from lakesmith.serve.intake.events import EventReader
from lakesmith.serve.intake.segments import PATTERN, release_ids, remove_taken
from lakesmith.serve.intake_process import IntakeProcess, listen, require_server
from lakesmith.serve.loop import Lake, Loop
from lakesmith.serve.notices import Heard, Observer
from lakesmith.serve.options import UpOptions
from lakesmith.serve.page_process import page_of
from lakesmith.serve.routes import EventSource, event_sources, tokens_of
from lakesmith.serve.schedule import FILE as FIRINGS
from lakesmith.serve.state import Board, IntakeState, this_process
from lakesmith.serve.tables import Tables, tables_of
from lakesmith.serve.watch import PROJECT, TopicWatcher, Watcher, can_watch, folders_of, topics_of
from lakesmith.sources.model import FileAction

if TYPE_CHECKING:
    from lakesmith.spark.start.attempts import SessionHandle

_LOOK_SECONDS: Final = 0.25
"""Seconds between two listings of the folders of events."""


class _Alarm:
    """Ends a sleep from any thread or signal handler: an Event could deadlock there, a SimpleQueue cannot."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[None] = SimpleQueue()

    def set(self) -> None:
        """Ends the present sleep, or the next one."""
        self._calls.put(None)

    def wait(self, seconds: float) -> None:
        """Sleeps until ``set`` is called, at most so many seconds."""
        with suppress(Empty):
            self._calls.get(timeout=seconds)
            while True:
                self._calls.get_nowait()


class Abandoned(BaseException):
    """Raised by a second ``stop``: the batch under way is abandoned, and nothing of it is published."""


@dataclass
class Up:
    """A service that refreshes a project until it is stopped. ``open_lake`` opens the project; in place of a
    lake whose Spark was lost it starts Spark. ``engine_of`` returns the Spark session of a lake, for commands
    beside the service, and ``is_starting`` whether it starts one."""

    options: UpOptions
    observer: Observer
    open_lake: Callable[[Lake | None], Lake]
    engine_of: Callable[[Lake], SessionHandle | None] = lambda _: None
    is_starting: Callable[[Lake | None], bool] = lambda _: False
    _alarm: _Alarm = field(default_factory=_Alarm)
    _stops: int = 0
    _loop: Loop | None = None

    def systemd_unit(self) -> str:
        """Returns the unit of systemd that runs ``lakesmith up`` with these options."""
        return self.options.unit(read_project(self.options.project, self.options.target).project.name)

    def stop(self) -> None:
        """Ends the service after the batch under way. A second call, by a signal, abandons the batch."""
        self._stops += 1
        self._alarm.set()
        if self._loop is not None:
            self._loop.is_ending = True
        if self._stops > 1 and self._loop is not None and self._loop.is_running:
            raise Abandoned

    def keep(self) -> bool:
        """Takes events and runs until ``stop``; returns whether the last batch was finished.

        Raises LakesmithError for an invalid project, LockedError if another ``up`` runs.
        """
        project = read_project(self.options.project, self.options.target).project
        journal = Journal(project.state_dir, project.secrets)
        with project_lock(project, "up", name="up"), acting(Action(journal, "up", "up")) as action:
            shown, self.observer = self.observer, Heard(self.observer, action)
            return self._keep(project, event_sources(project), shown)

    def _keep(self, project: Project, sources: Sequence[EventSource], shown: Observer) -> bool:
        state_dir = project.state_dir
        sockets = self._listening(sources)
        options, arrivals = self.options, Arrivals()
        address = options.url if sources else None
        watcher = Watcher(lambda table: self._notice(table, arrivals), self.observer.notice)
        topics = TopicWatcher(lambda table: self._notice(table, arrivals))
        around = _Around(options, arrivals, watcher, topics, self.open_lake)
        with Board(state_dir, this_process(address), arrivals.lags) as board:
            intake = IntakeProcess(options.served, lambda *news: self._on_intake(board, *news))
            loop = Loop(around, arrivals, self.observer, board, state_dir / FIRINGS, options.pace)
            loop.seal = lambda: intake.seal(each.folder for each in sources)
            self._loop = loop
            page = None
            try:
                if sockets:
                    self._start_intake(intake, sources, sockets)
                # Its link has a token, which is written nowhere.
                page = page_of(options, project, shown.notice, lambda url: board.put(page=url))
                self._note_if_unwatched()
                with self._lending(project, loop):
                    return self._look_on(loop)
            finally:
                board.put(doing="ending")
                try:
                    watcher.end()
                    topics.end()
                    loop.close()
                finally:
                    if page is not None:
                        page.end()
                    intake.end()

    def _listening(self, sources: Sequence[EventSource]) -> list[socket]:
        """Opens the sockets for events, if a table takes any. Raises LakesmithError."""
        if not sources:
            return []
        require_server()
        for each in sources:
            tokens_of(each, os.environ)
        return listen(self.options.host, self.options.port, [each.folder for each in sources])

    def _start_intake(
        self, intake: IntakeProcess, sources: Sequence[EventSource], sockets: Sequence[socket]
    ) -> None:
        intake.start(sockets)
        for each in sources:
            self.observer.notice(f"POST {self.options.url}{each.source.url_path} -> {each.table.name}")

    def _on_intake(self, board: Board, state: IntakeState, lines: Sequence[str]) -> None:
        board.put(intake=state)
        for line in lines:
            self.observer.notice(line)

    def _look_on(self, loop: Loop) -> bool:
        """Looks until ``stop``; returns whether the last batch was finished."""
        loop.start()
        try:
            while not self._stops:
                loop.look()
                if not self._stops and not loop.has_just_run:
                    self._alarm.wait(_LOOK_SECONDS)
        except Abandoned:
            return False
        return True

    def _lending(self, project: Project, loop: Loop) -> AbstractContextManager[object]:
        # Imported here: opening a project imports nothing of Spark.
        from lakesmith.spark.start.lender import Lender
        from lakesmith.spark.start.resident import socket_of

        path = socket_of(project.root, project.target.name, kind="up")
        return Lender(path, partial(self._lent, loop), partial(self._is_starting, loop), self.observer.notice)

    def _lent(self, loop: Loop) -> SessionHandle | None:
        lake = loop.lake
        return None if lake is None or lake.lost_spark else self.engine_of(lake)

    def _is_starting(self, loop: Loop) -> bool:
        return not self._stops and (loop.is_replacing_spark or self.is_starting(loop.lake))

    def _notice(self, table: str, arrivals: Arrivals) -> None:
        if table != PROJECT:
            arrivals.notice(table)
        elif self._loop is not None:
            self._loop.project_changed = True
        self._alarm.set()

    def _note_if_unwatched(self) -> None:
        if not can_watch():
            every = f"{self.options.pace.every:g} s"
            self.observer.notice(
                f"files are looked for every {every}; with pip install 'lakesmith[live]' they are noticed"
            )


@dataclass
class _Around:
    """The project's files and folders. Implements ``loop.Surroundings``."""

    options: UpOptions
    arrivals: Arrivals
    watcher: Watcher
    topics: TopicWatcher
    open_lake: Callable[[Lake | None], Lake]
    _opened: Opened | None = None
    _parked: dict[str, Problem] | None = None

    def read(self) -> Tables:
        """Returns the tables as they are declared now, and watches their sources."""
        self._opened = read_project(self.options.project, self.options.target)
        tables = tables_of(self._opened)
        sources = event_sources(self._opened.project)
        self.arrivals.look_in({str(each.table.name): [each.folder] for each in sources})
        self.watcher.watch(folders_of(tables, self._opened.project.root))
        self.topics.watch(topics_of(tables))
        return tables

    def open(self, lost: Lake | None = None) -> Lake:
        return self.open_lake(lost)

    def tidy(self, result: RunResult) -> None:
        """Removes segments that a published batch has ingested."""
        # What stays because the project is just being edited goes after the next run.
        with suppress(LakesmithError, OSError):
            self._tidy(result)

    def alert(self, parked: Mapping[str, Problem], listener: Listener) -> None:
        """Sends alerts about parked tables, if others are parked than before."""
        if self._opened is None or parked == self._parked:
            return
        self._parked = dict(parked)
        if self._opened.project.alerts is not None:
            from lakesmith.alerts.alerting import alert_parked

            alert_parked(self._opened.project, parked, listener)

    def _tidy(self, result: RunResult) -> None:
        lake = read_project(self.options.project, self.options.target).lake
        for each in event_sources(lake.project):
            if str(each.table.name) not in {*result.published, *result.current}:
                continue
            facts = lake.facts(each.table.name)
            ledger = lake.ledger(each.table.name, facts)
            there = [path.name for path in each.folder.glob(PATTERN)]
            entries = {name: ledger.get(f"{each.source.path}/{name}") for name in there}
            taken = {name for name, entry in entries.items() if entry and entry.action is FileAction.TAKEN}
            if each.source.event_id and taken and quarantined_rows(lake, each.table.name, facts):
                self._release(each, bad_positions(lake, each.table.name, facts, taken))
            remove_taken(each.folder, taken)

    def _release(self, source: EventSource, bad: Mapping[str, Sequence[int]]) -> None:
        """Releases the ids of events in quarantine: a corrected event may be sent again."""
        reader = EventReader(source.table.columns, source.source.event_id)
        for segment, positions in bad.items():
            lines = (source.folder / segment).read_bytes().split(b"\n")
            ids = (each for number in positions for each in reader.read(lines[number - 1]).ids)
            release_ids(source.folder, segment, (each for each in ids if each is not None))

    def explain(self, error: Exception) -> Problem:
        """Returns the problem of an unforeseen error; its stack trace goes to the logs."""
        root, opened = self.options.project, self._opened
        secrets = opened.project.secrets if opened else ()
        return unforeseen(error, scratch_folder(root) / "logs", secrets)
