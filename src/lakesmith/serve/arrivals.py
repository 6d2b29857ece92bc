"""What has arrived and is not in the lake yet: segments of events, and files that were noticed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

from lakesmith.serve.intake.segments import PATTERN

QUIET_SECONDS: Final = 0.2
"""Seconds without a change in a table's folders before its files are ingested: they may still be written."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """What waits for one table; ``since`` and ``latest`` are when the first and the last arrived, since the
    epoch.

    ``notices`` counts changes of files; ``segments`` are names.
    """

    since: float
    latest: float
    notices: int = 0
    segments: frozenset[str] = frozenset()


class Arrivals:
    """Keeps what has arrived for each table until a run has seen it. Threads may share it."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = Lock()
        self._folders: dict[str, tuple[Path, ...]] = {}
        self._files: dict[str, Arrived] = {}
        self._seen: dict[str, frozenset[str]] = {}

    def look_in(self, folders: Mapping[str, Sequence[Path]]) -> None:
        """Sets the folders of each table's segments."""
        with self._lock:
            self._folders = {table: tuple(each) for table, each in folders.items()}

    def notice(self, table: str) -> None:
        """Notes that a file of a table came or changed."""
        now = self._clock()
        with self._lock:
            before = self._files.get(table, Arrived(now, now))
            self._files[table] = Arrived(before.since, now, before.notices + 1)

    def waiting(self) -> dict[str, Arrived]:
        """Returns what no run has seen yet, by table."""
        with self._lock:
            found = dict(self._files)
            for table in self._folders:
                new = {p: at for p, at in self._segments(table) if p not in self._seen.get(table, ())}
                if new:
                    known = found.get(table)
                    since = min([*new.values(), *([known.since] if known else [])])
                    latest, notices = (known.latest, known.notices) if known else (0.0, 0)
                    found[table] = Arrived(since, latest, notices, frozenset(new))
            return found

    def lags(self) -> dict[str, float]:
        """Returns for how many seconds the oldest arrival of each table has waited."""
        now = self._clock()
        return {table: round(max(0.0, now - each.since), 1) for table, each in self.waiting().items()}

    def settle(self, seen: Mapping[str, Arrived], tables: Iterable[str]) -> None:
        """Notes that a run which began after ``seen`` was returned has refreshed the tables."""
        with self._lock:
            for table in tables:
                if table in seen:
                    self._settle(table, seen[table])

    def _settle(self, table: str, seen: Arrived) -> None:
        now = self._files.get(table)
        if now is not None and now.notices <= seen.notices:
            del self._files[table]
        elif now is not None:
            self._files[table] = Arrived(seen.latest, now.latest, now.notices)
        there = frozenset(name for name, _ in self._segments(table))
        # Segments that somebody left out stay, though no run looks at them again.
        self._seen[table] = there & (self._seen.get(table, frozenset()) | seen.segments)

    def _segments(self, table: str) -> list[tuple[str, float]]:
        found = []
        for folder in self._folders.get(table, ()):
            for path in folder.glob(PATTERN):
                try:
                    found.append((path.name, path.stat().st_mtime))
                except OSError:
                    continue
        return found


def ready(waiting: Mapping[str, Arrived], now: float) -> frozenset[str]:
    """Returns the tables whose arrivals can be ingested: segments at once, files after a moment."""
    return frozenset(
        table
        for table, each in waiting.items()
        # A clock that was set back must not make them wait.
        if each.segments or not 0 <= now - each.latest < QUIET_SECONDS
    )
