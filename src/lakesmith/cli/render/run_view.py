"""A run as lines of text with a live line on a terminal and a closing summary, or as JSON lines."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from lakesmith.api.lakehouse import Lakehouse
from lakesmith.api.running import event_to_dict
from lakesmith.api.words import count, duration, size
from lakesmith.cli.command import open_lake
from lakesmith.cli.guard import INTERRUPTED
from lakesmith.cli.render.live import Output, handled, live_line, stray_prints_to_stderr, update
from lakesmith.cli.render.run_summary import summary_lines
from lakesmith.execute import events
from lakesmith.execute.events import Event, Listener, RunFailed, RunResult
from lakesmith.plan.steps import Strategy, TableStep
from lakesmith.project.definitions import TableName

if TYPE_CHECKING:
    from rich.status import Status


_STYLES = {
    events.TableFailed: "bold red",
    events.ExportFailed: "bold red",
    events.AlertFailed: "bold red",
    events.TablePublished: "green",
    events.TableRedone: "yellow",
    events.TableHeld: "yellow",
}
"""The first line of these events has a colour, on a terminal."""


@dataclass
class JsonView:
    """One JSON object a line, as things happen."""

    output: Output = field(default_factory=Output)
    has_engine: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, event: Event) -> None:
        with self._lock:
            self.has_engine |= isinstance(event, events.EngineStarting)
            self.output.write(json.dumps(event_to_dict(event)))

    def stopping(self) -> None:
        """Ctrl-C was pressed: the events that follow tell."""

    def close(self) -> None:
        """The process is about to end."""


@dataclass
class TextView:
    """Lines for people. ``status``: the live line of a terminal, with each table's phase and rows."""

    output: Output = field(default_factory=Output)
    status: Status | None = None
    events: list[Event] = field(default_factory=list)
    _phases: dict[TableName, str] = field(default_factory=dict)
    _rows: str = ""
    has_engine: bool = False
    _stopping: bool = False
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __call__(self, event: Event) -> None:
        with self._lock:
            self.events.append(event)
            self.has_engine |= isinstance(event, events.EngineStarting)
            self._note_phase(event)
            for number, line in enumerate(self._lines(event)):
                self._say(line, _STYLES.get(type(event)) if number == 0 else None)

    def progress(self, text: str) -> None:
        """What Spark has done of its present work, in words: for the live line."""
        with self._lock:
            self._rows = text
            self._show()

    def stopping(self) -> None:
        """Ctrl-C was pressed: says what happens now."""
        with self._lock:
            self._stopping = True
            self._say("stopping: what is not published yet is left as it was (Ctrl-C again ends at once)")

    def close(self) -> None:
        """The process is about to end: gives the terminal back as it was."""
        if self.status is not None:
            self.status.stop()

    def say(self, line: str) -> None:
        """Writes a line above the live line."""
        with self._lock:
            self._say(line)

    def _say(self, line: str, style: str | None = None) -> None:
        if self.status is None:
            self.output.write(line)
        else:
            self.status.console.print(line, markup=False, highlight=False, soft_wrap=True, style=style)

    def _lines(self, event: Event) -> list[str]:
        match event:
            case events.RunFinished():
                return summary_lines(self.events)
            case events.TableFailed(table) if self._stopping:
                return [f"{table}: stopped; nothing of its batch was published"]
        return said(event)

    def _note_phase(self, event: Event) -> None:
        match event:
            case events.PhaseStarted(table, phase):
                self._phases[table] = phase
            case events.TableExported(table) | events.ExportFailed(table):
                self._phases.pop(table, None)
            case events.TablePublished(table) | events.TableFailed(table) | events.TableRedone(table):
                self._phases.pop(table, None)
                self._rows = ""
        self._show("starting Spark" if isinstance(event, events.EngineStarting) else "")

    def _show(self, instead: str = "") -> None:
        at = [f"{table}: {phase}" for table, phase in self._phases.items()]
        parts = [*at, *([self._rows] if at and self._rows else [])]
        update(self.status, instead or ", ".join(parts) or "looking for what is new")


