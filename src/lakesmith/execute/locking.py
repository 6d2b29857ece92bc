"""Locks and leases of a lake are taken here: for one command, or in turns between runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from threading import Event as Flag
from typing import Final

from lakesmith.catalog.home import project_lock
from lakesmith.catalog.lease import Waiting, held
from lakesmith.catalog.lock import ProjectLock
from lakesmith.catalog.remote import RemoteCatalog
from lakesmith.errors import LockedError
from lakesmith.execute.engine import RunStopped
from lakesmith.execute.lake import Lake


@dataclass(frozen=True)
class Claim:
    """A claim on a lake: the project's lock on this machine, and the lease of a shared catalog.

    Args:
        lake: the lake.
        command: how the holder is called in other processes' messages.
        wait_seconds: how long other holders are waited for.
        on_wait: called with the holder, in words, when waiting begins.
        given_up: asked while waiting; True ends it at once.
    """

    lake: Lake
    command: str
    wait_seconds: float = 0.0
    on_wait: Callable[[str], None] = lambda _: None
    given_up: Callable[[], bool] = lambda: False

    def lock(self) -> ProjectLock:
        """Returns the lock. Entering raises LockedError LS701, StateError LS525."""
        return project_lock(
            self.lake.project,
            self.command,
            wait_seconds=self.wait_seconds,
            on_wait=lambda holder: self.on_wait(str(holder) if holder else "another process"),
            given_up=self.given_up,
        )

    def lease(self) -> AbstractContextManager[None]:
        """Returns the lease, if the catalog is shared. Entering raises LockedError LS703."""
        catalog = self.lake.catalog
        if not isinstance(catalog, RemoteCatalog):
            return nullcontext()
        waiting = Waiting(self.wait_seconds, lambda other: self.on_wait(str(other)), self.given_up)
        return held(catalog.lease_table(self.lake.project.name), self.command, waiting)

    @contextmanager
    def both(self) -> Iterator[ProjectLock]:
        """Holds the lock and the lease while the body runs."""
        with self.lock() as lock, self.lease():
            yield lock


_GAP_SECONDS: Final = 0.3
"""How long the lock is free between two pieces: others look for it each tenth of a second."""

_LEASE_GAP_SECONDS: Final = 2.5
_LEASE_KEPT_SECONDS: Final = 10.0
"""How long a lease is kept over several pieces: others look for it every two seconds."""

FOR_EVER: Final = float("inf")


@dataclass
class Turns:
    """Takes turns on one lake. ``command``: what the lock's holder is called. ``on_wait`` is called with whom
    it waits for; ``stop`` ends it. ``give_way`` is asked between two pieces: True ends it there.
    """

    lake: Lake
    command: str
    wait_seconds: float = FOR_EVER
    on_wait: Callable[[str], None] = lambda _: None
    stop: Flag = field(default_factory=Flag)
    give_way: Callable[[], bool] = lambda: False
    jvm_pid: int | None = None
    _given_away: float | None = None

    @contextmanager
    def take(self) -> Iterator[None]:
        """Holds the lake while the body runs. Raises RunStopped, LockedError if the wait ends."""
        if self._given_away is None:
            self._given_away = time.monotonic()
        else:
            self._let_others()
        try:
            claim = Claim(self.lake, self.command, self.wait_seconds, self.on_wait, self.stop.is_set)
            with claim.lock() as lock:
                if self.jvm_pid is not None:
                    lock.note_jvm(self.jvm_pid)
                with claim.lease():
                    self._go_on()
                    yield
        except LockedError:
            self._go_on()
            raise

    def _let_others(self) -> None:
        is_shared = isinstance(self.lake.catalog, RemoteCatalog)
        since = time.monotonic() - (self._given_away or 0.0)
        if is_shared and since > _LEASE_KEPT_SECONDS:
            time.sleep(_LEASE_GAP_SECONDS)
            self._given_away = time.monotonic()
        else:
            time.sleep(_GAP_SECONDS)
        if self.give_way():
            self.stop.set()

    def _go_on(self) -> None:
        if self.stop.is_set():
            raise RunStopped([])
