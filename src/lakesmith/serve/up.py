"""``lakesmith up``: one warm Spark session refreshes the tables, and a process beside it takes events."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from socket import socket
from typing import Final

from lakesmith.catalog.home import project_lock
from lakesmith.errors import LakesmithError, Problem
from lakesmith.execute.events import RunResult
from lakesmith.execute.opened import Opened, read_project
from lakesmith.execute.quarantine import bad_positions
from lakesmith.execute.status import quarantined_rows
from lakesmith.execute.unforeseen import unforeseen
from lakesmith.project.files import scratch_folder
from lakesmith.serve.arrivals import Arrivals
from lakesmith.serve.intake.events import EventReader
from lakesmith.serve.intake.segments import PATTERN, release_ids, remove_taken
from lakesmith.serve.intake_process import IntakeProcess, listen, require_server
from lakesmith.serve.loop import Lake, Loop
from lakesmith.serve.notices import Observer
from lakesmith.serve.options import UpOptions
from lakesmith.serve.routes import EventSource, event_sources, tokens_of
from lakesmith.serve.schedule import FILE as FIRINGS
from lakesmith.serve.state import Board, IntakeState, this_process
from lakesmith.serve.tables import Tables, tables_of
from lakesmith.serve.watch import PROJECT, TopicWatcher, Watcher, can_watch, folders_of, topics_of
from lakesmith.sources.model import FileAction

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
    """A service that refreshes a project until it is stopped. ``open_lake`` opens the project."""

    options: UpOptions
    observer: Observer
    open_lake: Callable[[], Lake]
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
        with project_lock(project, "up", name="up"):
            return self._keep(event_sources(project), project.state_dir)

    def _keep(self, sources: Sequence[EventSource], state_dir: Path) -> bool:
        sockets = self._listening(sources)
        options, arrivals = self.options, Arrivals()
        address = options.url if sources else None
        watcher = Watcher(lambda table: self._notice(table, arrivals), self.observer.notice)
        topics = TopicWatcher(lambda table: self._notice(table, arrivals))
        around = _Around(options, arrivals, watcher, topics, self.open_lake)
        with Board(state_dir, this_process(address), arrivals.lags) as board:
            intake = IntakeProcess(options.served, lambda *news: self._on_intake(board, *news))
            loop = Loop(around, arrivals, self.observer, board, state_dir / FIRINGS, options.pace)
            self._loop = loop
            try:
                if sockets:
                    self._start_intake(intake, sources, sockets)
                self._note_if_unwatched()
                return self._look_on(loop)
            finally:
                board.put(doing="ending")
                try:
                    watcher.end()
                    topics.end()
                    loop.close()
                finally:
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
                if not self._stops:
                    self._alarm.wait(_LOOK_SECONDS)
        except Abandoned:
            return False
        return True

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
    open_lake: Callable[[], Lake]
    _opened: Opened | None = None

    def read(self) -> Tables:
        """Returns the tables as they are declared now, and watches their sources."""
        self._opened = read_project(self.options.project, self.options.target)
        tables = tables_of(self._opened)
        sources = event_sources(self._opened.project)
        self.arrivals.look_in({str(each.table.name): [each.folder] for each in sources})
        self.watcher.watch(folders_of(tables, self._opened.project.root))
        self.topics.watch(topics_of(tables))
        return tables

    def open(self) -> Lake:
        """Opens the project."""
        return self.open_lake()

    def tidy(self, result: RunResult) -> None:
        """Removes segments that a published batch has ingested."""
        # What stays because the project is just being edited goes after the next run.
        with suppress(LakesmithError, OSError):
            self._tidy(result)

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
