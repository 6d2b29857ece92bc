"""Writers that meet each other: a busy SQLite file is waited for, and a commit without an answer is looked
up.

Our own statements and PyIceberg's wait inside SQLite (``busy_timeout``), Spark's in its driver. What may have
read the file before another process wrote to it is done again (``try_until_free``).
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from lakesmith.errors import LockedError

WAIT_SECONDS: Final = 10.0
"""Maximum wait of a statement; other writers take milliseconds, and a command must not seem to hang."""

SPARK_WAIT_SECONDS: Final = 60.0
"""How long one of Spark's waits: stopping would waste what its batch has computed."""

LOOK_SECONDS: Final = 2.0
"""How long is waited to find out whether the file can be written to at all."""

TRIES: Final = 12
"""How often something is done before it fails; the waits between add up to about half a minute."""

_FIRST_WAIT: Final = 0.05
_LONGEST_WAIT: Final = 5.0

HELD: Final = "another process keeps the catalog{} locked"
WHAT_TO_DO: Final = "let the other process finish, or end it, and run again"

_CODES: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_TEXTS: Final = ("SQLITE_BUSY", "SQLITE_LOCKED", "database is locked", "database table is locked")
_PRIMARY_CODE: Final = 0xFF
_T = TypeVar("_T")


class StillBusy(Exception):
    """What was tried was in the way of others each time; ``last`` is how it failed in the end."""

    def __init__(self, last: Exception) -> None:
        super().__init__(str(last))
        self.last = last


def connect(db: Path | str, seconds: float, uri: bool = False) -> sqlite3.Connection:
    """Opens a connection whose statements wait this long. Each statement is a transaction by default."""
    return sqlite3.connect(db, timeout=seconds, isolation_level=None, uri=uri)


def is_busy(error: BaseException) -> bool:
    """Whether an error of SQLite, or of SQLAlchemy around one, says that others hold the file."""
    inner = getattr(error, "orig", None) or error
    return isinstance(inner, sqlite3.Error) and (code_of(inner) in _CODES or says_busy(str(inner)))


def says_busy(text: str) -> bool:
    """Whether a text, such as a failure in Java, is of a file that others hold."""
    return any(words in text for words in _TEXTS)


def code_of(error: sqlite3.Error) -> int:
    """SQLite's primary result code; -1 where Python raised the error itself."""
    code = getattr(error, "sqlite_errorcode", None)
    return -1 if code is None else code & _PRIMARY_CODE


def locked(db: Path, seconds: float) -> LockedError:
    """LS702: the file was held for as long as it was waited for."""
    return LockedError.of(
        "LS702",
        HELD.format(f" {db}"),
        expected=f"a lock that is released within {seconds:g} s",
        hint=WHAT_TO_DO,
    )


def try_until(seconds: float, step: Callable[[], _T]) -> _T:
    """Returns what ``step`` returns, repeated while the file is busy, for what SQLite does not wait for: of
    two processes that put a new file into WAL mode it refuses one."""
    end = time.monotonic() + seconds
    while True:
        try:
            return step()
        except sqlite3.Error as error:
            if not is_busy(error) or time.monotonic() >= end:
                raise
        time.sleep(_FIRST_WAIT)


def try_until_free(step: Callable[[], _T], has_lost_race: Callable[[Exception], bool]) -> _T:
    """Returns what ``step`` returns, repeated with random waits while the file is busy or a race is lost.
    Raises StillBusy."""
    for number in range(TRIES):
        try:
            return step()
        except Exception as error:
            if not (is_busy(error) or has_lost_race(error)):
                raise
            last = error
        time.sleep(random.uniform(0.5, 1.0) * min(_FIRST_WAIT * 2**number, _LONGEST_WAIT))
    raise StillBusy(last) from last


def looked_up(table: Any) -> Any:
    """Returns PyIceberg's table, whose commits count as done if their snapshots exist, whatever the catalog
    answered. A request sent twice on its way is refused over its own success, and PyIceberg would then delete
    the files of an existing snapshot."""
    commit = table._do_commit

    def do_commit(updates: tuple[Any, ...], requirements: tuple[Any, ...]) -> None:
        try:
            commit(updates, requirements)
        except Exception:
            if not _is_there(table, updates):
                raise

    table._do_commit = do_commit
    return table


def is_in_doubt(error: Exception) -> bool:
    """Returns whether the outcome of a commit is unknown: the connection ended, or the server failed."""
    from pyiceberg.exceptions import CommitStateUnknownException, ServerError, ServiceUnavailableError
    from requests.exceptions import ConnectionError as NoConnection
    from requests.exceptions import Timeout

    return isinstance(
        error, CommitStateUnknownException | ServerError | ServiceUnavailableError | NoConnection | Timeout
    )


def _is_there(table: Any, updates: Iterable[Any]) -> bool:
    added = [update.snapshot.snapshot_id for update in updates if update.action == "add-snapshot"]
    with suppress(Exception):
        # One that cannot be looked up is not known to be there, and the first error tells more.
        table.refresh()
        return bool(added) and all(table.metadata.snapshot_by_id(each) is not None for each in added)
    return False
