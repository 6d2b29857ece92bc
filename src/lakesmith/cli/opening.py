"""The Lakehouse of a command: it shows waits on stderr, and may leave Spark warm for the next one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from lakesmith.api.access import Host
from lakesmith.api.lakehouse import Lakehouse
from lakesmith.cli.guard import remember


def open_lake(root: Path, target: str | None, progress: Callable[[str], None] | None = None) -> Lakehouse:
    """Opens the project for a command; the project itself is read by the calls."""
    busy = _busy if progress is None else _no_line
    host = Host(_say, busy, progress, reuses=True, keeps_warm=is_watched(), patience=None)
    lake = Lakehouse(root, target, host=host)
    remember(lake.access)
    return lake


def is_watched() -> bool:
    """Whether a person sees what this command prints, and may give another one."""
    return sys.stdout.isatty() and sys.stderr.isatty() and not os.environ.get("CI")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _busy(text: str) -> AbstractContextManager[object]:
    """A live line on stderr, so that it never mixes with what a command prints."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(text)


def _no_line(_text: str) -> AbstractContextManager[object]:
    """The command has a live line of its own."""
    return nullcontext()
