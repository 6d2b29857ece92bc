"""Group commit: requests that come at the same time are written and flushed to the disk together, and then acknowledged."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum
from typing import Final

from lakesmith.serve.intake.frames import Request
from lakesmith.serve.intake.segments import Segments, digest

SEALED_AFTER_SECONDS: Final = 1.0
"""So long an event waits at most before a run can see it."""
SEALED_ABOVE_BYTES: Final = 8 * 1024 * 1024
MOST_WAITING: Final = 10_000
"""Requests that may wait for the disk; more are refused, to come again."""
MOST_AT_ONCE: Final = 1_000


class Taken(Enum):
    """What became of a request."""

    NEW = "new"
    KNOWN = "known"
    """The same events came with this key before: nothing was written."""
    OTHER = "other"
    """Other events came with this key before: nothing was written."""


class Full(Exception):
    """More requests wait than can be written; or the disk takes no more, in which case the writer is ``broken``."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    request: Request
    answer: Future[Taken]


class Writer:
    """Writes to one source's segments, by a thread of its own. After a failed write it takes nothing more: what a disk that failed
    once says of a second try is not to be trusted.
    """

    def __init__(self, segments: Segments) -> None:
        self.segments = segments
        self.broken: OSError | None = None
        self._queue: queue.Queue[_Waiting | None] = queue.Queue(MOST_WAITING)
        self._thread = threading.Thread(target=self._run, name="intake", daemon=True)

    def start(self) -> None:
        """Takes up what an earlier process left, and begins. Raises OSError."""
        self.segments.open()
        self._thread.start()

    def take(self, request: Request) -> Future[Taken]:
        """Answered once the request is on the disk. Raises Full."""
        answer: Future[Taken] = Future()
        if self.broken is not None:
            raise Full(str(self.broken))
        try:
            self._queue.put_nowait(_Waiting(request, answer))
        except queue.Full:
            raise Full(f"{MOST_WAITING} requests wait already") from None
        return answer

    def stop(self) -> None:
        """Writes what waits, seals it, and ends."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        stopping = False
        while not stopping:
            group, stopping = self._next()
            try:
                self._write(group)
                if stopping or self._is_due():
                    self.segments.seal()
            except OSError as error:
                self.broken = error
                for each in group:
                    if not each.answer.done():
                        each.answer.set_exception(Full(str(error)))
        self._refuse_rest()
        self.segments.close()

    def _next(self) -> tuple[list[_Waiting], bool]:
        """What waits, and whether it is the last."""
        group: list[_Waiting] = []
        try:
            item = self._queue.get(timeout=SEALED_AFTER_SECONDS / 4)
            while item is not None:
                group.append(item)
                if len(group) >= MOST_AT_ONCE:
                    return group, False
                item = self._queue.get_nowait()
        except queue.Empty:
            return group, False
        return group, True

    def _is_due(self) -> bool:
        return self.segments.age() >= SEALED_AFTER_SECONDS or self.segments.size >= SEALED_ABOVE_BYTES

    def _write(self, group: list[_Waiting]) -> None:
        if self.broken is not None and group:
            raise self.broken
        fresh: dict[bytes, _Waiting] = {}
        later: list[_Waiting] = []
        new: list[_Waiting] = []
        for each in group:
            key = each.request.key
            if key and (key in self.segments.keys or key in fresh):
                later.append(each)
                continue
            if key:
                fresh[key] = each
            new.append(each)
        if new:
            self.segments.append([each.request for each in new])
        for each in new:
            each.answer.set_result(Taken.NEW)
        for each in later:
            same = self.segments.keys[each.request.key] == digest(each.request)
            each.answer.set_result(Taken.KNOWN if same else Taken.OTHER)

    def _refuse_rest(self) -> None:
        while not self._queue.empty():
            item = self._queue.get_nowait()
            if item is not None:
                item.answer.set_exception(Full("the intake is stopping"))
