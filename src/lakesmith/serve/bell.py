"""Wakes a loop that sleeps."""

from __future__ import annotations

from contextlib import suppress
from queue import Empty, SimpleQueue


class Bell:
    """May be rung from any thread, and from the handler of a signal: an Event could deadlock there, a SimpleQueue cannot."""

    def __init__(self) -> None:
        self._rung: SimpleQueue[None] = SimpleQueue()

    def ring(self) -> None:
        """Ends the sleep that is under way, or the next one."""
        self._rung.put(None)

    def wait(self, seconds: float) -> None:
        """Sleeps until it is rung, or so long."""
        with suppress(Empty):
            self._rung.get(timeout=seconds)
            while True:
                self._rung.get_nowait()
