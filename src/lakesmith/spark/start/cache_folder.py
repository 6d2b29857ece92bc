"""The user's cache folder of jars and class-data archives. All of it can be deleted at any time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lakesmith.errors import EnvironmentProblem, Problem
from lakesmith.project.scratch import user_cache


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Returns ``$LAKESMITH_CACHE``, ``$XDG_CACHE_HOME/lakesmith`` or ``~/.cache/lakesmith``."""
    return user_cache(os.environ if environ is None else environ)


def make_folder(folder: Path) -> Path:
    """Creates `folder` and its parents. Raises EnvironmentProblem LS304."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentProblem(_not_writable(folder, error)) from error
    if not os.access(folder, os.W_OK):
        raise EnvironmentProblem(_not_writable(folder, None))
    return folder


@contextmanager
def held(lock_file: Path, wait: bool = True) -> Iterator[bool]:
    """Holds an exclusive lock on `lock_file`; yields whether it is held (False only without waiting). It ends
    with the process."""
    with lock_file.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _not_writable(folder: Path, error: OSError | None) -> Problem:
    return Problem(
        code="LS304",
        what=f"the cache folder {folder} cannot be written",
        expected="a folder of yours: Spark's extra jars and start-up archives are kept there",
        found=str(error.strerror if error else "no permission to write"),
        hint="set LAKESMITH_CACHE to a folder that can be written",
    )
