"""How fast events may come: a bucket of tokens, one an event, that fills up at the rate."""

from __future__ import annotations

import time
from collections.abc import Callable


class Bucket:
    """Holds the events of one second. A request larger than that leaves a debt, which those that follow wait for."""

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._tokens, self._at = float(rate), clock()

    def wait(self) -> float:
        """Seconds until something may come; 0: it may now."""
        now = self._clock()
        self._tokens = min(float(self._rate), self._tokens + (now - self._at) * self._rate)
        self._at = now
        return 0.0 if self._tokens > 0 else (1 - self._tokens) / self._rate

    def spend(self, events: int) -> None:
        """So many have come."""
        self._tokens -= events
