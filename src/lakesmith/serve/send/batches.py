"""Requests, each with its events and its Idempotency-Key, made from a seed and their number."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from lakesmith.serve.send.values import EventMaker, Occasion

_SHORTEST_LATE: Final = 60
_LONGEST_LATE: Final = 6 * 3600
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares from 0 to 1: late events, requests sent again, bad requests."""

    late: float = 0.0
    duplicate: float = 0.0
    bad: float = 0.0


@dataclass(frozen=True, slots=True)
class Batch:
    """One request. ``again``: it is sent twice. ``is_good``: its events fit the columns."""

    key: str
    body: bytes
    events: int
    is_good: bool
    again: bool


def _first_number() -> int:
    """Returns the first event's number of a run, in 63 bits: other milliseconds have other numbers."""
    return (time.time_ns() // 1_000_000 % 2**42) << 20


@dataclass(frozen=True)
class Batches:
    """Makes requests. A seed fixes the values; times, keys and ids are those of this run."""

    maker: EventMaker
    shares: Shares
    seed: int
    run: str = field(default_factory=lambda: secrets.token_hex(8))
    first: int = field(default_factory=_first_number)

    def make(self, number: int, begin: int, events: int) -> Batch:
        """Returns the request of a number, whose first event is number ``begin`` of the run."""
        random = Random(self.seed * 1_000_003 + number)
        is_good, again = random.random() >= self.shares.bad, random.random() < self.shares.duplicate
        now = datetime.now(UTC).replace(tzinfo=None)
        make = self.maker.good if is_good else self.maker.bad
        lines = [make(self._occasion(random, now, begin + each)) for each in range(events)]
        return Batch(f"{self.run}-{number}", "\n".join(lines).encode(), events, is_good, again)

    def _occasion(self, random: Random, now: datetime, number: int) -> Occasion:
        is_late = random.random() < self.shares.late
        late = random.uniform(_SHORTEST_LATE, _LONGEST_LATE) if is_late else 0.0
        return Occasion(random, now - timedelta(seconds=late), self.first + number)
