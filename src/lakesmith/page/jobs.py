"""Jobs: what was confirmed on the page, each done by a process of its own (``lakesmith.api.doing``)."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from lakesmith.errors import Problem, UsageError

COMMAND = (sys.executable, "-m", "lakesmith.api.doing")
"""What does a job."""
DIFF: Final = "diff"
"""The job that changes nothing: it is the same for all who ask, and may be tried again."""
AT_ONCE: Final = 4
"""The most jobs that are done at a time. Those that change the lake wait for its lock anyhow."""
_KEPT: Final = 100
_RECENT_MS: Final = 120_000
_LINES: Final = 200


@dataclass
class Job:
    """A job: ``now`` is what it does, ``lines`` what it has done. ``back``: the page that it was started
    from; ``command`` does the same in a terminal."""

    key: str
    title: str
    table: str
    action: str
    command: str = ""
    back: str = "/"
    begun_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    ended_ms: int | None = None
    now: str = "starting"
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES))
    result: Any = None
    problems: Sequence[Problem] = ()
    is_cancelled: bool = False
    process: subprocess.Popen[bytes] | None = None

    @property
    def state(self) -> str:
        """``running``, ``done`` or ``failed``."""
        if self.ended_ms is None:
            return "running"
        return "failed" if self.problems else "done"

    @property
    def is_recent(self) -> bool:
        """Whether it is under way, or has ended a short while ago."""
        return self.ended_ms is None or time.time_ns() // 1_000_000 - self.ended_ms < _RECENT_MS


class Jobs:
    """The jobs of a page, the newest last. Threads may share it. ``version`` changes with what they say.

    A job is known by a key that the form had: a form that is sent twice starts one.
    """

    def __init__(self, folder: str, target: str | None) -> None:
        self._about = {"folder": folder, "target": target}
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self.version = 0

    def __iter__(self) -> Iterator[Job]:
        with self._lock:
            return iter(list(self._jobs.values()))

    def get(self, key: str) -> Job | None:
        """Returns a job."""
        return self._jobs.get(key)

    def start(self, job: Job, task: Mapping[str, Any]) -> Job:
        """Starts a job; returns the one of its key if that was started before.

        Raises UsageError LS277 if too many run already.
        """
        with self._lock:
            known = self._jobs.get(job.key)
            if known is not None and not (known.action == DIFF and known.problems):
                return known
            if sum(each.ended_ms is None for each in self._jobs.values()) >= AT_ONCE:
                raise UsageError.of(
                    "LS277", f"{AT_ONCE} actions of this page are under way", hint="wait until one has ended"
                )
            self._forget()
            self._jobs[job.key] = job
        data = {"heads": {}, **self._about, **task, "action": job.action}
        threading.Thread(target=self._follow, args=(job, data), name="page-job", daemon=True).start()
        return job

    def note(self, job: Job, lines: Sequence[str]) -> Job:
        """Keeps what was done at once."""
        with self._lock:
            self._forget()
            self._jobs[job.key] = job
            job.lines.extend(lines)
            job.now, job.ended_ms = "", job.begun_ms
            self.version += 1
        return job

    def cancel(self, key: str) -> None:
        """Interrupts a job as Ctrl-C does a command: what was published stays."""
        job = self._jobs.get(key)
        if job is not None and job.process is not None and job.ended_ms is None:
            job.is_cancelled = True
            self._say(job, "cancelling")
            with suppress(OSError):
                job.process.send_signal(signal.SIGINT)

    def _forget(self) -> None:
        ended = [key for key, each in self._jobs.items() if each.ended_ms is not None]
        for key in ended[: max(0, len(self._jobs) - _KEPT)]:
            del self._jobs[key]

    def _follow(self, job: Job, task: Mapping[str, Any]) -> None:
        """Starts the process, and follows its lines until it ends. It outlives the page."""
        said: dict[str, Any] = {}
        try:
            job.process = subprocess.Popen(
                COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
            assert job.process.stdin is not None and job.process.stdout is not None
            with job.process.stdin as given:
                given.write(json.dumps(task).encode() + b"\n")
            for line in job.process.stdout:
                with suppress(ValueError):
                    said |= self._note(job, json.loads(line))
            job.process.wait()
        except OSError as error:
            said = {"problems": [_ended(f"its process cannot be started: {error.strerror or error}")]}
        if not said:
            said = {"problems": [_ended("its process has ended by itself")]}
        job.result, job.problems = (
            said.get("result"),
            [Problem.from_dict(each) for each in said.get("problems", ())],
        )
        job.now, job.ended_ms = "", time.time_ns() // 1_000_000
        self.version += 1

    def _note(self, job: Job, said: Mapping[str, Any]) -> Mapping[str, Any]:
        """Keeps what a process says; returns its end, if it is that."""
        if "line" in said:
            job.lines.append(said["line"])
        if "now" in said and not job.is_cancelled:
            self._say(job, said["now"])
        self.version += 1
        return {kind: said[kind] for kind in ("result", "problems") if kind in said}

    def _say(self, job: Job, text: str) -> None:
        job.now = text
        self.version += 1


def _ended(what: str) -> dict[str, Any]:
    hint = "see .lakesmith/logs; what was published before is there"
    return {"code": "LS672", "what": what, "hint": hint}
