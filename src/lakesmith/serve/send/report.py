"""What became of the events that were sent."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from lakesmith.errors import Problem
from lakesmith.serve.send.batches import Batch
from lakesmith.serve.send.client import Reply


@dataclass(frozen=True, slots=True)
class SendReport:
    """Events, each counted once however often it was sent.

    ``good``: acknowledged events that fit the columns. ``duplicates``: events that were sent again on purpose
    and recognised; ``twice``: not recognised. ``refused``: by status; ``refused_good``: although they fit.
    ``unanswered``: the outcome is unknown. ``latencies``: seconds to the acknowledgement, ascending.
    """

    sent: int
    acknowledged: int
    good: int
    duplicates: int
    twice: int
    refused: dict[int, int]
    refused_good: int
    unanswered: int
    retries: int
    seconds: float
    latencies: tuple[float, ...]
    problem: Problem | None = None

    @property
    def rate(self) -> float:
        """Acknowledged events a second."""
        return self.acknowledged / self.seconds if self.seconds else 0.0

    def latency(self, part: float) -> float | None:
        """Returns the latency that this share of the requests did not exceed."""
        return (
            self.latencies[min(int(len(self.latencies) * part), len(self.latencies) - 1)]
            if self.latencies
            else None
        )

    @property
    def is_right(self) -> bool:
        """Whether every event that fits was accepted once."""
        return self.problem is None and not (self.refused_good or self.unanswered or self.twice)

    def as_dict(self) -> dict[str, Any]:
        median, p99 = self.latency(0.5), self.latency(0.99)
        return {
            "sent": self.sent,
            "acknowledged": self.acknowledged,
            "acknowledged_good": self.good,
            "duplicates": self.duplicates,
            "taken_twice": self.twice,
            "refused": {str(status): number for status, number in sorted(self.refused.items())},
            "unanswered": self.unanswered,
            "retries": self.retries,
            "seconds": round(self.seconds, 3),
            "events_per_second": round(self.rate, 1),
            "latency_ms": {
                "median": None if median is None else round(median * 1000, 2),
                "p99": None if p99 is None else round(p99 * 1000, 2),
            },
            "problem": None if self.problem is None else self.problem.as_dict(),
        }


@dataclass
class Tally:
    """Counts what several threads send."""

    problem: Problem | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _counts: Counter[str] = field(default_factory=Counter)
    _refused: Counter[int] = field(default_factory=Counter)
    _latencies: list[float] = field(default_factory=list)

    def answered(self, batch: Batch, reply: Reply, seconds: float, retries: int) -> None:
        """Counts a request that was answered for good."""
        with self._lock:
            self._counts.update(sent=batch.events, retries=retries)
            if reply.status != 202:
                self._refused[reply.status] += batch.events
                self._counts["refused_good"] += batch.events * batch.is_good
                return
            known = 0 if reply.data.get("duplicate") else int(reply.data.get("duplicates", 0))
            self._latencies.append(seconds)
            self._counts.update(acknowledged=batch.events, good=(batch.events - known) * batch.is_good)

    def answered_again(self, batch: Batch, reply: Reply, retries: int) -> None:
        """Counts a request that was acknowledged and sent once more."""
        known = reply.status == 202 and reply.data.get("duplicate") is True
        with self._lock:
            taken = 0 if known else int(reply.data.get("events", 0))
            self._counts.update(duplicates=batch.events * known, twice=taken, retries=retries)

    def not_answered(self, batch: Batch, retries: int, problem: Problem | None) -> None:
        """Counts a request without an answer."""
        with self._lock:
            self._counts.update(sent=batch.events, unanswered=batch.events, retries=retries)
            self.problem = self.problem or problem

    def report(self, seconds: float) -> SendReport:
        with self._lock:
            counts = self._counts
            return SendReport(
                **{name: counts[name] for name in ("sent", "acknowledged", "good", "duplicates", "twice")},
                refused=dict(self._refused),
                refused_good=counts["refused_good"],
                unanswered=counts["unanswered"],
                retries=counts["retries"],
                seconds=seconds,
                latencies=tuple(sorted(self._latencies)),
                problem=self.problem,
            )
