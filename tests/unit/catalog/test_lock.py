"""The lock, held and killed by real processes."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakesmith.catalog.lock import Holder, ProjectLock
from lakesmith.errors import EnvironmentProblem, LockedError, Problem

HOLD = """
import sys, time
from pathlib import Path
from lakesmith.catalog.lock import ProjectLock
with ProjectLock(Path(sys.argv[1]), sys.argv[2], wait_seconds=60) as lock:
    lock.note_jvm(4242)
    print("held", flush=True)
    sys.stdin.readline()
"""

COUNT = """
import sys, time
from pathlib import Path
from lakesmith.catalog.lock import ProjectLock
counter = Path(sys.argv[1], "counter")
for _ in range(20):
    with ProjectLock(Path(sys.argv[1]), "count", wait_seconds=60):
        value = int(counter.read_text())
        time.sleep(0.001)
        counter.write_text(str(value + 1))
"""

if TYPE_CHECKING:
    from tests.unit.catalog.conftest import AsNobody

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start_holder(tmp_path: Path) -> Iterator[Start]:
    """Starts a process that holds the lock until it is sent a line; it is killed at the end of the test."""
    with ExitStack() as stack:

        def start(what: str = "lakesmith run gold") -> subprocess.Popen[str]:
            command = [sys.executable, "-c", HOLD, str(tmp_path), what]
            pipe = subprocess.PIPE
            process = stack.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
            stack.callback(process.kill)
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            return process

        yield start


def refusal(state_dir: Path, wait_seconds: float = 0.0) -> Problem | None:
    """What is said to one who asks for the lock; None when it is given."""
    try:
        with ProjectLock(state_dir, "test", wait_seconds=wait_seconds):
            return None
    except LockedError as error:
        return error.problems[0]


def finish(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_the_lock_is_taken_and_given_back(tmp_path: Path) -> None:
    with ProjectLock(tmp_path, "lakesmith run") as lock:
        holder = json.loads((tmp_path / "locks" / "project.lock").read_text())
        assert holder == {
            "host": socket.gethostname(), "pid": os.getpid(), "command": "lakesmith run",
            "since": holder["since"], "jvm_pid": None,
        }  # fmt: skip
        lock.note_jvm(7)
        assert json.loads((tmp_path / "locks" / "project.lock").read_text()) == holder | {"jvm_pid": 7}
    with ProjectLock(tmp_path, "again") as lock:
        assert lock.abandoned is None


def test_a_failing_body_gives_it_back(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), ProjectLock(tmp_path, "run"):
        raise ZeroDivisionError
    assert refusal(tmp_path) is None


def test_locks_of_other_names_and_folders_are_others(tmp_path: Path) -> None:
    with (
        ProjectLock(tmp_path, "run"),
        ProjectLock(tmp_path, "run", name="silver.people"),
        ProjectLock(tmp_path / "other", "run"),
    ):
        problem = refusal(tmp_path)
        assert problem is not None
        assert problem.code == "LS701"


def test_the_holder_is_named(tmp_path: Path, start_holder: Start) -> None:
    process = start_holder()
    problem = refusal(tmp_path)
    assert problem is not None
    assert problem.code == "LS701"
    for part in (
        f"process {process.pid}",
        socket.gethostname(),
        "lakesmith run gold",
        "JVM 4242",
        "since 20",
    ):
        assert part in (problem.found or "")


def test_waiting_tells_once_whom_for_and_then_goes_on(tmp_path: Path, start_holder: Start) -> None:
    process = start_holder()
    told: list[Holder | None] = []

    def on_wait(holder: Holder | None) -> None:
        told.append(holder)
        giving_back.start()

    giving_back = threading.Timer(0.5, finish, [process])
    with ProjectLock(tmp_path, "run", wait_seconds=30, on_wait=on_wait) as lock:
        assert lock.abandoned is None
    giving_back.join()
    assert [holder.pid for holder in told if holder] == [process.pid]


def test_a_killed_holder_s_lock_is_taken_over_and_its_jvm_known(tmp_path: Path, start_holder: Start) -> None:
    process = start_holder()
    process.send_signal(signal.SIGKILL)
    process.wait()
    with ProjectLock(tmp_path, "run") as lock:
        assert lock.abandoned is not None
        assert (lock.abandoned.pid, lock.abandoned.jvm_pid) == (process.pid, 4242)
        assert f'"pid": {os.getpid()}' in (tmp_path / "locks" / "project.lock").read_text()


def test_a_holder_killed_while_another_waits(tmp_path: Path, start_holder: Start) -> None:
    process = start_holder()
    with ProjectLock(tmp_path, "run", wait_seconds=30, on_wait=lambda _: process.kill()) as lock:
        assert lock.abandoned is not None


def test_a_stopped_holder_keeps_it_and_is_said_to_be_stopped(tmp_path: Path, start_holder: Start) -> None:
    process = start_holder()
    process.send_signal(signal.SIGSTOP)
    start = time.monotonic()
    problem = refusal(tmp_path, wait_seconds=0.5)
    assert time.monotonic() - start >= 0.5
    assert problem is not None
    assert f"kill -CONT {process.pid}" in (problem.hint or "")
    process.send_signal(signal.SIGCONT)
    finish(process)
    assert process.wait() == 0
    with ProjectLock(tmp_path, "run") as lock:
        assert lock.abandoned is None


def test_only_one_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "counter").write_text("0")
    workers = [subprocess.Popen([sys.executable, "-c", COUNT, str(tmp_path)]) for _ in range(4)]
    assert [worker.wait() for worker in workers] == [0] * 4
    assert (tmp_path / "counter").read_text() == "80"


def test_a_program_that_was_started_does_not_keep_it(tmp_path: Path) -> None:
    with ProjectLock(tmp_path, "run"):
        sleeper = subprocess.Popen(["sleep", "30"], close_fds=False)
    try:
        assert sleeper.poll() is None
        assert refusal(tmp_path) is None
    finally:
        sleeper.kill()
        sleeper.wait()


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"host": "h"}', b"\xff\xfe"])
def test_a_file_that_names_nobody(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "locks" / "project.lock"
    file.parent.mkdir()
    file.write_bytes(content)
    with ProjectLock(tmp_path, "run") as lock:
        assert lock.abandoned is None
    with file.open("r+b") as other:
        other.write(content)
        other.flush()
        fcntl.flock(other, fcntl.LOCK_EX)
        problem = refusal(tmp_path)
        assert problem is not None
        assert "by an unknown process" in (problem.found or "")


def test_a_longer_name_leaves_nothing_behind_a_shorter_one(tmp_path: Path, start_holder: Start) -> None:
    process = start_holder()
    process.kill()
    process.wait()
    with ProjectLock(tmp_path, "r"):
        assert json.loads((tmp_path / "locks" / "project.lock").read_text())["command"] == "r"


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text("a file")
    with pytest.raises(EnvironmentProblem, match="LS323"), ProjectLock(tmp_path, "run"):
        pass


def test_a_read_only_folder_is_said(tmp_path: Path, as_nobody: AsNobody) -> None:
    (tmp_path / "locks").mkdir()
    answer = as_nobody(tmp_path / "locks", lambda: ProjectLock(tmp_path, "run").__enter__())
    assert str(answer).startswith("EnvironmentProblem: LS323")
    assert "Permission denied" in str(answer)


@pytest.mark.parametrize(("number", "code"), [(errno.EROFS, "LS323"), (errno.ENOSPC, "LS323")])
def test_a_disk_that_takes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    def full(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(EnvironmentProblem, match=code), ProjectLock(tmp_path, "run"):
        pass
    monkeypatch.undo()
    assert refusal(tmp_path) is None


def test_a_file_system_without_locks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(EnvironmentProblem, match="LS324"), ProjectLock(tmp_path, "run"):
        pass


def test_who_waits_may_give_up(tmp_path: Path, start_holder: Start) -> None:
    start_holder()
    asked: list[None] = []

    def given_up() -> bool:
        asked.append(None)
        return len(asked) > 2

    began = time.monotonic()
    with pytest.raises(LockedError), ProjectLock(tmp_path, "run", wait_seconds=600, given_up=given_up):
        pass
    assert time.monotonic() - began < 60


def test_a_piece_of_maintenance_is_waited_for(tmp_path: Path, start_holder: Start) -> None:
    process = start_holder("maintain")
    told: list[Holder | None] = []

    def on_wait(holder: Holder | None) -> None:
        told.append(holder)
        finish(process)

    with ProjectLock(tmp_path, "run", on_wait=on_wait):
        assert [holder.command for holder in told if holder] == ["maintain"]


def test_maintenance_that_was_stopped_is_not_waited_for(tmp_path: Path, start_holder: Start) -> None:
    process = start_holder("maintain")
    os.kill(process.pid, signal.SIGSTOP)
    found = refusal(tmp_path)
    os.kill(process.pid, signal.SIGCONT)
    assert found is not None
    assert found.code == "LS701"
