"""Notices files and records of topics as they arrive; ``up`` looks every few seconds anyway."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from lakesmith.errors import LakesmithError
from lakesmith.project.definitions import STATE_DIR, KafkaSource, Source
from lakesmith.serve.tables import Tables
from lakesmith.sources.kafka.broker import topic_state
from lakesmith.sources.kafka.slices import TopicState
from lakesmith.sources.left_out import TEMPORARY_ENDINGS

PROJECT: Final = ""
"""The name that stands for the project's own files, among those of tables."""

_STEP_MS: Final = 50
_LONGEST_MS: Final = 500
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder to watch for a table, and the pattern of its files."""

    table: str
    path: Path
    pattern: str

    @property
    def _hidden(self) -> tuple[str, ...]:
        """How ignored names begin; a project's ``_defaults.yaml`` counts."""
        return (".", "__") if self.table == PROJECT else (".", "_")

    def concerns(self, changed: Path) -> bool:
        """Returns whether a changed file may be ingested."""
        try:
            parts = changed.relative_to(self.path).parts
        except ValueError:
            return False
        if not parts or any(part.startswith(self._hidden) for part in parts):
            return False
        # A folder that is moved here with its files is one change.
        return is_file_of(parts[-1], self.pattern) or changed.is_dir()


def is_file_of(name: str, pattern: str) -> bool:
    """Returns whether a name is that of a finished file that matches the pattern."""
    return fnmatchcase(name, pattern) and not name.lower().endswith(TEMPORARY_ENDINGS)


def folders_of(tables: Tables, root: Path) -> Iterator[Folder]:
    """Yields the local folders of all sources of files, and that of the project's tables."""
    for name, table in tables.definitions.items():
        for source in table.sources:
            if source.has_files and not source.has_events and _is_local(source, root):
                yield Folder(name, _absolute(root / source.path), source.pattern)
    yield Folder(PROJECT, _absolute(root / "tables"), "*")


def can_watch() -> bool:
    """Returns whether the package that watches is installed."""
    return find_spec("watchfiles") is not None


class Watcher:
    """Watches folders in a thread; ``notice`` receives the name of a change's table."""

    def __init__(self, notice: Callable[[str], None], complain: Callable[[str], None]) -> None:
        self._notice = notice
        self._complain = complain
        self._watched: Mapping[Path, object] = {}
        self._folders: tuple[Folder, ...] = ()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, folders: Iterable[Folder]) -> None:
        """Watches the folders that exist now. Cheap if nothing has changed."""
        self._folders = tuple(folders)
        there = {each.path: identity for each in self._folders if (identity := _identity(each.path))}
        if there == self._watched or not can_watch():
            return
        self.end()
        self._watched, self._ended = there, threading.Event()
        if there:
            arguments = (frozenset(there), self._ended)
            self._thread = threading.Thread(target=self._keep, args=arguments, name="watch", daemon=True)
            self._thread.start()

    def end(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(1.0)
        self._thread, self._watched = None, {}

    def _keep(self, paths: frozenset[Path], ended: threading.Event) -> None:
        from watchfiles import Change, watch

        try:
            for changes in watch(
                *paths,
                watch_filter=None,
                debounce=_LONGEST_MS,
                step=_STEP_MS,
                stop_event=ended,
                rust_timeout=500,
            ):
                self._tell({Path(path) for change, path in changes if change is not Change.deleted})
        except (OSError, RuntimeError) as error:
            self._complain(f"folders cannot be watched, files are found a little later: {error}")

    def _tell(self, changed: set[Path]) -> None:
        for table in {each.table for each in self._folders if any(map(each.concerns, changed))}:
            self._notice(table)


def _is_local(source: Source, root: Path) -> bool:
    """Returns whether a folder can be watched: it is local, without the lake in it."""
    if _URI.match(source.path):
        return False
    return not (root / STATE_DIR).is_relative_to(_absolute(root / source.path))


def _identity(path: Path) -> tuple[int, int] | None:
    # A folder that was removed and made again is another one.
    with suppress(OSError):
        found = path.stat()
        return (found.st_dev, found.st_ino)
    return None


def _absolute(path: Path) -> Path:
    """Returns the absolute path; links are kept."""
    return Path(os.path.abspath(path))  # noqa: PTH100


LOOK_SECONDS: Final = 1.0

Topic = tuple[str, KafkaSource]
"""A table, and one of its sources."""


def topics_of(tables: Tables) -> Iterator[Topic]:
    for name, table in tables.definitions.items():
        for source in table.sources_of(KafkaSource):
            yield name, source


class TopicWatcher:
    """Asks brokers each second, in a thread; ``notice`` receives the table of a topic that changed."""

    def __init__(
        self,
        notice: Callable[[str], None],
        ask: Callable[[KafkaSource], TopicState] = topic_state,
        seconds: float = LOOK_SECONDS,
    ) -> None:
        self._notice, self._ask, self._seconds = notice, ask, seconds
        self._topics: tuple[Topic, ...] = ()
        self._seen: dict[Topic, TopicState | None] = {}
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, topics: Iterator[Topic]) -> None:
        """Watches topics from now on. Cheap if nothing has changed."""
        self._topics = tuple(topics)
        if self._topics and self._thread is None:
            self._thread = threading.Thread(target=self._keep, name="topics", daemon=True)
            self._thread.start()

    def end(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(1.0)

    def look(self) -> None:
        """Asks once for each topic."""
        for topic in self._topics:
            before, now = self._seen.get(topic), self._state(topic)
            self._seen[topic] = now
            if now is not None and now != before:
                self._notice(topic[0])

    def _state(self, topic: Topic) -> TopicState | None:
        # The run that meets a problem reports it; a topic that is back counts as changed.
        try:
            return self._ask(topic[1])
        except LakesmithError:
            return None

    def _keep(self) -> None:
        while not self._ended.wait(self._seconds):
            self.look()
