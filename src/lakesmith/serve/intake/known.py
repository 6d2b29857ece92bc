"""The marks of keys and ids of the last day, in memory and in files that the next process reads.

They are kept in generations of an hour, each with a file, and forgotten a generation at a time: a mark is
known for a day after its generation was last written to. So neither memory nor the folder grows without end.

    .20261123T100000123456-4f2a.keys    frames without lines; it may end within one, whose journal is sealed
    again then

The id of an event that a batch has put into quarantine is released, so that the event is accepted again.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from lakesmith.serve.intake.frames import MARK_BYTES, Frame, read_frames

KEPT_SECONDS: Final = 24 * 3600
MOST_MARKS: Final = 5_000_000
"""Marks in memory: about 100 bytes for an id, 200 for a key. The oldest of more are forgotten."""
_RELEASED: Final = bytes(MARK_BYTES)
"""The value of an id that was released."""
_GENERATION_SECONDS: Final = 3600
_GENERATIONS_AT_LEAST: Final = 16
"""The minimum number of generations that ``MOST_MARKS`` are divided into."""


@dataclass
class _Generation:
    """A generation; ``last`` is when it was last written to, in seconds since the epoch."""

    path: Path
    last: float
    begun: float
    marks: dict[bytes, bytes] = field(default_factory=dict)


class Known:
    """The marks of one source; ``forgotten`` counts those forgotten before their day was over."""

    def __init__(self, folder: Path) -> None:
        self.forgotten = 0
        self._folder = folder
        self._generations: list[_Generation] = []
        self._current: _Generation | None = None
        self._count = 0
        self._file = -1

    def __len__(self) -> int:
        return self._count

    def open(self) -> None:
        """Reads the marks of earlier processes, and removes old ones. Raises OSError."""
        files = sorted((path.stat().st_mtime, path) for path in self._folder.glob(".*.keys"))
        for last, path in files:
            marks = dict(mark for frame in read_frames(path.read_bytes()) for mark in frame.marks())
            self._generations.append(_Generation(path, last, last, marks))
            self._count += len(marks)
            self.forget()

    def get(self, mark: bytes) -> bytes | None:
        """Returns the value of a mark; None if it is not known."""
        for generation in reversed(self._generations):
            if (found := generation.marks.get(mark)) is not None:
                return None if found == _RELEASED else found
        return None

    def release(self, ids: bytes) -> None:
        """Forgets ids, also for the next process. Raises OSError."""
        marks = [ids[at : at + MARK_BYTES] for at in range(0, len(ids), MARK_BYTES)]
        frame = Frame(b"", b"".join(mark + _RELEASED for mark in marks if self.get(mark) is not None))
        self.add([frame])
        self.keep([frame])

    def add(self, frames: Iterable[Frame]) -> None:
        """Adds the marks of frames on the disk; ``keep`` must follow before their journal is removed."""
        current = self._writable()
        before = len(current.marks)
        for frame in frames:
            current.marks.update(frame.marks())
        self._count += len(current.marks) - before
        current.last = time.time()

    def keep(self, frames: Sequence[Frame]) -> bool:
        """Writes marks to the disk; returns whether that made a new file. Raises OSError."""
        together = Frame(b"", b"".join(each.keyed for each in frames), b"".join(each.ids for each in frames))
        if not (together.keyed or together.ids):
            return False
        current, is_new = self._writable(), self._file < 0
        if is_new:
            # Never a file of an earlier process: what follows an incomplete frame is not read.
            self._file = os.open(current.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        write_to_disk(self._file, together.as_bytes())
        is_long = time.time() - current.begun > _GENERATION_SECONDS
        if is_long or len(current.marks) * _GENERATIONS_AT_LEAST > MOST_MARKS:
            self.close()
        return is_new

    def forget(self) -> None:
        """Forgets generations that are too old or too many."""
        while self._generations:
            oldest = self._generations[0]
            is_old = oldest.last < time.time() - KEPT_SECONDS
            if not is_old and self._count <= MOST_MARKS:
                return
            if oldest is self._current:
                self.close()
            del self._generations[0]
            self._count -= len(oldest.marks)
            self.forgotten += 0 if is_old else len(oldest.marks)
            # The next process reads one that stays once more, and removes it.
            with suppress(OSError):
                oldest.path.unlink()

    def close(self) -> None:
        """Ends the newest generation."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        self._current = None

    def _writable(self) -> _Generation:
        if self._current is None:
            now = datetime.now(UTC)
            name = f".{now:%Y%m%dT%H%M%S%f}-{secrets.token_hex(4)}.keys"
            self._current = _Generation(self._folder / name, now.timestamp(), now.timestamp())
            self._generations.append(self._current)
        return self._current


def write_to_disk(file: int, data: bytes) -> None:
    """Appends to a file, and waits until the data is on the disk. Raises OSError."""
    written = 0
    while written < len(data):
        written += os.write(file, data[written:])
    os.fdatasync(file)
