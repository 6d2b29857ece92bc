"""Group commit: requests that come together are written to the disk together, and then acknowledged."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from lakesmith.project.definitions import USUAL_MAX_WAITING
from lakesmith.serve.intake.frames import Frame, Request, mark
from lakesmith.serve.intake.segments import Segments

SEALED_AFTER_SECONDS: Final = 1.0
"""Maximum time before an accepted event is visible to a run, in seconds."""
SEALED_ABOVE_BYTES: Final = 8 * 1024 * 1024
MOST_WAITING: Final = 10_000
MOST_WAITING_BYTES: Final = 64 * 1024 * 1024
"""The maximum of requests, and of their bytes, that wait for the disk; more are refused."""
MOST_AT_ONCE: Final = 1_000
_MEASURED_AFTER_SECONDS: Final = 1.0
_MEASURING_SHARE: Final = 20
"""Measuring the backlog takes at most this fraction (1/n) of the writer's time."""
_TRIED_AFTER_SECONDS: Final = 1.0
"""Pause between two attempts to write after a write failed."""
_TOO_FAST: Final = "events come faster than they can be written; send it again"
_CANNOT_WRITE: Final = "nothing can be written now; send it again"


class Taken(Enum):
    """The outcome of a request."""

    NEW = "new"
    KNOWN = "known"
    """The same events came with this key before: nothing was written."""
    OTHER = "other"
    """Other events came with this key before: nothing was written."""


class Outcome(NamedTuple):
    """The outcome of a request, and how many of its events were not written because their ids were known."""

    taken: Taken
    duplicates: int = 0


class Full(Exception):
    """A request that cannot be accepted now. The message is for the operator, ``said`` for the sender."""

    def __init__(self, why: str, said: str = _CANNOT_WRITE, retry_after: int = 2) -> None:
        super().__init__(why)
        self.said = said
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class _Waiting:
    request: Request
    answer: Future[Outcome]


