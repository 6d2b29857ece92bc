"""How a run looks: plain lines as things happen, one live line on a terminal, and a closing summary; or JSON lines."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from lakesmith.cli.run_json import event_as_dict
from lakesmith.cli.run_summary import summary_lines
from lakesmith.cli.text import count, duration
from lakesmith.execute.events import (
    EngineStarted,
    EngineStarting,
    Event,
    LockWaiting,
    PhaseStarted,
    RunFinished,
    RunStarted,
    TableCurrent,
    TableFailed,
    TableHeld,
    TablePublished,
    TableRedone,
    TableStarted,
)
from lakesmith.plan.steps import Strategy, TableStep

if TYPE_CHECKING:
    from rich.status import Status


@dataclass
class JsonView:
    """One JSON object a line, as things happen."""

    out: TextIO = field(default_factory=lambda: sys.stdout)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, event: Event) -> None:
        with self._lock:
            print(json.dumps(event_as_dict(event)), file=self.out, flush=True)


@dataclass
class TextView:
    """Lines for people. ``status`` is the live line of a terminal, None elsewhere: there, phases are lines too."""

    out: TextIO = field(default_factory=lambda: sys.stdout)
    status: Status | None = None
    events: list[Event] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __call__(self, event: Event) -> None:
        with self._lock:
            self.events.append(event)
            for line in self._lines(event):
                self._say(line)

    def _say(self, line: str) -> None:
        if self.status is not None:
            self.status.console.print(line, markup=False, highlight=False)
        else:
            print(line, file=self.out, flush=True)

    def _lines(self, event: Event) -> list[str]:
        match event:
            case PhaseStarted(table, phase):
                return self._progress(f"{table}: {phase}")
            case RunStarted():
                return []
            case EngineStarting():
                return self._progress("starting Spark")
            case RunFinished():
                return summary_lines(self.events)
            case _:
                return said(event)

    def _progress(self, text: str) -> list[str]:
        if self.status is None:
            return []
        self.status.update(text)
        return []


def said(event: Event) -> list[str]:
    """The lines that tell of an event, on a terminal and elsewhere."""
    match event:
        case LockWaiting(holder):
            return [f"waiting: the project is in use by {holder}"]
        case EngineStarted(seconds, notes):
            return [f"Spark is ready after {duration(seconds)}", *(f"  {note}" for note in notes)]
        case TableStarted(step):
            return [f"{step.name}: {_doing(step)}"]
        case TablePublished(table, _, report, seconds):
            lines = [f"{table}: published batch {report.record.batch} in {duration(seconds)}"]
            return [*lines, *(f"  note: {warning}" for warning in report.warnings)]
        case TableRedone(table, reason):
            return [f"{table}: planned anew, because {reason}"]
        case TableHeld(table, because):
            return [f"{table}: not tried, because {', '.join(map(str, because))} failed"]
        case TableFailed(table, problems, _, _):
            return [f"{table}: FAILED", *(f"  {line}" for problem in problems for line in problem.lines())]
        case TableCurrent(table, reason, notes):
            return [f"{table}: up to date, {reason}", *(f"  note: {note}" for note in notes)]
    return []


def _doing(step: TableStep) -> str:
    match step.strategy:
        case Strategy.FILES:
            return f"taking {count(step.file_count, 'new file')}"
        case Strategy.UPSERT:
            return f"merging by key, {step.reason}"
        case Strategy.APPEND:
            return f"appending, {step.reason}"
        case Strategy.ADVANCE:
            return f"moving on, {step.reason}"
        case Strategy.FULL:
            return f"full refresh, {step.reason}"
        case Strategy.LEDGER:
            return "entering files in the ledger"
    return f"{step.strategy.value}, {step.reason}"


@contextmanager
def open_view(as_json: bool) -> Iterator[TextView | JsonView]:
    """The view that fits where the output goes."""
    if as_json:
        yield JsonView()
    elif sys.stdout.isatty():
        from rich.console import Console

        with Console().status("reading the lake") as status:
            yield TextView(status=status)
    else:
        yield TextView()
