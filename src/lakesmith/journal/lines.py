"""The files of the journal. Processes append lines, each by one write; readers skip what is not a line.

``journal.jsonl`` is bounded: a full file takes the place of ``journal.1.jsonl``. ``audit.jsonl`` has the
beginning and the end of actions that changed the lake otherwise than a refresh does (tags, rollbacks,
erasures): they are few, and are kept.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import socket
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lakesmith.redaction import redacted

JOURNAL: Final = "journal.jsonl"
OLDER: Final = "journal.1.jsonl"
AUDIT: Final = "audit.jsonl"
FILES: Final = (JOURNAL, OLDER, AUDIT)
MOST_BYTES: Final = 4_000_000
"""The size at which a new ``journal.jsonl`` is begun: at three batches in three seconds, after some hours."""
_LONGEST_TEXT: Final = 500
_LONGEST_LIST: Final = 100

Line = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Journal:
    """The journal of a project, for writing. ``secrets`` are written nowhere."""

    state_dir: Path
    secrets: tuple[str, ...] = ()

    def append(self, line: Line, *, lasting: bool = False) -> bool:
        """Appends a line with the time. Returns whether that was possible: what fails stops nobody.

        ``lasting``: to the audit file, and to the disk itself.
        """
        try:
            text = json.dumps({"at": time.time_ns() // 1_000_000, **self._plain(line)}, ensure_ascii=False)
            self.state_dir.mkdir(exist_ok=True)
            _append(
                self.state_dir / (AUDIT if lasting else JOURNAL), text.encode("utf-8", "replace"), lasting
            )
        except (OSError, ValueError, TypeError):
            return False
        return True

    def _plain(self, value: Any) -> Any:
        """Returns a value as JSON data: without secrets, texts and lists at most so long."""
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, Mapping):
            return {str(key): self._plain(each) for key, each in value.items()}
        if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
            return [self._plain(each) for each in list(value)[:_LONGEST_LIST]]
        text = redacted(str(value), self.secrets)
        return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"


def _append(path: Path, line: bytes, lasting: bool) -> None:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    try:
        size = os.fstat(file).st_size
        # After a line that was cut off (a kill, a full disk) a new one begins: only that one is lost.
        torn = b"\n" if size and os.pread(file, 1, size - 1) != b"\n" else b""
        os.write(file, torn + line + b"\n")
        if lasting:
            os.fsync(file)
        elif size > MOST_BYTES:
            _rotate(path, file)
    finally:
        os.close(file)


def _rotate(path: Path, file: int) -> None:
    """Puts a full file aside, unless another process is doing so, or has done so."""
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(file).st_ino == path.stat().st_ino:
            path.replace(path.with_name(OLDER))


@dataclass(frozen=True, slots=True)
class Process:
    """A process that acts: ``by`` is the user of the system; ``born`` tells it from a later one with its
    number."""

    by: str
    host: str
    pid: int
    born: str

    @property
    def is_alive(self) -> bool | None:
        """Whether it exists; None for one of another machine."""
        if self.host != socket.gethostname():
            return None
        try:
            os.kill(self.pid, 0)
        except (ProcessLookupError, OverflowError):
            return False
        except OSError:
            pass
        return born(self.pid) == self.born


def this_process() -> Process:
    """Returns this process, and whose it is."""
    user, pid = os.geteuid(), os.getpid()
    try:
        name = pwd.getpwuid(user).pw_name
    except KeyError:
        name = str(user)
    return Process(name, socket.gethostname(), pid, born(pid))


def born(pid: int) -> str:
    """Returns when a process began, as the kernel prints it; "" if that is unknown."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return ""
    fields = status.rpartition(")")[2].split()
    # A zombie has ended.
    return "ended" if fields[0] in {"Z", "X"} else fields[19]


class Tail:
    """Reads the lines that a file gained since the last call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode, self._at, self._rest = -1, 0, b""

    def new_lines(self) -> tuple[list[dict[str, Any]], bool]:
        """Returns the new lines, and whether they are all that there are: it is another file, or cut."""
        try:
            with self._path.open("rb") as file:
                found = os.fstat(file.fileno())
                is_other = found.st_ino != self._inode or found.st_size < self._at
                if is_other:
                    self._inode, self._at, self._rest = found.st_ino, 0, b""
                elif found.st_size == self._at:
                    return [], False
                file.seek(self._at)
                content = file.read()
        except OSError:
            is_other, self._inode, self._at, self._rest = self._inode != -1, -1, 0, b""
            return [], is_other
        self._at += len(content)
        *lines, self._rest = (self._rest + content).split(b"\n")
        return [line for each in lines if (line := parsed(each)) is not None], is_other


def parsed(line: bytes) -> dict[str, Any] | None:
    """Returns the line; None if it is not one."""
    if not line.startswith(b"{"):
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_line = (
        isinstance(found, dict) and isinstance(found.get("at"), int) and isinstance(found.get("do"), str)
    )
    return found if is_line else None
