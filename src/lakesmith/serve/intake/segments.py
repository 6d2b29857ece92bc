"""The folder of one source: journals of what is acknowledged, and sealed segments, which are its landing files.

    .20261123T101500-4f2a.journal   requests as frames; its end may be torn
    20261123T101500-4f2a.jsonl      the same events as JSON lines, whole; runs take it as they take any file
    .20261123T101500-4f2a.keys      the keys of its requests, for as long as a retry may come

A journal is written and flushed to the disk before its requests are acknowledged. Sealing it puts the segment in place whole, and only
then removes the journal; whoever is killed in between leaves a journal that is sealed again, into the same segment.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

from lakesmith.serve.intake.frames import Request, read_frames
from lakesmith.whole_file import write_whole

PATTERN: Final = "*.jsonl"
KEYS_KEPT_SECONDS: Final = 24 * 3600
"""How long a retry with the same key is known for one."""


@dataclass
class Segments:
    """The folder, written by one process. ``keys``: those of the requests that are known, with a hash of their events."""

    folder: Path
    keys: dict[bytes, bytes] = field(default_factory=dict)
    _lock: int = -1
    _name: str = ""
    _file: int = -1
    _bytes: int = 0
    _begun: float = 0.0
    _written: list[Request] = field(default_factory=list)

    def open(self) -> None:
        """Makes the folder, seals what an earlier process has left, and learns the keys that are not too old. Raises OSError.

        Waits for a process that still writes here: its journal is not to be sealed by another while it takes events.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        for journal in sorted(self.folder.glob(".*.journal")):
            self._seal(journal.stem[1:], list(read_frames(journal.read_bytes())))
        for path in sorted(self.folder.glob(".*.keys")):
            if path.stat().st_mtime < time.time() - KEYS_KEPT_SECONDS:
                path.unlink(missing_ok=True)
            else:
                self.keys.update(_keys_in(path))

    def append(self, requests: Sequence[Request]) -> None:
        """Writes them to the journal, and the journal to the disk. Raises OSError: then none of them may be acknowledged."""
        if self._file < 0:
            self._begin()
        data = b"".join(request.frame() for request in requests)
        written = 0
        while written < len(data):
            written += os.write(self._file, data[written:])
        os.fdatasync(self._file)
        self._bytes += len(data)
        self._written += requests
        self.keys.update((request.key, digest(request)) for request in requests if request.key)

    def age(self) -> float:
        """Seconds since the journal was begun; 0 without one."""
        return time.monotonic() - self._begun if self._file >= 0 else 0.0

    @property
    def size(self) -> int:
        """Bytes in the journal."""
        return self._bytes

    def seal(self) -> None:
        """Makes the journal a segment, if there is one. Raises OSError; the journal then stays."""
        if self._file < 0:
            return
        self._seal(self._name, self._written)
        os.close(self._file)
        self._file, self._bytes, self._written = -1, 0, []

    def close(self) -> None:
        """Lets go of the folder. What is not sealed stays in its journal, for the next process."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def waiting(self) -> list[Path]:
        """The segments that are still in the folder."""
        return sorted(self.folder.glob(PATTERN))

    def _begin(self) -> None:
        # Never twice: a ledger remembers the names of all segments that were taken.
        self._name = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(4)}"
        self._file = os.open(
            self._journal(self._name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600
        )
        _sync_folder(self.folder)
        self._begun = time.monotonic()

    def _seal(self, name: str, requests: Sequence[Request]) -> None:
        keyed = [request for request in requests if request.key]
        if keyed:
            text = "".join(f"{request.key.hex()} {digest(request).hex()}\n" for request in keyed)
            write_whole(self.folder / f".{name}.keys", text, to_disk=True)
        if requests:
            write_whole(
                self.folder / f"{name}.jsonl", b"".join(each.lines for each in requests), to_disk=True
            )
            _sync_folder(self.folder)
        self._journal(name).unlink(missing_ok=True)

    def _journal(self, name: str) -> Path:
        return self.folder / f".{name}.journal"


def digest(request: Request) -> bytes:
    """What tells the events of a request from others."""
    return sha256(request.lines).digest()


def remove_taken(folder: Path, taken: Iterable[str]) -> int:
    """Removes the segments of these names, which a published batch has taken; returns how many."""
    removed = 0
    for name in taken:
        with suppress(FileNotFoundError):
            (folder / name).unlink()
            removed += 1
    return removed


def _keys_in(path: Path) -> Iterator[tuple[bytes, bytes]]:
    for line in path.read_text().splitlines():
        key, _, hashed = line.partition(" ")
        yield bytes.fromhex(key), bytes.fromhex(hashed)


def _sync_folder(folder: Path) -> None:
    """A new name in a folder is on the disk only when the folder is."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
