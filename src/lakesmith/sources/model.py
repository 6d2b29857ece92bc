"""Files at a source, as found and as taken: plain frozen data."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import StrEnum
from typing import BinaryIO, Literal, Protocol

from lakesmith.sources.left_out import LeftOut


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """What makes a file *this* file: it is the same file when all of it is the same.

    ``size`` is in bytes, the times in nanoseconds since the epoch. Locally ``inode`` and ``changed_ns`` (ctime) tell apart
    what size and modification time cannot: a file rewritten within one tick of the clock, or back-dated. On object
    stores they are 0 and ``etag`` does it.
    """

    path: str
    size: int
    modified_ns: int
    inode: int = 0
    changed_ns: int = 0
    etag: str = ""

    @classmethod
    def of_local(cls, path: str, stat: os.stat_result) -> FileIdentity:
        """The identity of a local file. The ledger has signed numbers of 64 bits.

        File systems of networks and in user space give inodes of 64 bits without a sign, and times beyond the year 2262.
        """
        inode = stat.st_ino - 2**64 if stat.st_ino >= 2**63 else stat.st_ino
        return cls(path, stat.st_size, _bounded(stat.st_mtime_ns), inode, _bounded(stat.st_ctime_ns))


def _bounded(time_ns: int) -> int:
    return max(-(2**63), min(time_ns, 2**63 - 1))


@dataclass(slots=True)
class Found:
    """What a file system found, in any order. ``linked`` are the files reached by a link: they may be in ``files`` too."""

    files: list[FileIdentity] = field(default_factory=list)
    linked: list[FileIdentity] = field(default_factory=list)
    left_out: LeftOut = field(default_factory=LeftOut)


class FileAction(StrEnum):
    """What the ledger says of a file."""

    TAKEN = "taken"
    SKIPPED = "skipped"
    FORGOTTEN = "forgotten"
    UNREADABLE = "unreadable"
    """It could not be read, so there are no rows of it (``on_bad_file: skip``)."""
    KEPT = "kept"
    """It was taken, and changed to what could not be read: the rows that were taken stay."""
    FOLDED = "folded"
    """The line stands for all segments of a series up to a number (``folded``): they were taken."""


UNREAD = (FileAction.UNREADABLE, FileAction.KEPT)
"""What the ledger says of files that could not be read: they are tried again once they are others."""


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file that is left out because it cannot be read, and why. ``taken``: rows of an earlier version of it were taken."""

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
    """Of what ``os.stat`` tells, the size."""

    @property
    def st_size(self) -> int:
        """Bytes."""


class LandingFile(Protocol):
    """One file. Reading raises OSError."""

    @property
    def name(self) -> str:
        """Its name, without folders."""

    @property
    def suffix(self) -> str:
        """The name's ending, with its dot."""

    def stat(self) -> HasSize:
        """What is known of it without reading."""

    def open(self, mode: Literal["rb"]) -> BinaryIO:
        """Its bytes."""
