"""How commands write the journal: an action begins, says what it does, and ends."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from lakesmith.catalog.history import account_in_words
from lakesmith.catalog.record import Account
from lakesmith.errors import LakesmithError, Problem
from lakesmith.execute.events import (
    EngineStarted,
    EngineStarting,
    Event,
    ExportFailed,
    LockWaiting,
    PhaseStarted,
    TableExported,
    TableFailed,
    TableHeld,
    TablePublished,
    TableRedone,
    TableStarted,
)
from lakesmith.journal.lines import Journal, this_process

PAUSE: Final = 0.5
"""Seconds between two lines about phases. What a batch leaves sooner is not written."""
LONG: Final = 2.0
"""Seconds after which it is written how far a step is."""
_PROGRESS: Final = "\0progress"


@dataclass
class Action:
    """An action under way: a listener of the events of a run. Threads may share it.

    Args:
        journal: where it is written.
        kind: one word: ``run``, ``maintain``, ``tag`` ...
        text: the command as a person would give it.
        tables: the tables that it is about, where its events do not tell.
        lasting: whether its beginning and end are kept for ever.
        lazy: whether it is written only once it does something.
    """

    journal: Journal
    kind: str
    text: str
    tables: Sequence[object] = ()
    lasting: bool = False
    lazy: bool = False
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:16])
    _has_begun: bool = False
    _is_over: bool = False
    _waiting: dict[str, dict[str, Any]] = field(default_factory=dict)
    _written: float = 0.0
    _stepped: float = field(default_factory=time.monotonic)
    _said: str = ""
    _timer: threading.Timer | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, event: Event) -> None:
        match event:
            case LockWaiting(holder):
                self.phase("", f"waiting for {holder}")
            case EngineStarting():
                self.phase("", "starting Spark")
            case EngineStarted():
                self.phase("", "")
            case PhaseStarted(table, phase):
                self.phase(str(table), phase)
            case _:
                self._outcome(event)

    def _outcome(self, event: Event) -> None:
        match event:
            case TableStarted(step):
                self._of_table(step.name, "step", strategy=step.strategy.value, why=step.reason)
            case TablePublished(table, step, report, seconds):
                record = report.record
                more = {"batch": record.batch, "seconds": round(seconds, 3), "strategy": step.strategy.value}
                self._of_table(table, "batch", **more, **_rows(record.account), notes=report.warnings)
            case TableFailed(table, problems, _, seconds):
                self._of_table(table, "failed", seconds=round(seconds, 3), **_problem(problems))
            case TableHeld(table, because):
                self._of_table(table, "held", because=because)
            case TableRedone(table, reason):
                self._of_table(table, "redone", why=reason)
            case TableExported(table):
                self._of_table(table, "exported")
            case ExportFailed(table, problems):
                self._of_table(table, "export_failed", **_problem(problems))

    def begin(self) -> bool:
        """Writes that it begins, unless it is lazy. Returns whether that was possible."""
        with self._lock:
            return self.lazy or self._begin()

    def say(self, text: str) -> None:
        """Writes a notice for people."""
        self._write({"do": "said", "text": text})

    def phase(self, table: str, phase: str) -> None:
        """Writes what is being done, to a table or before there is one, at most twice a second."""
        self._soon(table, {"do": "phase", "table": table, "phase": phase})

    def progress(self, text: str) -> None:
        """Writes how far Spark's work is, once a step takes long."""
        is_long = time.monotonic() - self._stepped > LONG
        if text and is_long and text != self._said and self._has_begun:
            self._said = text
            self._soon(_PROGRESS, {"do": "progress", "text": text})

    def _soon(self, key: str, line: dict[str, Any]) -> None:
        with self._lock:
            self._waiting[key] = line
            if self._timer is None:
                pause = max(0.0, self._written + PAUSE - time.monotonic())
                self._timer = threading.Timer(pause, self._flush)
                self._timer.daemon = True
                self._timer.start()

    def end(self, outcome: str, **facts: Any) -> None:
        """Writes how it ended, if it did anything."""
        with self._lock:
            self._is_over = True
            self._waiting.clear()
            if self._has_begun:
                self._append({"do": "ended", "outcome": outcome, **facts}, self.lasting)

    def _of_table(self, table: object, do: str, **facts: Any) -> None:
        with self._lock:
            self._waiting.pop(str(table), None)
            self._waiting.pop(_PROGRESS, None)
            self._stepped = time.monotonic()
        self._write({"do": do, "table": str(table), **{key: each for key, each in facts.items() if each}})

    def _write(self, line: dict[str, Any]) -> None:
        with self._lock:
            if not self._is_over:
                self._begin()
                self._append(line)

    def _flush(self) -> None:
        with self._lock:
            self._timer = None
            found, self._waiting = self._waiting, {}
            self._written = time.monotonic()
            if found and not self._is_over:
                self._begin()
                for line in found.values():
                    self._append(line)

    def _begin(self) -> bool:
        if self._has_begun:
            return True
        self._has_begun = True
        line = {"do": "begun", "kind": self.kind, "text": self.text, **asdict(this_process())}
        return self._append({**line, "tables": self.tables} if self.tables else line, self.lasting)

    def _append(self, line: dict[str, Any], lasting: bool = False) -> bool:
        return self.journal.append({"do": line["do"], "id": self.id, **line}, lasting=lasting)


def _rows(account: Account) -> dict[str, Any]:
    counts = asdict(account)
    counts.pop("versions")
    return {"rows": account_in_words(account), "counts": {key: each for key, each in counts.items() if each}}


def _problem(problems: Sequence[Problem]) -> dict[str, Any]:
    """The first problem, without what was found, which may be rows."""
    return {"code": problems[0].code, "what": problems[0].what} if problems else {}


@contextmanager
def acting(action: Action, listener: Callable[[Action], None] = lambda _: None) -> Iterator[Action]:
    """Writes an action's beginning and end around the body; ``listener`` receives it."""
    action.begin()
    began = time.monotonic()
    listener(action)
    outcome: dict[str, Any] = {"outcome": "done", "code": 0}
    try:
        yield action
    except LakesmithError as error:
        outcome = {"outcome": "failed", "exit_code": error.exit_code, **_problem(error.problems)}
        raise
    except (KeyboardInterrupt, GeneratorExit):
        outcome = {"outcome": "interrupted"}
        raise
    except BaseException as error:
        outcome = {"outcome": "failed", "what": type(error).__name__}
        raise
    finally:
        action.end(**outcome, seconds=round(time.monotonic() - began, 3))
