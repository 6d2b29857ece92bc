"""What came within the last day: the marks of keys and ids, in memory and in files that the next process learns them from.

They are kept in generations of an hour, each with a file of its own to which it is appended, and are forgotten a generation at a time: a mark
is known for a day after its generation was last written to. So neither memory nor the folder grows without end, and forgetting costs nothing.

    .20261123T100000123456-4f2a.keys    frames without lines; its end may be torn, for the journal it came from is sealed again then

The id of an event that a batch has put into quarantine is released: an event with it is taken again.
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
"""In memory at once: about 100 bytes for an id, 200 for a key. Of a source that has more in a day the oldest are forgotten earlier."""
_RELEASED: Final = bytes(MARK_BYTES)
"""What belongs to an id that was known and is not any more."""
_GENERATION_SECONDS: Final = 3600
_GENERATIONS_AT_LEAST: Final = 16
"""Of so many parts of ``MOST_MARKS`` one is forgotten at a time."""


@dataclass
class _Generation:
    """``last``: when it was last written to, in seconds since the epoch."""

    path: Path
    last: float
    begun: float
    marks: dict[bytes, bytes] = field(default_factory=dict)


class Known:
    """The marks of one source. ``forgotten``: how many were forgotten before their day was over."""

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
        """Learns what earlier processes have left, and removes what is too old. Raises OSError."""
        files = sorted((path.stat().st_mtime, path) for path in self._folder.glob(".*.keys"))
        for last, path in files:
            marks = dict(mark for frame in read_frames(path.read_bytes()) for mark in frame.marks())
            self._generations.append(_Generation(path, last, last, marks))
            self._count += len(marks)
            self.forget()

    def get(self, mark: bytes) -> bytes | None:
        """What belongs to a mark; None for one that is not known."""
        for generation in reversed(self._generations):
            if (found := generation.marks.get(mark)) is not None:
                return None if found == _RELEASED else found
        return None

    def release(self, ids: bytes) -> None:
        """Knows these ids no more, nor does the next process. Raises OSError."""
        marks = [ids[at : at + MARK_BYTES] for at in range(0, len(ids), MARK_BYTES)]
        frame = Frame(b"", b"".join(mark + _RELEASED for mark in marks if self.get(mark) is not None))
        self.add([frame])
        self.keep([frame])

    def add(self, frames: Iterable[Frame]) -> None:
        """Knows the marks of frames that are on the disk; ``keep`` has to follow before their journal goes."""
        current = self._writable()
        before = len(current.marks)
        for frame in frames:
            current.marks.update(frame.marks())
        self._count += len(current.marks) - before
        current.last = time.time()

    def keep(self, frames: Sequence[Frame]) -> bool:
        """Puts their marks on the disk, for the next process; whether the folder has a new file by that. Raises OSError."""
        together = Frame(b"", b"".join(each.keyed for each in frames), b"".join(each.ids for each in frames))
        if not (together.keyed or together.ids):
            return False
        current, is_new = self._writable(), self._file < 0
        if is_new:
            # Never one of an earlier process: what follows after a torn end is not read.
            self._file = os.open(current.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        write_to_disk(self._file, together.as_bytes())
        is_long = time.time() - current.begun > _GENERATION_SECONDS
        if is_long or len(current.marks) * _GENERATIONS_AT_LEAST > MOST_MARKS:
            self.close()
        return is_new

    def forget(self) -> None:
        """Forgets generations that are too old, or too many."""
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
            # One that stays is learned from once more, and removed, by the next process.
            with suppress(OSError):
                oldest.path.unlink()

    def close(self) -> None:
        """Ends the newest generation; what comes is of the next."""
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
    """Appends to a file, and waits until it is on the disk. Raises OSError."""
    written = 0
    while written < len(data):
        written += os.write(file, data[written:])
    os.fdatasync(file)
