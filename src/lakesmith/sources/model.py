"""Files of a source, as listed and as ingested: plain frozen data."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import BinaryIO, Final, Literal, Protocol

from lakesmith.sources.left_out import LeftOut


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """The identity of a file: it is the same file if all of it is the same.

    ``size`` is in bytes, the times in nanoseconds since the epoch. Locally ``inode`` and ``changed_ns``
    (ctime) distinguish what size and modification time cannot: a file rewritten within one tick of the clock,
    or back-dated. For objects they are 0 and ``etag`` does it.
    """

    path: str
    size: int
    modified_ns: int
    inode: int = 0
    changed_ns: int = 0
    etag: str = ""

    @classmethod
    def of_local(cls, path: str, stat: os.stat_result) -> FileIdentity:
        """Returns the identity of a local file. The ledger has signed numbers of 64 bits.

        Some network and user-space file systems have unsigned inodes of 64 bits, and times beyond the year
        2262.
        """
        inode = stat.st_ino - 2**64 if stat.st_ino >= 2**63 else stat.st_ino
        return cls(path, stat.st_size, _bounded(stat.st_mtime_ns), inode, _bounded(stat.st_ctime_ns))


def _bounded(time_ns: int) -> int:
    return max(-(2**63), min(time_ns, 2**63 - 1))


@dataclass(slots=True)
class Found:
    """What a file system found, in any order. ``linked``: files reached by a link, maybe in ``files``."""

    files: list[FileIdentity] = field(default_factory=list)
    linked: list[FileIdentity] = field(default_factory=list)
    left_out: LeftOut = field(default_factory=LeftOut)


class FileAction(StrEnum):
    """The ledger's statement on a file."""

    TAKEN = "taken"
    SKIPPED = "skipped"
    FORGOTTEN = "forgotten"
    UNREADABLE = "unreadable"
    """It could not be read, so it has no rows (``on_bad_file: skip``)."""
    KEPT = "kept"
    """It was ingested, and its new version cannot be read: the ingested rows stay."""
    FOLDED = "folded"
    """The line stands for all segments of a series up to a number (``folded``): they were ingested."""


UNREAD = (FileAction.UNREADABLE, FileAction.KEPT)
"""The statements on unreadable files: they are tried again once they change."""


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """An unreadable file that is left out, and why. ``taken``: an earlier version was ingested."""

    file: FileIdentity
    reason: str
    taken: bool = False


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One line of the ledger: the newest one of a path counts. ``at_ms`` is milliseconds since the epoch."""

    file: FileIdentity
    source: str
    action: FileAction
    attempt: str
    batch: int
    at_ms: int


class HasSize(Protocol):
    """The size, as of ``os.stat``."""

    @property
    def st_size(self) -> int:
        """Bytes."""


class LandingFile(Protocol):
    """A landing file to read without Spark: a ``Path``, or an object in S3. Reading raises OSError."""

    @property
    def name(self) -> str:
        """Its name, without folders."""

    @property
    def suffix(self) -> str:
        """The name's ending, with its dot."""

    def stat(self) -> HasSize:
        """What is known of it without reading."""

    def open(self, mode: Literal["rb"]) -> BinaryIO:
        """Opens it."""


ENDING: Final = ".jsonl"

_NAME: Final = re.compile(r"\d{8}T\d{12}-(?P<series>[0-9a-f]{8})-(?P<number>\d{7,})\.jsonl")


@dataclass(frozen=True, slots=True)
class Series:
    """The segments of one writer in a source's folder, ``20261123T101500123456-4f2a9c1b-0000017.jsonl``.

    A writer (a process, from when it opens the folder to its end) draws a name for its series, and numbers
    its segments from 1 without a gap. So "ingested up to a number" covers each name, whatever the clocks say.
    """

    folder: str
    name: str

    @property
    def path(self) -> str:
        """The path of the line in the ledger that stands for many segments: no segment has it."""
        return f"{self.folder}/*-{self.name}{ENDING}"


def segment_name(at: datetime, series: str, number: int) -> str:
    return f"{at:%Y%m%dT%H%M%S%f}-{series}-{number:07}"


def place_of(path: str) -> tuple[Series, int] | None:
    """Returns a segment's series and its number there; None for another path."""
    folder, _, name = path.rpartition("/")
    found = _NAME.fullmatch(name) if name.endswith(ENDING) else None
    return (Series(folder, found["series"]), int(found["number"])) if found else None
