"""``lakesmith up``: the project is kept up to date by one warm Spark session, and events are taken by a process beside it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from lakesmith.api.lakehouse import Lakehouse
from lakesmith.api.opened import read_project
from lakesmith.api.results import RunFailed, RunResult
from lakesmith.errors import EnvironmentProblem, LakesmithError, Problem
from lakesmith.serve.intake.segments import PATTERN, remove_taken
from lakesmith.serve.routes import EventSource, event_sources, tokens_of
from lakesmith.sources.model import FileAction

_LOOK_SECONDS: Final = 0.25
"""How often the folders of events are looked at: a listing of a few names."""
_PATIENCE_SECONDS: Final = 15.0
"""How long the intake may take to seal what it holds."""
_LONGEST_PAUSE: Final = 60.0


@dataclass(frozen=True, slots=True)
class UpOptions:
    """``every``: seconds after which all sources are looked at, events or not. ``tls``: the files of the certificate and of its key; None:
    events come over plain HTTP.
    """

    project: Path
    target: str | None = None
    host: str = "127.0.0.1"
    port: int = 8080
    every: float = 10.0
    tls: tuple[Path, Path] | None = None

    @property
    def url(self) -> str:
        """Where events are taken."""
        return f"http{'s' if self.tls else ''}://{self.host}:{self.port}"


@dataclass
class Up:
    """Keeps a project up to date until ``stop`` is set. ``tell`` is called with what happens, in words."""

    options: UpOptions
    tell: Callable[[str], None]
    on_run: Callable[[RunResult], None]
    on_problems: Callable[[LakesmithError], None]
    stop: threading.Event = field(default_factory=threading.Event)
    _failures: int = 0

    def keep(self) -> None:
        """Takes events and runs. Raises LakesmithError for a project that is not right to begin with."""
        sources = event_sources(read_project(self.options.project, self.options.target).project)
        intake = _Intake(self.options)
        try:
            if sources:
                _require_server()
                for each in sources:
                    tokens_of(each, os.environ)
                intake.start()
                for each in sources:
                    self.tell(f"POST {self.options.url}{each.endpoint.path} -> {each.table.name}")
            with Lakehouse(self.options.project, self.options.target) as lakehouse:
                self._loop(lakehouse, sources, intake)
        finally:
            intake.end()

    def _loop(self, lakehouse: Lakehouse, sources: Sequence[EventSource], intake: _Intake) -> None:
        due = 0.0
        while not self.stop.is_set():
            if intake.restart_if_gone():
                self.tell("the intake had ended and was started again")
            now = time.monotonic()
            if now >= due or (not self._failures and any(map(_has_segments, sources))):
                self._run(lakehouse, sources)
                due = time.monotonic() + self._pause()
            self.stop.wait(_LOOK_SECONDS)

    def _pause(self) -> float:
        return min(2.0**self._failures, _LONGEST_PAUSE) if self._failures else self.options.every

    def _run(self, lakehouse: Lakehouse, sources: Sequence[EventSource]) -> None:
        try:
            result = lakehouse.run()
            self._failures = 0
        except RunFailed as failed:
            self._failures += 1
            self.on_problems(failed)
            result = failed.result
        except LakesmithError as error:
            self._failures += 1
            self.on_problems(error)
            return
        if result.published:
            self.on_run(result)
        self._remove_taken(sources)

    def _remove_taken(self, sources: Sequence[EventSource]) -> None:
        """Segments that a published batch has taken are not needed any more: their rows are in the lake."""
        lake = read_project(self.options.project, self.options.target).lake
        for each in sources:
            ledger = lake.ledger(each.table.name, lake.facts(each.table.name))
            taken = [
                Path(path).name
                for path, entry in ledger.items()
                if entry.source == each.source.name and entry.action is FileAction.TAKEN
            ]
            there = {path.name for path in each.folder.glob(PATTERN)}
            remove_taken(each.folder, there.intersection(taken))


class _Intake:
    """The process that takes events."""

    def __init__(self, options: UpOptions) -> None:
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        options = self._options
        target = ["--target", options.target] if options.target else []
        where = ["--host", options.host, "--port", str(options.port)]
        tls = ["--tls-cert", str(options.tls[0]), "--tls-key", str(options.tls[1])] if options.tls else []
        command = [
            sys.executable,
            "-m",
            "lakesmith.serve.server",
            str(options.project),
            *target,
            *where,
            *tls,
        ]
        # Ctrl-C is for this process: it ends the intake when its last batch is through.
        self._process = subprocess.Popen(command, start_new_session=True)

    def restart_if_gone(self) -> bool:
        if self._process is None or self._process.poll() is None:
            return False
        self.start()
        return True

    def end(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _require_server() -> None:
    if find_spec("uvicorn") is None:
        raise EnvironmentProblem(
            Problem(
                "LS309",
                "the package uvicorn, which takes events over HTTP, is not installed",
                expected="lakesmith with its extra `live`",
                hint="pip install 'lakesmith[live]'",
            )
        )


def _has_segments(each: EventSource) -> bool:
    return next(iter(each.folder.glob(PATTERN)), None) is not None
