"""The state of ``up`` in ``.lakesmith/up.json``, for ``status`` and other readers.

It is written whole every second and at each change, and removed when ``up`` ends. After a kill the file
stays: its process is gone, or another one has its number.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from lakesmith.journal.lines import Process, born
from lakesmith.whole_file import write_whole

FILE: Final = "up.json"
SECONDS: Final = 1.0
"""Seconds between two writes."""


@dataclass(frozen=True, slots=True)
class TableState:
    """One table. Times are ISO 8601 in UTC.

    ``schedule`` and ``next_firing`` are None for a table that is refreshed on arrival. ``failures`` are in a
    row. The last batch since ``up`` began read ``last_rows``, and inserted, updated and deleted
    ``last_changed``. ``lag_seconds`` is the age of the oldest arrival.
    ``is_paused``: it is left alone until somebody resumes it.
    """

    schedule: str | None = None
    next_firing: str | None = None
    failures: int = 0
    is_parked: bool = False
    problem: Mapping[str, Any] | None = None
    next_try: str | None = None
    last_batch: str | None = None
    last_rows: int | None = None
    last_changed: int | None = None
    lag_seconds: float | None = None
    is_paused: bool = False


@dataclass(frozen=True, slots=True)
class LastRun:
    """The last run, with the tables that got a batch and those that failed."""

    ended: str
    seconds: float
    published: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IntakeState:
    """The intake. ``troubles``: why paths accept no events; ``problem``: why it cannot begin."""

    is_taking: bool = False
    troubles: Mapping[str, str] = field(default_factory=dict)
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class UpState:
    """``up`` as it is now. ``born`` tells its process from a later one with its number.

    ``page``: the address of the web page. ``intake`` is None without sources of events; ``problem`` says why
    no table can be refreshed.
    """

    host: str
    pid: int
    born: str
    since: str
    written: str = ""
    doing: str = "starting"
    address: str | None = None
    intake: IntakeState | None = None
    problem: Mapping[str, Any] | None = None
    last_run: LastRun | None = None
    page: str | None = None
    tables: Mapping[str, TableState] = field(default_factory=dict)


def this_process(address: str | None = None) -> UpState:
    """Returns the state of an ``up`` that begins in this process."""
    pid = os.getpid()
    intake = IntakeState() if address else None
    return UpState(socket.gethostname(), pid, born(pid), moment(), address=address, intake=intake)


def moment(at: datetime | None = None) -> str:
    """Returns a time, or the present one, as it is written here."""
    return (at or datetime.now(UTC)).isoformat(timespec="milliseconds")


def read_state(state_dir: Path) -> UpState | None:
    """Returns the state in the file; None if it is missing or invalid."""
    try:
        kept = json.loads((state_dir / FILE).read_bytes())
        last = LastRun(**kept.pop("last_run")) if kept["last_run"] else kept.pop("last_run")
        intake = IntakeState(**found) if (found := kept.pop("intake")) else None
        tables = {name: TableState(**each) for name, each in kept.pop("tables").items()}
        return UpState(**kept, last_run=last, intake=intake, tables=tables)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def is_here(state: UpState) -> bool:
    """Returns whether it was written on this machine."""
    return state.host == socket.gethostname()


def is_alive(state: UpState) -> bool:
    """Returns whether its process exists, on this machine."""
    return Process("", state.host, state.pid, state.born).is_alive is True


class Board:
    """Keeps the state in its file while ``up`` lives. Threads may share it."""

    def __init__(self, state_dir: Path, state: UpState, lags: Callable[[], Mapping[str, float]]) -> None:
        self._path = state_dir / FILE
        self._state = state
        self._lags = lags
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="up-state", daemon=True)

    def __enter__(self) -> Board:
        self.write()
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        self._thread.join()
        with self._lock, suppress(OSError):
            self._path.unlink(missing_ok=True)

    def put(self, **changes: Any) -> None:
        """Changes the state, and writes it."""
        with self._lock:
            self._state = replace(self._state, **changes)
        self.write()

    def write(self) -> None:
        """Writes the state. A full disk does not stop ``up``."""
        with self._lock, suppress(OSError):
            # Threads of an abandoned run must not write the file again.
            if self._ended.is_set():
                return
            write_whole(self._path, json.dumps(asdict(self._now()), indent=1) + "\n")

    def _now(self) -> UpState:
        lags = self._lags()
        tables = {
            name: replace(each, lag_seconds=lags.get(name)) for name, each in self._state.tables.items()
        }
        return replace(self._state, tables=tables, written=moment())

    def _keep(self) -> None:
        while not self._ended.wait(SECONDS):
            self.write()