def said(event: Event) -> list[str]:
    """Returns the lines that describe an event, on a terminal and elsewhere."""
    match event:
        case events.LockWaiting(holder):
            return [f"waiting: the project is in use by {holder}"]
        case events.EngineStarted(seconds, notes):
            return [f"Spark is ready after {duration(seconds)}", *(f"  {note}" for note in notes)]
        case events.TableStarted(step):
            return [f"{step.name}: {_doing(step)}"]
        case events.TablePublished(table, _, report, seconds):
            lines = [f"{table}: published batch {report.record.batch} in {duration(seconds)}"]
            return [*lines, *(f"  note: {warning}" for warning in report.warnings)]
        case events.TableRedone(table, reason):
            return [f"{table}: planned again, because {reason}"]
        case events.TableHeld(table, because):
            return [f"{table}: not tried, because {', '.join(map(str, because))} failed"]
        case events.TableFailed(table, problems, _, _):
            return [f"{table}: FAILED", *(f"  {line}" for problem in problems for line in problem.lines())]
        case events.TableCurrent(table, reason, notes, held):
            return [
                f"{table}: {'' if held else 'up to date, '}{reason}",
                *(f"  note: {note}" for note in notes),
            ]
    return _beside(event)


def _beside(event: Event) -> list[str]:
    """Returns the lines of what a run does besides its tables: exports and alerts."""
    match event:
        case events.TableExported(table, report, seconds):
            carried = f", {report.carried} unchanged" if report.carried else ""
            what = f"{count(report.files, 'file')}, {size(report.bytes)}{carried}"
            head = f"{table}: exported {what} to {report.place} in {duration(seconds)}"
            return [head, *(f"  note: {note}" for note in report.notes)]
        case events.ExportFailed(table, problems, _):
            lines = (line for problem in problems for line in problem.lines())
            return [f"{table}: NOT EXPORTED", *(f"  {line}" for line in lines)]
        case events.AlertsSent(channel, firing, over):
            parts = [count(firing, "alert")] if firing else []
            return [f"notified {channel} of {' and '.join([*parts, *([f'{over} over'] if over else [])])}"]
        case events.AlertFailed(_, problem):
            return problem.lines()
    return []


def _doing(step: TableStep) -> str:
    match step.strategy:
        case Strategy.FILES:
            return f"ingesting {step.reason}"
        case Strategy.UPSERT:
            return f"merging {'versions ' if step.table.keeps_versions else ''}by key, {step.reason}"
        case Strategy.APPEND:
            return f"appending, {step.reason}"
        case Strategy.ADVANCE:
            return f"moving its positions, {step.reason}"
        case Strategy.FULL:
            return f"full refresh, {step.reason}"
        case Strategy.REPLAY | Strategy.DROP | Strategy.ERASE | Strategy.READMIT:
            return step.reason
        case Strategy.LEDGER:
            return "entering files in the ledger"
    return f"{step.strategy.label}, {step.reason}"


def run_shown(
    root: Path, target: str | None, as_json: bool, call: Callable[[Lakehouse, Listener], RunResult | None]
) -> tuple[int, RunResult | None]:
    """Makes a call that runs tables, and shows its events.

    Returns the exit code, and the result: None if the call declined, or was interrupted.
    """
    with open_view(as_json) as view, _interruptible(view), stray_prints_to_stderr(as_json):
        progress = view.progress if isinstance(view, TextView) and view.status is not None else None
        try:
            with open_lake(root, target, progress) as lake:
                result = call(lake, view)
        except RunFailed as failed:
            result = failed.result
        except KeyboardInterrupt:
            if not view.has_engine:
                raise
            return INTERRUPTED, None
    return result.exit_code if result else 0, result


@contextmanager
def _interruptible(view: TextView | JsonView) -> Iterator[None]:
    """Ctrl-C ends running jobs and starts no more; a second one ends the process at once.

    Nothing is lost by either: what is not published does not count, and the JVM ends with its process.
    """
    interrupts: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if interrupts:
            view.close()
            os._exit(INTERRUPTED)
        interrupts.append(number)
        if view.has_engine:
            view.stopping()
        raise KeyboardInterrupt

    with handled(interrupt, signal.SIGINT):
        yield


@contextmanager
def open_view(as_json: bool) -> Iterator[TextView | JsonView]:
    """The view that fits where the output goes."""
    with live_line(as_json, "looking for what is new") as status:
        yield JsonView() if as_json else TextView(status=status)
