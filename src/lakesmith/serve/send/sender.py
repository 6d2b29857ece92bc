"""Sends requests at a rate, by a few connections, until each is answered."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult

from lakesmith.errors import Problem
from lakesmith.serve.send.batches import Batch, Batches
from lakesmith.serve.send.client import AGAIN, Client, NoAnswer, Reply
from lakesmith.serve.send.report import SendReport, Tally

_MOST_CONNECTIONS: Final = 16
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0
_HOPELESS: Final = {
    401: "set the variable that `tokens` names to the value that the intake has",
    404: "is it the intake of this project, and of this declaration? lakesmith up reads it when it starts",
    405: "is there a lakesmith intake at this address?",
}
"""Answers that every other request would have too."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How much is sent, and how fast.

    Args:
        rate: events a second.
        batch: events in a request.
        count: events in all; None: as many as fit in ``seconds``.
        patience: seconds for which a request is tried again.
    """

    rate: float
    batch: int
    count: int | None = None
    seconds: float | None = None
    patience: float = 60.0

    def events(self) -> int:
        """Returns the number of events."""
        fitting = math.inf if self.seconds is None else max(1, round(self.rate * self.seconds))
        return int(min(fitting, math.inf if self.count is None else self.count))


@dataclass
class Sender:
    """Sends once. ``stop`` ends it early: requests that are under way are waited for, no others begun."""

    url: SplitResult
    token: str | None
    batches: Batches
    pace: Pace
    stop: threading.Event = field(default_factory=threading.Event)
    _tally: Tally = field(default_factory=Tally)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _next: int = 0
    _begun: float = 0.0

    def send(self) -> SendReport:
        """Sends all, and says what came of it."""
        self._begun = time.monotonic()
        most = math.ceil(self.pace.rate / self.pace.batch) + 1
        threads = [
            threading.Thread(target=self._work, name="send") for _ in range(min(most, _MOST_CONNECTIONS))
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            self.stop.set()
            for thread in threads:
                thread.join()
        return self._tally.report(time.monotonic() - self._begun)

    def _work(self) -> None:
        client = Client(self.url, self.token)
        try:
            while (number := self._number()) is not None:
                begin = number * self.pace.batch
                events = min(self.pace.batch, self.pace.events() - begin)
                self._deliver(client, self.batches.make(number, begin, events))
        finally:
            client.close()

    def _number(self) -> int | None:
        """Returns the number of the next request when it is due; None at the end."""
        with self._lock:
            number = self._next
            self._next += 1
        due = self._begun + number * self.pace.batch / self.pace.rate
        is_over = self.pace.seconds is not None and time.monotonic() >= self._begun + self.pace.seconds
        if number * self.pace.batch >= self.pace.events() or is_over:
            return None
        return None if self.stop.wait(max(0.0, due - time.monotonic())) else number

    def _deliver(self, client: Client, batch: Batch) -> None:
        begun = time.monotonic()
        reply, retries, why = self._answered(client, batch)
        if reply is None:
            self._tally.not_answered(batch, retries, self._given_up(why))
            self.stop.set()
            return
        self._tally.answered(batch, reply, time.monotonic() - begun, retries)
        if reply.status in _HOPELESS:
            self._tally.problem = self._refused(reply)
            self.stop.set()
        if batch.again and reply.status == 202:
            known, retries, _ = self._answered(client, batch)
            if known is not None:
                self._tally.answered_again(batch, known, retries)

    def _answered(self, client: Client, batch: Batch) -> tuple[Reply | None, int, str]:
        """Returns the answer (None without one in time), the retries, and the reason of the last one."""
        end, pause, retries = time.monotonic() + self.pace.patience, _FIRST_PAUSE, 0
        while True:
            wait, pause = pause, min(pause * 2, _LONGEST_PAUSE)
            try:
                reply = client.post(batch.body, batch.key)
            except NoAnswer as error:
                why = str(error)
            else:
                if reply.status not in AGAIN:
                    return reply, retries, ""
                why, wait = f"status {reply.status}", reply.retry_after or wait
            if time.monotonic() + wait > end or self.stop.wait(wait):
                return None, retries, why
            retries += 1

    def _given_up(self, why: str) -> Problem | None:
        if self.stop.is_set():
            return None
        return Problem(
            "LS310",
            f"{self.url.geturl()} took nothing for {self.pace.patience:g} seconds",
            expected="an answer that events were taken",
            found=why,
            hint="lakesmith up, or another --url; --patience SECONDS waits longer",
        )

    def _refused(self, reply: Reply) -> Problem:
        return Problem(
            "LS311",
            f"{self.url.geturl()} takes no such requests",
            expected="status 202",
            found=f"status {reply.status}: {reply.data.get('error', '')}",
            hint=_HOPELESS[reply.status],
        )
