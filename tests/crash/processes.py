"""``lakesmith run`` as real processes that are killed and stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

LAKESMITH = (sys.executable, str(Path(__file__).with_name("run_by_keys.py")))
PATIENCE = 300.0
"""Seconds that a run may take on a machine that is busy with other things."""


@dataclass(frozen=True)
class Ended:
    """How a process ended: its code as Popen gives it (-9: killed), and what it wrote."""

    code: int
    output: str


@dataclass
class RunProcess:
    """A run under way in the project in ``root``. Leaving its ``with`` block kills it if it still runs."""

    root: Path
    process: subprocess.Popen[str]

    def __enter__(self) -> RunProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    @classmethod
    def start(cls, root: Path, fault: str | None = None, command: Sequence[str] = ("run",)) -> RunProcess:
        """Starts it, or another command, to fail at ``fault`` (see ``lakesmith.execute.faults``)."""
        environment = {key: value for key, value in os.environ.items() if key != "LAKESMITH_FAULT"}
        if fault is not None:
            environment["LAKESMITH_FAULT"] = fault
        process = subprocess.Popen(
            [*LAKESMITH, *command, "--project", str(root)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        return cls(root, process)

    @property
    def pid(self) -> int:
        return self.process.pid

    def end(self) -> Ended:
        output, _ = self.process.communicate(timeout=PATIENCE)
        return Ended(self.process.returncode, output)

    def wait_for_jvm(self) -> int | None:
        """Its JVM; None when it ended before it had one."""
        found: list[int] = []

        def seen() -> bool:
            if pid := self.jvm():
                found.append(pid)
            return bool(found) or self.process.poll() is not None

        wait_until(seen, "the run has a JVM or ends")
        return found[0] if found else None

    def jvm(self) -> int | None:
        """Its JVM, once there is one, as the project's lock tells it."""
        holder = holder_of(self.root)
        if holder is None or holder["pid"] != self.pid:
            return None
        pid = holder["jvm_pid"]
        return int(pid) if pid is not None else None  # type: ignore[call-overload]


def run(root: Path, fault: str | None = None, command: Sequence[str] = ("run",)) -> Ended:
    with RunProcess.start(root, fault, command) as process:
        return process.end()


def must(root: Path, *command: str) -> str:
    """Runs the project, or another command, which has to end well. Returns its output."""
    ended = run(root, command=command or ("run",))
    assert ended.code == 0, ended.output
    return ended.output


def run_killed(root: Path, fault: str, command: Sequence[str] = ("run",)) -> Ended:
    """Runs a command that is killed at ``fault``, and waits until its JVM has ended too."""
    with RunProcess.start(root, fault, command) as killed:
        jvm = killed.wait_for_jvm()
        ended = killed.end()
    assert ended.code == (1 if "killjvm" in fault else -9), ended.output
    if jvm is not None:
        wait_until(lambda: is_gone(jvm), "the JVM of what was killed ends", patience=30)
    return ended


def holder_of(root: Path) -> dict[str, object] | None:
    """Who holds the project's lock, or held it when it was killed; None when nobody does."""
    try:
        text = (root / ".lakesmith/locks/project.lock").read_text()
        return json.loads(text) if text.strip() else None
    except (FileNotFoundError, ValueError):
        return None


def status(pid: int) -> str:
    """Returns a process's state as a letter of ``/proc``: T stopped, Z ended; empty: it does not exist."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return stat.rpartition(")")[2].split()[0]


def is_gone(pid: int) -> bool:
    return status(pid) in ("", "Z")


def wait_until(happened: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not happened():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.02)


def kill(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Sends a signal to a process, if it is still there."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
