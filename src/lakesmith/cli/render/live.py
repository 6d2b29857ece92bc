"""Where a long command says what it does: lines, and the live line of a terminal; and its signals."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.status import Status


@dataclass
class Output:
    """Where lines go. When its reader has gone away (``| head``) they go nowhere: the run itself goes on."""

    out: TextIO = field(default_factory=lambda: sys.stdout)
    closed: bool = False

    def write(self, line: str) -> None:
        if self.closed:
            return
        try:
            print(line, file=self.out, flush=True)
        except BrokenPipeError:
            self.closed = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.out.fileno())


@contextmanager
def live_line(as_json: bool, text: str) -> Iterator[Status | None]:
    """Shows ``text`` on a terminal's live line while the body runs; None if there is no terminal."""
    if as_json or not sys.stdout.isatty():
        yield None
        return
    from rich.console import Console

    with Console().status(text) as status:
        yield status


def update(status: Status | None, text: str) -> None:
    """Changes a live line, if there is one."""
    if status is not None:
        from rich.markup import escape

        status.update(escape(text))


def stray_prints_to_stderr(as_json: bool) -> AbstractContextManager[object]:
    """Keeps what a project's own Python prints out of JSON. A view writes to the stdout of its creation."""
    return redirect_stdout(sys.stderr) if as_json else nullcontext()


@contextmanager
def handled(handler: Callable[[int, FrameType | None], None], *signals: signal.Signals) -> Iterator[None]:
    """Handles the signals by ``handler`` while the body runs."""
    before = [signal.signal(each, handler) for each in signals]
    try:
        yield
    finally:
        for each, earlier in zip(signals, before, strict=True):
            signal.signal(each, earlier)
