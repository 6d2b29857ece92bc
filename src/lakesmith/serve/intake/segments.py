"""The folder of one source: journals of acknowledged requests, and sealed segments, which are its landing
files.

    .20261123T101500123456-4f2a9c1b-0000017.journal   requests as frames; it may end within one
    20261123T101500123456-4f2a9c1b-0000017.jsonl      the same events as JSON lines, for runs
    .20261123T100000-91c3.keys                        marks of requests and events (``known``)
    .20261123T101500123456-4f2a9c1b-0000017.released  ids of a segment's events that a batch put into
    quarantine

A journal is on the disk before its requests are acknowledged. Sealing writes the segment whole, and then
removes the journal; after a kill in between the journal is sealed again, into the same segment.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from lakesmith.serve.intake.frames import Frame, read_frames
from lakesmith.serve.intake.known import Known, write_to_disk
from lakesmith.sources.model import ENDING, segment_name
from lakesmith.whole_file import write_whole

PATTERN: Final = f"*{ENDING}"
JOURNALS: Final = ".*.journal"
_RELEASED: Final = ".released"
_PROBE_BYTES: Final = 64 * 1024


@dataclass
class Segments:
    """The folder, written by one process; ``known`` are the marks of the last day.

    ``backlog``: at most so many bytes of segments wait for a run; ``measure`` corrects it.
    """

    folder: Path
    known: Known = field(init=False)
    backlog: int = 0
    _lock: int = -1
    _is_open: bool = False
    _name: str = ""
    _file: int = -1
    _bytes: int = 0
    _begun: float = 0.0
    _series: str = field(default_factory=lambda: secrets.token_hex(4))
    _number: int = 1
    _written: list[Frame] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.known = Known(self.folder)

    def open(self) -> None:
        """Makes the folder, seals journals of an earlier process, and reads the marks of the last day.

        Waits for a process that still writes here. Raises OSError; may be called again then.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._lock < 0:
            self._lock = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        # A new series each time: what was left may have the next number of the series before.
        self._series, self._number = secrets.token_hex(4), 1
        for journal in sorted(self.folder.glob(JOURNALS)):
            self._seal(journal.stem[1:], list(read_frames(journal.read_bytes())))
        self.known.close()
        self.known = Known(self.folder)
        self.known.open()
        self.measure()
        self._is_open = True

    def recover(self) -> None:
        """Continues after a write that failed. Raises OSError while the disk cannot be written.

        A file is not written again after a failure, which a disk may report only once. The acknowledged
        requests of its journal become a segment from memory, and what was not acknowledged is cut off.
        """
        if not self._is_open:
            self.open()
        if self._file >= 0:
            os.ftruncate(self._file, self._bytes)
            os.fsync(self._file)
        self._try_disk()
        # The next marks go to a new file: nothing is read after an incomplete frame.
        self.known.close()
        self.seal()
        self.measure()

    def _try_disk(self) -> None:
        """Writes as much as is to be sealed, and a little more, to a file that it removes."""
        probe = self.folder / ".probe"
        write_whole(probe, bytes(_PROBE_BYTES + self._bytes), to_disk=True)
        probe.unlink()

    def append(self, frames: Sequence[Frame]) -> None:
        """Writes frames to the journal on the disk. Raises OSError: then none may be acknowledged."""
        if self._file < 0:
            self._begin()
        data = b"".join(frame.as_bytes() for frame in frames)
        write_to_disk(self._file, data)
        self._bytes += len(data)
        self._written += frames
        self.known.add(frames)

    def age(self) -> float:
        """Returns the seconds since the journal was begun; 0 without one."""
        return time.monotonic() - self._begun if self._file >= 0 else 0.0

    @property
    def size(self) -> int:
        """Bytes in the journal."""
        return self._bytes

    def seal(self) -> None:
        """Makes the journal a segment, if there is one. Raises OSError; then the journal stays."""
        if self._file < 0:
            return
        # Without events there is no segment; no number is left out, because a ledger would wait for it.
        self._number += self._seal(self._name, self._written)
        os.close(self._file)
        self._file, self._bytes, self._written = -1, 0, []

    def close(self) -> None:
        """Unlocks the folder. What is not sealed stays in its journal, for the next process."""
        self.known.close()
        self._is_open = False
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def waiting(self) -> list[Path]:
        """Returns the segments that are still in the folder."""
        return sorted(self.folder.glob(PATTERN))

    def measure(self) -> None:
        """Measures the backlog, and releases ids of events in quarantine. Raises OSError."""
        for released in sorted(self.folder.glob(f".*{_RELEASED}")):
            self.known.release(released.read_bytes())
            released.unlink()
        self.backlog = 0
        for path in self.waiting():
            with suppress(FileNotFoundError):
                self.backlog += path.stat().st_size

    def _begin(self) -> None:
        # Never twice: a ledger remembers the names of all segments that were taken.
        self._name = segment_name(datetime.now(UTC), self._series, self._number)
        self._file = os.open(
            self._journal(self._name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600
        )
        _sync_folder(self.folder)
        self._begun = time.monotonic()

    def _seal(self, name: str, frames: Sequence[Frame]) -> bool:
        """Returns whether it became a segment."""
        has_new_file = self.known.keep(frames)
        lines = b"".join(frame.lines for frame in frames)
        if lines:
            write_whole(self.folder / f"{name}{ENDING}", lines, to_disk=True)
            self.backlog += len(lines)
        if lines or has_new_file:
            _sync_folder(self.folder)
        self._journal(name).unlink(missing_ok=True)
        return bool(lines)

    def _journal(self, name: str) -> Path:
        return self.folder / f".{name}.journal"


def remove_taken(folder: Path, taken: Iterable[str]) -> int:
    """Removes segments that a published batch has ingested; returns how many."""
    removed = 0
    for name in taken:
        with suppress(FileNotFoundError):
            (folder / name).unlink()
            removed += 1
    return removed


def release_ids(folder: Path, segment: str, ids: Iterable[bytes]) -> None:
    """Makes the writer of a folder accept events with these ids of a segment again. Raises OSError."""
    write_whole(folder / f".{segment.removesuffix(ENDING)}{_RELEASED}", b"".join(ids), to_disk=True)


def _sync_folder(folder: Path) -> None:
    """Writes a folder to the disk: a new name is there only then."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
