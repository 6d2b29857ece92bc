"""The session's own temporary folder: all that the driver JVM writes for itself goes there and goes away with
it.

Its ``alive`` file is locked by this process and, through the inherited descriptor, by the JVM: as long as one
of them lives the lock is held, whatever became of the other. Folders whose lock is free are left-overs of
killed sessions and are removed at the next start.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lakesmith.whole_file import is_locked

PREFIX = "lakesmith-session-"
_PROJECT = "project"
"""The file that says whose session it is."""


@dataclass(frozen=True, slots=True)
class SessionFolder:
    """A folder of this session (mode 0700) and the descriptor of its held lock, to be passed to the JVM."""

    path: Path
    lock_fd: int

    @property
    def java_tmp(self) -> Path:
        """For ``java.io.tmpdir``: native libraries are unpacked here."""
        return self.path / "java"

    @property
    def spark_local(self) -> Path:
        """For ``spark.local.dir``: shuffle files, spills, broadcast blocks."""
        return self.path / "spark"

    def remove(self) -> None:
        """Remove the folder and release the lock. The JVM must be gone, or it may write on into nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock_fd)


def new_session_folder(project: str = "") -> SessionFolder:
    """Creates the folder below TMPDIR and removes those of killed sessions. ``project``: its owner."""
    base = Path(tempfile.gettempdir())
    sweep(base)
    path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
    fd = os.open(path / "alive", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    folder = SessionFolder(path, fd)
    (path / _PROJECT).write_text(project)
    folder.java_tmp.mkdir()
    folder.spark_local.mkdir()
    return folder


def living_folders(project: str) -> list[Path]:
    """Returns the folders of a project's running sessions of this user."""
    found = Path(tempfile.gettempdir()).glob(f"{PREFIX}*")
    return [
        path
        for path in sorted(found)
        if _is_mine(path) and _project_of(path) == project and not _is_dead(path / "alive")
    ]


def _project_of(path: Path) -> str | None:
    try:
        return (path / _PROJECT).read_text()
    except OSError:
        return None


def sweep(base: Path) -> list[Path]:
    """Remove this user's session folders that no living process holds; returns what was removed."""
    dead = [path for path in base.glob(f"{PREFIX}*") if _is_mine(path) and _is_dead(path / "alive")]
    for path in dead:
        shutil.rmtree(path, ignore_errors=True)
    return dead


def _is_mine(path: Path) -> bool:
    try:
        return path.stat().st_uid == os.getuid()
    except OSError:
        return False


def _is_dead(alive: Path) -> bool:
    """Returns whether nobody holds the lock. A folder without the file is being created."""
    return is_locked(alive) is False
