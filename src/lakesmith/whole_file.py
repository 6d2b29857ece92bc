"""Files that are complete or not there at all, and files that a living process has locked."""

from __future__ import annotations

import fcntl
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_TEMPORARY: Final = re.compile(r"\..+\.(?P<pid>\d+)-\d+\.tmp")
"""What a file is called until it takes its place."""


def write_whole(path: Path, content: str | bytes, *, to_disk: bool = False) -> None:
    """Puts a file, and its folder, in place at once: whoever reads ``path`` meanwhile finds what was there
    before.

    ``to_disk``: its content is on the disk itself before it takes that place. Raises OSError, and leaves
    nothing behind then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with beside.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            if to_disk:
                file.flush()
                os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def is_locked(path: Path) -> bool | None:
    """Returns whether a process has the lock of a file; None if it cannot be opened."""
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def left_by_killed(folder: Path) -> Iterator[Path]:
    """Yields the temporary files of ``write_whole`` in ``folder`` whose processes are gone."""
    for path in folder.rglob(".*.tmp"):
        found = _TEMPORARY.fullmatch(path.name)
        if found is not None and path.is_file() and not is_there(int(found["pid"])):
            yield path


def is_there(pid: int) -> bool:
    """Returns whether the process that named a file or folder by its id still runs."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass
    # In a container each process may have the number of the one that was killed.
    return pid != os.getpid()
