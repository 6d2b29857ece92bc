"""Where the stack traces of a process go."""

import os
import resource
import socket
import sqlite3
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway

from lakesmith.execute import unforeseen
from server_process import free_port


class AClock:
    """Each look is a second later."""

    looks = 0

    @classmethod
    def now(cls, zone: object) -> datetime:
        cls.looks += 1
        return datetime(2026, 11, 23, tzinfo=UTC) + timedelta(seconds=cls.looks)


def test_errors_of_one_process_in_two_seconds_share_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were written to two, and the summary of a run named only one of them."""
    monkeypatch.setattr(unforeseen, "datetime", AClock)
    for said in ("the first", "the second"):
        unforeseen.unforeseen(ValueError(said), tmp_path, ())
    (log,) = tmp_path.glob("error-*.log")
    assert "the first" in log.read_text() and "the second" in log.read_text()


def _full() -> None:
    with Path("/dev/full").open("w") as file:
        file.write("x")


def _read_only() -> None:
    Path("/proc/sys/kernel/ostype").write_text("x")


def _no_files_left() -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, most[1]))
    try:
        while True:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    finally:
        for each in opened:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, most)


def _no_memory() -> None:
    bytearray(1 << 60)


def _damaged() -> None:
    with sqlite3.connect(Path(sys.executable)) as found:
        found.execute("SELECT * FROM sqlite_master")


def _nobody_listens() -> None:
    socket.create_connection(("127.0.0.1", free_port()), 5)


def _no_jvm() -> None:
    parameters = GatewayParameters(port=free_port(), auto_convert=True)
    JavaGateway(gateway_parameters=parameters).jvm.System.currentTimeMillis()


def _gone() -> None:
    Path("/nowhere/at all").read_text()


def _caused() -> None:
    try:
        _full()
    except OSError as error:
        raise ValueError("a library's words") from error


def _defect() -> None:
    with suppress(KeyError):
        {}["x"]
    try:
        _gone()
    except OSError:
        raise ZeroDivisionError("a defect while a file was missing")  # noqa: B904 - as defects are


@pytest.mark.parametrize(
    ("code", "fail"),
    [
        ("LS603", _full), ("LS603", _caused), ("LS605", _read_only), ("LS676", _no_files_left),
        ("LS676", _no_memory), ("LS677", _damaged), ("LS677", _nobody_listens), ("LS677", _gone),
        ("LS604", _no_jvm), ("LS900", _defect),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)  # fmt: skip
def test_what_the_machine_denies_is_no_defect(tmp_path: Path, code: str, fail: Callable[[], None]) -> None:
    with pytest.raises(Exception) as failed:
        fail()
    problem = unforeseen.unforeseen(failed.value, tmp_path, ())
    assert problem.code == code, problem
    assert problem.hint and problem.found and "stack trace" in problem.found
    assert ("nobody foresaw" in problem.what) == (code == "LS900")
