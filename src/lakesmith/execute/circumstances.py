"""What a machine denies: space, permission, memory, files, connections. Said plainly, from any exception.

None of it is a defect, and any line of any call may meet it.
"""

from __future__ import annotations

import errno
import sqlite3
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lakesmith.catalog import busy

_NO_SPACE: Final = ("No space left on device", "Disk quota exceeded", "database or disk is full")
_NOT_ALLOWED: Final = (
    "Permission denied",
    "Read-only file system",
    "AccessDeniedException",
    "AccessControlException",
    "Mkdirs failed to create",
    "attempt to write a readonly database",
)
_TOO_LITTLE: Final = (errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN)
_NO_THREAD: Final = "can't start new thread"


@dataclass(frozen=True, slots=True)
class Circumstance:
    """What was denied: the problem's code, what happened, and what to do."""

    code: str
    what: str
    hint: str


DISK_FULL: Final = Circumstance(
    "LS603", "the disk is full", "free space, or move the warehouse or TMPDIR to a larger disk"
)
NOT_ALLOWED: Final = Circumstance(
    "LS605", "a file or folder may not be read or written", "check its owner, permissions and mount"
)
_BUSY: Final = Circumstance("LS702", busy.HELD.format(""), busy.WHAT_TO_DO)
_JVM_DIED: Final = Circumstance(
    "LS604", "Spark's JVM died", "run again: what was not published is done again"
)
_NO_MEMORY: Final = Circumstance(
    "LS676",
    "this process has no memory, threads or open files left",
    "end other processes, raise the limit (ulimit -a, the container's memory), or do less at once",
)
_FAILED: Final = Circumstance(
    "LS677",
    "the system failed with a file, a folder or a connection",
    "check the disk, mount or address that the message names, and try again",
)


def denied_space(text: str, number: int | None) -> bool:
    """Returns whether an exception with this text and ``errno`` says that the disk is full."""
    return any(words in text for words in _NO_SPACE) or number in (errno.ENOSPC, errno.EDQUOT)


def denied_access(text: str, number: int | None) -> bool:
    """Returns whether an exception with this text and ``errno`` says that something is not permitted."""
    return any(words in text for words in _NOT_ALLOWED) or number in (errno.EACCES, errno.EPERM, errno.EROFS)


def circumstance(error: BaseException) -> Circumstance | None:
    """Returns what the machine denied, by an exception or its cause; None: it is another one. What was being
    handled when a defect showed is no cause of it."""
    return next((found for each in _chain(error) if (found := _circumstance(each))), None)


def _circumstance(error: BaseException) -> Circumstance | None:
    number = error.errno if isinstance(error, OSError) else None
    of_machine = isinstance(error, OSError | sqlite3.Error)
    if of_machine and denied_space(str(error), number):
        return DISK_FULL
    if of_machine and denied_access(str(error), number):
        return NOT_ALLOWED
    if busy.is_busy(error):
        return _BUSY
    if isinstance(error, MemoryError) or number in _TOO_LITTLE or _NO_THREAD in str(error):
        return _NO_MEMORY
    if passed(error, "py4j") and (
        isinstance(error, ConnectionError) or type(error).__module__ == "py4j.protocol"
    ):
        return _JVM_DIED
    # Subclasses of sqlite3.DatabaseError but this one are defects: a wrong statement, a wrong call.
    of_disk = type(error) in (sqlite3.OperationalError, sqlite3.DatabaseError)
    return _FAILED if of_disk or isinstance(error, OSError) else None


def passed(error: BaseException, *packages: str) -> bool:
    """Returns whether an exception was raised in one of these packages, or passed one. The JVM is talked to
    in py4j."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(not {*packages}.isdisjoint(Path(frame.f_code.co_filename).parts) for frame, _ in frames)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__
