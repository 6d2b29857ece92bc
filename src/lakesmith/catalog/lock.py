"""One run or maintenance of a project at a time, on all machines that share its folder. The lock is the
kernel's (``flock``), so no lock of a killed process remains. The file's content names the holder. The file is
never removed: two processes could then lock two files of one name."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from lakesmith import limits
from lakesmith.errors import EnvironmentProblem, LockedError

MAINTENANCE = frozenset({"maintain"})
"""Commands that hold the lock for a short piece of work only: other commands wait for them."""

_POLL_SECONDS = 0.1
_HELD = {errno.EWOULDBLOCK, errno.EACCES}
_NO_FLOCK = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EIO}


@dataclass(frozen=True, slots=True)
class Holder:
    """The holder of a lock. ``since`` is ISO 8601 in UTC; ``jvm_pid`` is None before a JVM starts."""

    host: str
    pid: int
    command: str
    since: str
    jvm_pid: int | None = None

    def __str__(self) -> str:
        jvm = f", JVM {self.jvm_pid}" if self.jvm_pid else ""
        return f"{self.command!r} on {self.host} (process {self.pid}{jvm}), since {self.since}"

    @property
    def is_stopped(self) -> bool:
        """Whether the holder is a process of this machine that is stopped (SIGSTOP, Ctrl-Z)."""
        if self.host != socket.gethostname():
            return False
        try:
            status = Path(f"/proc/{self.pid}/stat").read_text(errors="replace")
        except OSError:
            # Gone, or a system without /proc: nothing to be said about it.
            return False
        return status.rpartition(")")[2].split()[0] in {"T", "t"}


class ProjectLock:
    """A context manager that holds a lock of a project while its body runs.

    Args:
        state_dir: the project's ``.lakesmith`` folder; the lock is ``locks/NAME.lock`` in it.
        what: what it is held for, for people: the command.
        name: which lock.
        wait_seconds: how long to wait for another holder; 0: not at all. For maintenance (``MAINTENANCE``) it
            is waited longer, ``limits.MAINTENANCE_WAITED_SECONDS``.
        on_wait: called once, with the holder if it is known, when there is someone to wait for.
        given_up: asked while it waits; True ends the wait at once, as if its time were over.
        guard: called once it is held; what it raises is raised, and the lock is given back.

    Attributes:
        abandoned: after entering, the previous holder if it ended without giving the lock back (killed). Its
            JVM may still be running.

    Entering raises LockedError LS701 when it is still held after the wait; EnvironmentProblem LS323 when the
    file cannot be written; LS324 when the file system has no locks.
    """

    def __init__(
        self,
        state_dir: Path,
        what: str,
        *,
        name: str = "project",
        wait_seconds: float = 0.0,
        on_wait: Callable[[Holder | None], None] | None = None,
        given_up: Callable[[], bool] = lambda: False,
        guard: Callable[[], None] = lambda: None,
    ) -> None:
        self.path = lock_path(state_dir, name)
        self.abandoned: Holder | None = None
        self._wait_seconds = wait_seconds
        self._on_wait = on_wait
        self._given_up = given_up
        self._guard = guard
        self._holder = Holder(socket.gethostname(), os.getpid(), what, "")
        self._file = -1

    def __enter__(self) -> ProjectLock:
        self._file = self._open()
        try:
            self._wait()
            self._guard()
            self.abandoned = _read(self._file)
            since = datetime.now(UTC).isoformat(timespec="seconds")
            self._holder = replace(self._holder, pid=os.getpid(), since=since)
            self._write()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            os.ftruncate(self._file, 0)
        finally:
            self._close()

    def note_jvm(self, pid: int) -> None:
        """Adds the JVM that the holder started, so that whoever comes after a kill knows it too."""
        self._holder = replace(self._holder, jvm_pid=pid)
        self._write()

    def _open(self) -> int:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            self._unwritable(error)

    def _close(self) -> None:
        os.close(self._file)
        self._file = -1

    def _wait(self) -> None:
        begun = time.monotonic()
        has_called = False
        while not self._try():
            if self._given_up() or time.monotonic() - begun >= self._patience():
                raise self._locked(_read_settled(self._file))
            if not has_called and self._on_wait is not None:
                self._on_wait(_read_settled(self._file))
            has_called = True
            time.sleep(_POLL_SECONDS)

    def _patience(self) -> float:
        holder = _read_settled(self._file)
        is_maintenance = holder is not None and holder.command in MAINTENANCE and not holder.is_stopped
        return max(self._wait_seconds, limits.MAINTENANCE_WAITED_SECONDS if is_maintenance else 0.0)

    def _try(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _HELD:
                return False
            if error.errno in _NO_FLOCK:
                raise self._no_locks(error) from error
            raise
        return True

    def _write(self) -> None:
        """Writes the holder at once and cuts off the rest, so that a reader finds a whole line."""
        line = json.dumps(asdict(self._holder)).encode() + b"\n"
        try:
            os.pwrite(self._file, line, 0)
            os.ftruncate(self._file, len(line))
        except OSError as error:
            self._unwritable(error)

    def _locked(self, holder: Holder | None) -> LockedError:
        stopped = holder is not None and holder.is_stopped
        hint = "wait for it to finish, or end it, and run again"
        if holder is not None and stopped:
            hint = f"it is stopped: continue it with 'kill -CONT {holder.pid}' or end it, and run again"
        found = f"held by {holder}" if holder else "held by an unknown process"
        return LockedError.of(
            "LS701", "another lakesmith process is at work on this project", None, str(self.path), found, hint
        )

    def _unwritable(self, error: OSError) -> NoReturn:
        raise EnvironmentProblem.of(
            "LS323",
            "the project's lock cannot be taken",
            expected=f"a file that can be written: {self.path}",
            found=f"{error.strerror or error}",
            hint="make the folder writable for you, with room on its disk",
        ) from error

    def _no_locks(self, error: OSError) -> EnvironmentProblem:
        return EnvironmentProblem.of(
            "LS324",
            "the file system of the project's folder has no locks",
            expected=f"flock on {self.path}",
            found=f"{error.strerror or error}",
            hint="put the project's folder on a local disk, or mount the network file system with locks "
            "(NFS 4)",
        )


def noted_holder(state_dir: Path, name: str = "project") -> Holder | None:
    """Returns the holder that a lock's file names, if its process lives or is elsewhere. The lock itself is
    not tried, which could stop a command that begins at that moment."""
    try:
        with lock_path(state_dir, name).open("rb") as file:
            holder = _read(file.fileno())
        if holder is not None and holder.host == socket.gethostname():
            os.kill(holder.pid, 0)
    except (FileNotFoundError, ProcessLookupError):
        return None
    except OSError:
        # A process of another user.
        pass
    return holder


def lock_path(state_dir: Path, name: str = "project") -> Path:
    """Returns the file of a lock."""
    return state_dir / "locks" / f"{name}.lock"


def _read(file: int) -> Holder | None:
    """The holder in a lock file; None when it is empty or not (yet) one."""
    line = os.pread(file, 64 * 1024, 0).partition(b"\n")[0]
    try:
        return Holder(**json.loads(line))
    except (ValueError, TypeError):
        return None


def _read_settled(file: int) -> Holder | None:
    """Returns the holder; waits a moment for one that is about to write its name."""
    holder = _read(file)
    if holder is None:
        time.sleep(_POLL_SECONDS)
        holder = _read(file)
    return holder
