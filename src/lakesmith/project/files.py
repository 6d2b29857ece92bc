"""Access to a project's files, and folders for its caches and logs. Only this part of loading reads files."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lakesmith.errors import Place, ProjectError
from lakesmith.project.definitions import STATE_DIR

PROJECT_FILE = "lakesmith.yaml"
"""The file that makes a folder a project."""

TABLES = "tables"
"""The folder whose first-level folders are the layers."""


class ProjectFiles(Protocol):
    """Read access to a project's folder. Paths are posix and relative to it."""

    @property
    def root(self) -> Path:
        """The project's folder."""

    def table_paths(self) -> tuple[str, ...]:
        """Returns every file below ``tables/``, sorted, without hidden files and folders and ``__pycache__``.

        Links are followed. A broken link is among the files, so that reading it reports it. Raises
        ProjectError LS101 if a folder cannot be listed.
        """

    def exists(self, path: str) -> bool:
        """Returns whether the file exists."""

    def read(self, path: str) -> str:
        """Returns the text of a file. Raises ProjectError LS101 if it cannot be read or is not UTF-8."""


@dataclass(frozen=True)
class FolderFiles:
    """A project in a local folder."""

    root: Path

    def table_paths(self) -> tuple[str, ...]:
        folder = self.root / TABLES
        if not folder.exists():
            return ()
        try:
            names = (Path(path).relative_to(self.root).as_posix() for path in _files_below(str(folder)))
            return tuple(sorted(names))
        except OSError as error:
            path = Path(error.filename or folder).relative_to(self.root)
            raise _unreadable(path.as_posix(), "a folder that can be listed", _said(error)) from error

    def exists(self, path: str) -> bool:
        return (self.root / path).is_file()

    def read(self, path: str) -> str:
        """Returns the text of a file without its byte order mark; see ProjectFiles."""
        try:
            return (self.root / path).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise _unreadable(path, "UTF-8 text", f"byte {error.start} is no UTF-8") from error
        except OSError as error:
            raise _unreadable(path, "a file that can be read", _said(error)) from error


def _files_below(folder: str, above: frozenset[str] = frozenset()) -> Iterator[str]:
    """The files that are not hidden. Links are followed, except to a folder ``above``."""
    real = os.path.realpath(folder)
    if real in above:
        return
    for entry in os.scandir(folder):
        if _is_hidden(entry.name):
            continue
        if entry.is_dir():
            yield from _files_below(entry.path, above | {real})
        else:
            yield entry.path


def _said(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _is_hidden(part: str) -> bool:
    return part.startswith(".") or part == "__pycache__"


def _unreadable(path: str, expected: str, found: str) -> ProjectError:
    return ProjectError.of("LS101", f"{path} cannot be read", Place(path), expected, found)


def user_cache(environ: Mapping[str, str] = os.environ) -> Path:
    """Returns the user's cache folder, which may not exist.

    It is ``$LAKESMITH_CACHE``, else ``$XDG_CACHE_HOME/lakesmith``, else ``~/.cache/lakesmith``.
    """
    if environ.get("LAKESMITH_CACHE"):
        return Path(environ["LAKESMITH_CACHE"]).expanduser()
    if environ.get("XDG_CACHE_HOME"):
        return Path(environ["XDG_CACHE_HOME"]).expanduser() / "lakesmith"
    return Path("~/.cache/lakesmith").expanduser()


def scratch_folder(root: Path) -> Path:
    """Returns the folder for caches and logs of a project.

    It is the project's ``.lakesmith`` if that can be written or created, else a folder in the user's cache,
    or else in the system's temporary folder. A project can be read where it cannot be written: by other
    users, from a mounted backup, in a container.
    """
    state_dir = root / STATE_DIR
    if can_write(state_dir):
        return state_dir
    name = (
        f"project-{hashlib.sha256(str(root.absolute()).encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"
    )
    cache = user_cache()
    return cache / name if can_write(cache) else own_temporary() / name


def own_temporary() -> Path:
    """Returns a folder of this user in the system's temporary folder.

    If another user owns the folder of that name, its content cannot be trusted, so a new folder is created.
    """
    folder = Path(tempfile.gettempdir(), f"lakesmith-{os.getuid()}")
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid == os.getuid():
            return folder
    return Path(tempfile.mkdtemp(prefix="lakesmith-"))


def can_write(folder: Path) -> bool:
    """Returns whether files can be created in the folder, or in its nearest existing parent. Nothing is
    written."""
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
