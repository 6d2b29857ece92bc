"""When something of the lake has changed, and the stream that tells browsers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.lock import lock_path
from lakesmith.errors import LakesmithError
from lakesmith.execute.opened import Opened
from lakesmith.journal.reading import Reader
from lakesmith.project.definitions import STATE_DIR
from lakesmith.serve.orders import FOLDER as ORDERS
from lakesmith.serve.state import UpState, read_state

_LOOK_SECONDS: Final = 0.3
_PING_SECONDS: Final = 15.0
_COARSE_SECONDS: Final = 10
"""How often landing folders, clocks and catalogs elsewhere are looked at: each is worth a new reading."""


class Access(Protocol):
    """How the project is read."""

    def opened(self) -> Opened:
        """See ``api.access.Access``."""

    def one_look(self) -> AbstractContextManager[object]:
        """See ``api.access.Access``."""


class Watch:
    """Gives the lake a version, which changes within a second of a commit, and of an edit of the project.

    The embedded catalog is asked where each table's metadata is, some milliseconds; a commit moves that. The
    project is read as it is for pages. Threads may share it; it looks once for all of them.
    """

    def __init__(self, folder: Path, access: Access) -> None:
        self._folder, self._access = folder, access
        self.journal = Reader(folder / STATE_DIR)
        self._lock_file = lock_path(folder / STATE_DIR)
        self._up: UpState | None = None
        self.besides: list[Callable[[], object]] = []
        """What else belongs to the version."""
        self._lock = threading.Lock()
        self._looked, self._version = float("-inf"), ""

    def doing(self) -> dict[str, str]:
        """Returns what is being done to tables now, in words; ``lakesmith up``: what it does."""
        found = {each.table: each.text for each in self.journal.look().doing() if each.table}
        return found if self._up is None else {**found, "lakesmith up": self._up.doing}

    def news(self, at_most: float = _LOOK_SECONDS) -> tuple[str, dict[str, str], int]:
        """Returns the version, what is being done to tables, and the revision of the journal."""
        return self.version(at_most), self.doing(), self.journal.revision

    def version(self, at_most: float = _LOOK_SECONDS) -> str:
        """Returns the version, at most so many seconds old. Those who wait for a look share the next one."""
        asked = time.monotonic()
        with self._lock:
            if self._looked <= asked - at_most:
                began = time.monotonic()
                self._version = self._look()
                self._looked = began
            return self._version

    def _look(self) -> str:
        try:
            with self._access.one_look():
                opened = self._access.opened()
            catalog = opened.lake.catalog
            there = opened.version, catalog.entries() if isinstance(catalog, LocalCatalog) else ()
        except LakesmithError as error:
            there = str(error), ()
        orders = _time(self._folder / STATE_DIR / ORDERS)
        besides = [each() for each in self.besides]
        self._up = read_state(self._folder / STATE_DIR)
        noted = (_time(self._lock_file), orders, _settled(self._up), *besides)
        seen = (there, noted, int(time.time()) // _COARSE_SECONDS)
        return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]


def _settled(state: UpState | None) -> UpState | None:
    """Returns the state of ``up`` without what changes all the time."""
    if state is None:
        return None
    tables = {name: replace(each, lag_seconds=None) for name, each in state.tables.items()}
    return replace(state, written="", doing="", tables=tables)


def _time(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


async def stream(watch: Watch, seen: str | None, is_ending: Callable[[], bool]) -> AsyncIterator[str]:
    """Yields server-sent events whenever something changes, and comments, so that a connection that is gone
    is noticed: ``state``, the version of the lake, which is the event's id; ``phase``, what is being done to
    tables, as JSON; ``activity``, the revision of the journal.
    """
    yield "retry: 1000\n\n"
    pinged, doing, revision = time.monotonic(), dict[str, str](), -1
    while not is_ending():
        version, now, lines = await asyncio.to_thread(watch.news)
        if version != seen:
            seen = version
            yield f"id: {version}\nevent: state\ndata: {version}\n\n"
        if now != doing:
            doing = now
            yield f"event: phase\ndata: {json.dumps(doing)}\n\n"
        if lines != revision:
            revision = lines
            yield f"event: activity\ndata: {revision}\n\n"
        if time.monotonic() - pinged > _PING_SECONDS:
            pinged = time.monotonic()
            yield ": ping\n\n"
        await asyncio.sleep(_LOOK_SECONDS)
