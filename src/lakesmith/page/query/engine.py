"""Has a process run queries (``lakesmith.api.answering``), one at a time, each with a time limit."""

from __future__ import annotations

import json
import queue
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lakesmith.errors import LakesmithError, Problem, RunError, UsageError

TRACE_SECONDS: Final = 120.0
"""How long an event is followed: tables that are not reached then are named."""
_MORE_SECONDS: Final = 90.0
"""How long a trace may take besides: for the start of Spark."""
_START_SECONDS: Final = 180.0
"""How long Spark may take to start."""
_CANCEL_SECONDS: Final = 4.0
"""How long a query that is cancelled may take to end; then its process is killed."""
_NUMBER: Final = re.compile(r"[0-9a-f]{32}")
_COMMAND: Final = (sys.executable, "-P", "-m", "lakesmith.api.answering")

Answer = Mapping[str, Any]


@dataclass
class _Child:
    """A process that answers; ``answers`` ends with None when the process has. ``ends``: it was idle, and
    takes no task any more."""

    process: subprocess.Popen[str]
    ends: bool = False
    answers: queue.SimpleQueue[Answer | None] = field(default_factory=queue.SimpleQueue)

    def send(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        with suppress(OSError, ValueError):
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()

    def receive(self) -> None:
        """Takes its answers until it ends; in a thread of its own."""
        assert self.process.stdout is not None
        with suppress(ValueError):
            for line in self.process.stdout:
                if "ends" in (answer := json.loads(line)):
                    self.ends = True
                else:
                    self.answers.put(answer)
        self.answers.put(None)

    def end(self, patience: float) -> None:
        with suppress(OSError, ValueError):
            self.process.stdin.close()  # type: ignore[union-attr]
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class _EndedBefore(Exception):
    """A process was ending when it was given a query."""


@dataclass
class Running:
    """A query or a trace under way. ``cancelled``: somebody asked for its end."""

    number: str
    sql: str
    seconds: float
    begun: float = field(default_factory=time.monotonic)
    cancelled: threading.Event = field(default_factory=threading.Event)


class Engine:
    """Runs the queries of a page. Threads may share it: while a query runs, another is refused.

    ``seconds`` returns the time limit. The process starts with the first query, and ends when it is idle.
    """

    def __init__(self, folder: Path, target: str | None, seconds: Callable[[], float]) -> None:
        self._settings, self.seconds = {"folder": str(folder), "target": target}, seconds
        self._child: _Child | None = None
        self._lock, self._is_closed = threading.Lock(), False
        self.running: Running | None = None

    def ask(self, number: str, sql: str, as_of: str, limit: int) -> Answer:
        """Returns the first ``limit`` rows of a query.

        Raises UsageError LS246 if another one runs, LS247 after the time limit, LS248 if it was cancelled,
        RunError LS671 if its process died, and LakesmithError with what is wrong with it.
        """
        return self._run(number, {"sql": sql, "as_of": as_of, "limit": limit})

    def trace(self, number: str, table: str, source: str | None, text: str) -> Answer:
        """Returns what an event does (``Lakehouse.trace``). Raises as ``ask``."""
        given = {"table": table, "source": source, "event": text, "limit": TRACE_SECONDS}
        task = {"sql": f"an event of {table}", "trace": given}
        return self._run(number, task, TRACE_SECONDS + _MORE_SECONDS)

    @contextmanager
    def written(
        self, number: str, sql: str, as_of: str, limit: int, kind: str
    ) -> Iterator[tuple[Path, Answer]]:
        """Gives a file of a query's first ``limit`` rows, csv or parquet, while the context lasts."""
        with tempfile.TemporaryDirectory(prefix="lakesmith-page-") as folder:
            path = Path(folder, f"result.{kind}")
            task = {"sql": sql, "as_of": as_of, "limit": limit, "file": str(path)}
            yield path, self._run(number, task)

    def cancel(self, number: str) -> bool:
        """Ends the query with this number; False if it does not run."""
        running = self.running
        if running is None or running.number != number:
            return False
        running.cancelled.set()
        return True

    def close(self) -> None:
        """Ends the process, and what it does."""
        self._is_closed = True
        if self.running is not None:
            self.running.cancelled.set()
        if self._child is not None:
            self._child.end(_CANCEL_SECONDS)

    def _run(self, number: str, task: Mapping[str, Any], seconds: float | None = None) -> Answer:
        if not self._lock.acquire(blocking=False):
            raise _busy(self.running)
        try:
            self.running = running = Running(number, task["sql"], seconds or self.seconds())
            if self._is_closed:
                raise UsageError.of("LS248", "the page ends")
            try:
                return self._asked(running, task)
            except _EndedBefore:
                return self._asked(running, task)
        finally:
            self.running = None
            self._lock.release()

    def _asked(self, running: Running, task: Mapping[str, Any]) -> Answer:
        child = self._started()
        child.send({"id": running.number, **task})
        return self._awaited(child, running)

    def _started(self) -> _Child:
        if self._child is None or self._child.ends or self._child.process.poll() is not None:
            process = subprocess.Popen(
                _COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                # Ctrl-C in the terminal is for the page, which then ends this process.
                start_new_session=True,
            )
            self._child = _Child(process)
            threading.Thread(target=self._child.receive, name="query-answers", daemon=True).start()
            self._child.send(self._settings)
        return self._child

    def _part_with(self, child: _Child) -> None:
        """Ends the process of a cancelled query, for ``up`` to see whether Spark ended what it computed."""
        self._child = None
        threading.Thread(target=child.end, args=(_CANCEL_SECONDS,), name="query-ends", daemon=True).start()

    def _awaited(self, child: _Child, running: Running) -> Answer:
        until, ends, is_late, limit = time.monotonic() + _START_SECONDS, 0.0, False, running.seconds
        while True:
            with suppress(queue.Empty):
                answer = child.answers.get(timeout=0.05)
                if answer is None:
                    self._child = None
                    raise _ended(running, limit, is_late) or (_EndedBefore() if child.ends else _died())
                if answer["id"] == running.number and answer.get("running"):
                    until = time.monotonic() + limit
                elif answer["id"] == running.number:
                    if ends:
                        self._part_with(child)
                    if "problems" in answer:
                        raise _ended(running, limit, is_late) or _failed(answer["problems"])
                    return answer
            now = time.monotonic()
            is_late = is_late or now > until
            if not ends and (is_late or running.cancelled.is_set()):
                child.send({"cancel": running.number})
                ends = now + _CANCEL_SECONDS
            if ends and now > ends:
                # It is not at Spark's jobs, which can be cancelled.
                child.process.kill()


def number_in(form: Mapping[str, str]) -> str:
    """Returns the number of a query or a trace that a form has, so that another form can cancel it; a new one
    if it has none."""
    given = form.get("number", "")
    return given if _NUMBER.fullmatch(given) else secrets.token_hex(16)


def _busy(running: Running | None) -> UsageError:
    sql = " ".join(running.sql.split())[:80] if running else None
    return UsageError.of(
        "LS246",
        "another query of this page is running",
        expected="one query at a time",
        found=sql,
        hint="wait until it has ended, or cancel it",
    )


def _ended(running: Running, seconds: float, is_late: bool) -> UsageError | None:
    if running.cancelled.is_set():
        return UsageError.of("LS248", "the query was cancelled")
    if not is_late:
        return None
    what = f"the query was cancelled: it took longer than {seconds:g} s"
    hint = "read less, run it in a terminal (lakesmith query), or set query_seconds of ui in lakesmith.yaml"
    return UsageError.of("LS247", what, hint=hint)


def _died() -> RunError:
    hint = "run it again; if it needs too much memory, read less at once"
    return RunError.of("LS671", "the process that ran the query has ended", hint=hint)


def _failed(problems: Sequence[Mapping[str, Any]]) -> LakesmithError:
    return LakesmithError([Problem.from_dict(each) for each in problems])