class Writer:
    """Writes to one source's segments, in a thread of its own.

    After a failed write (``broken``) nothing is accepted until ``Segments.recover`` succeeds, which is tried
    every second; nor while ``max_waiting`` bytes of segments wait for a run (``is_backed_up``).
    """

    def __init__(self, segments: Segments, max_waiting: int = USUAL_MAX_WAITING) -> None:
        self.segments = segments
        self.broken: Exception | None = None
        self.is_backed_up = False
        self._max_waiting = max_waiting
        self._measured = self._tried = 0.0
        self._is_asked = False
        self._queue: queue.Queue[_Waiting | None] = queue.Queue(MOST_WAITING)
        self._bytes = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="intake", daemon=True)

    @property
    def trouble(self) -> str | None:
        """Why no events are accepted now, for the operator; None if they are."""
        if self.broken is not None:
            why = getattr(self.broken, "strerror", None) or str(self.broken)
            return f"{self.segments.folder} cannot be written: {why}; it is tried again every second"
        if self.is_backed_up:
            return self._too_much_waits
        return None

    @property
    def _too_much_waits(self) -> str:
        return f"max_waiting is reached: {self._max_waiting:,} bytes of events wait for a run"

    def start(self) -> None:
        """Seals earlier journals, and begins; a folder that cannot be written is tried again."""
        try:
            self.segments.open()
        except OSError as error:
            self._break(error)
        self.is_backed_up = self.segments.backlog >= self._max_waiting
        self._thread.start()

    def take(self, request: Request) -> Future[Outcome]:
        """Returns the outcome, once the request is on the disk. Raises Full."""
        answer: Future[Outcome] = Future()
        if self.broken is not None:
            raise Full(str(self.broken))
        if self.is_backed_up:
            raise Full(self._too_much_waits, f"{self._too_much_waits}; send it again later", retry_after=5)
        if self._bytes > MOST_WAITING_BYTES:
            raise Full(f"{MOST_WAITING_BYTES:,} bytes wait for the disk already", _TOO_FAST)
        try:
            self._queue.put_nowait(_Waiting(request, answer))
        except queue.Full:
            raise Full(f"{MOST_WAITING:,} requests wait for the disk already", _TOO_FAST) from None
        self._count(len(request.lines))
        return answer

    def seal(self) -> None:
        """Asks for a segment of what is written, because a run begins. The next request, or a quarter of
        ``SEALED_AFTER_SECONDS``, brings it."""
        self._is_asked = True

    def stop(self) -> None:
        """Writes and seals what waits, and ends."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        stopping = False
        while not stopping:
            group, stopping = self._next()
            try:
                self._recover(at_once=stopping)
                self._write(group)
                if stopping or self._is_due():
                    self._is_asked = False
                    self.segments.seal()
                self._look_at_backlog()
            except Exception as error:  # noqa: BLE001 - every request must get an answer
                self._break(error)
                for each in group:
                    if not each.answer.done():
                        each.answer.set_exception(Full(str(error)))
            self._count(-sum(len(each.request.lines) for each in group))
        self._refuse_rest()
        self.segments.close()

    def _break(self, error: Exception) -> None:
        if error is not self.broken:
            self.broken, self._tried = error, time.monotonic()

    def _recover(self, *, at_once: bool) -> None:
        """Recovers from a failure, or raises it."""
        if self.broken is None:
            return
        if not at_once and time.monotonic() < self._tried + _TRIED_AFTER_SECONDS:
            raise self.broken
        self._tried = time.monotonic()
        self.segments.recover()
        self.broken = None

    def _count(self, size: int) -> None:
        with self._lock:
            self._bytes += size

    def _next(self) -> tuple[list[_Waiting], bool]:
        """Returns the requests that wait, and whether they are the last."""
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
        is_old = self._is_asked or self.segments.age() >= SEALED_AFTER_SECONDS
        return is_old or self.segments.size >= SEALED_ABOVE_BYTES

    def _look_at_backlog(self) -> None:
        """Measures the backlog every second: runs remove what they have ingested."""
        began = time.monotonic()
        if self.segments.backlog and began > self._measured:
            self.segments.measure()
            took = time.monotonic() - began
            self._measured = began + max(_MEASURED_AFTER_SECONDS, _MEASURING_SHARE * took)
        self.is_backed_up = self.segments.backlog >= self._max_waiting

    def _write(self, group: Sequence[_Waiting]) -> None:
        self.segments.known.forget()
        coming: dict[bytes, bytes] = {}
        checked = [self._checked(each.request, coming) for each in group]
        frames = [frame for frame, _ in checked if frame is not None]
        if frames:
            self.segments.append(frames)
        # Also for known requests: they may be known by a request of this group.
        for each, (_, outcome) in zip(group, checked, strict=True):
            each.answer.set_result(outcome)

    def _checked(self, request: Request, coming: dict[bytes, bytes]) -> tuple[Frame | None, Outcome]:
        """Returns what is written of a request; adds its marks to those of its group (``coming``)."""
        keyed = b""
        if request.key:
            key, events = mark(b"key", request.key), mark(b"events", request.lines)
            before = self._known(key, coming)
            if before is not None:
                return None, Outcome(Taken.KNOWN if before == events else Taken.OTHER, len(request.ids))
            coming[key], keyed = events, key + events
        lines, ids = self._fresh(request, coming) if request.ids else (request.lines, b"")
        frame = Frame(lines, keyed, ids) if lines or keyed else None
        duplicates = len(request.ids) - lines.count(b"\n") if request.ids else 0
        return frame, Outcome(Taken.NEW, duplicates)

    def _fresh(self, request: Request, coming: dict[bytes, bytes]) -> tuple[bytes, bytes]:
        """Returns the lines whose ids are not known, and those ids."""
        lines, ids = [], []
        for line, each in zip(request.lines.split(b"\n"), request.ids, strict=False):
            if each is not None:
                if self._known(each, coming) is not None:
                    continue
                coming[each] = b""
                ids.append(each)
            lines.append(line + b"\n")
        return b"".join(lines), b"".join(ids)

    def _known(self, each: bytes, coming: dict[bytes, bytes]) -> bytes | None:
        found = coming.get(each)
        return self.segments.known.get(each) if found is None else found

    def _refuse_rest(self) -> None:
        while not self._queue.empty():
            item = self._queue.get_nowait()
            if item is not None:
                item.answer.set_exception(Full("the intake is stopping"))
