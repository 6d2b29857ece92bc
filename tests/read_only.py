"""Projects that can be read and not written: for every user, root too."""

import gc
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

_WITHOUT_POWERS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""Has a process of root's held to the modes of files as everybody is."""


@contextmanager
def read_only(root: Path) -> Iterator[None]:
    """Makes ``root`` read-only while the body runs, but for root itself (``python_held_to_modes``).

    Landing files stay as they are: a changed mode is a change of the file.
    """
    # A connection of this process that ends takes SQLite's files beside the catalog away.
    gc.collect()
    paths = [path for path in (root, *root.rglob("*")) if path.is_dir() or ".lakesmith" in path.parts]
    modes = {path: path.stat().st_mode for path in paths}
    for path in paths:
        path.chmod(modes[path] & ~0o222)
    try:
        yield
    finally:
        for path, mode in modes.items():
            with suppress(FileNotFoundError):
                path.chmod(mode)


@contextmanager
def python_that_stays_held_to_modes(script: str) -> Iterator[subprocess.Popen[str]]:
    """Runs a Python script that is told what to do by lines, and answers by lines."""
    command = [*(_WITHOUT_POWERS if os.getuid() == 0 else ()), sys.executable, "-c", script]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def python_held_to_modes(script: str, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a Python script that cannot write where modes do not let it."""
    command = [*(_WITHOUT_POWERS if os.getuid() == 0 else ()), sys.executable, "-c", script]
    return subprocess.run(
        command, env={**os.environ, **environ}, capture_output=True, text=True, timeout=120, check=False
    )
