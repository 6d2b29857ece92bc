"""Where what can be made again goes, caches and logs: into the project, or beside it where the project cannot be written."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from lakesmith.project.definitions import STATE_DIR


def user_cache(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's cache folder: ``$LAKESMITH_CACHE``, else ``$XDG_CACHE_HOME/lakesmith``, else ``~/.cache/lakesmith``. Not made here."""
    if environ.get("LAKESMITH_CACHE"):
        return Path(environ["LAKESMITH_CACHE"]).expanduser()
    if environ.get("XDG_CACHE_HOME"):
        return Path(environ["XDG_CACHE_HOME"]).expanduser() / "lakesmith"
    return Path("~/.cache/lakesmith").expanduser()


def scratch_folder(root: Path) -> Path:
    """The project's ``.lakesmith``, if it can be written or made; else a folder of the project's own in the user's cache, or else
    in the system's temporary folder.

    A project can be read where it cannot be written: by other users, from a mounted backup, in a container.
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
    """A folder of this user's alone in the system's temporary one, where others might have made it first, with what they like in it."""
    folder = Path(tempfile.gettempdir(), f"lakesmith-{os.getuid()}")
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid == os.getuid():
            return folder
    return Path(tempfile.mkdtemp(prefix="lakesmith-"))


def can_write(folder: Path) -> bool:
    """Whether files can be made in the folder, or in the nearest that there is above it. Nothing is written to find out."""
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
