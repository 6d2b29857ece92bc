"""Folders for caches and logs: in the project, or elsewhere if the project cannot be written."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from lakesmith.project.definitions import STATE_DIR


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
