"""Fault points: where they act, how, and that they do so once."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from lakesmith.execute import faults

WALK = """
import time
from lakesmith.execute.faults import note_jvm, reach
note_jvm({jvm})
for table in ("a.one", "a.two"):
    reach("after-data", table)
    print(table, flush=True)
time.sleep({then})
"""


def walk(fault: str, jvm: int = 0, then: float = 0.0) -> tuple[int, list[str]]:
    """A process that passes the point for two tables: its code, and the tables it passed."""
    environment = {**os.environ, "LAKESMITH_FAULT": fault}
    code = WALK.format(jvm=jvm, then=then)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout.split()


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process in the place of the JVM."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        yield process
        process.kill()


@pytest.mark.parametrize(
    ("fault", "code", "passed"),
    [
        ("after-data", -signal.SIGKILL, []),
        ("after-data@a.two:kill", -signal.SIGKILL, ["a.one"]),
        ("after-data@a.three:kill", 0, ["a.one", "a.two"]),
        ("after-check:kill", 0, ["a.one", "a.two"]),
        ("after-data@a.two:raise", 1, ["a.one"]),
    ],
)
def test_a_process_fails_where_it_is_told_to(fault: str, code: int, passed: list[str]) -> None:
    assert walk(fault) == (code, passed)


def test_a_process_is_killed_later_while_it_goes_on() -> None:
    assert walk("after-data:kill/300", then=30) == (-signal.SIGKILL, ["a.one", "a.two"])


def test_the_jvm_is_killed_and_python_goes_on(bystander: subprocess.Popen[bytes]) -> None:
    assert walk("after-data:killjvm", jvm=bystander.pid) == (0, ["a.one", "a.two"])
    assert bystander.wait(timeout=10) == -signal.SIGKILL


def test_both_are_killed(bystander: subprocess.Popen[bytes]) -> None:
    assert walk("after-data:killboth", jvm=bystander.pid) == (-signal.SIGKILL, [])
    assert bystander.wait(timeout=10) == -signal.SIGKILL


def test_what_is_arranged_in_a_process_is_for_one_table_or_all() -> None:
    seen: list[str] = []
    try:
        faults.arrange("after-data", lambda: seen.append("any"))
        faults.arrange("after-data", lambda: seen.append("one"), "a.one")
        faults.reach("after-data", "a.one")
        faults.reach("after-data", "a.two")
        faults.reach("after-check", "a.one")
    finally:
        faults.clear()
    faults.reach("after-data", "a.one")
    assert seen == ["any", "one", "any"]
    with pytest.raises(ValueError, match="no fault point 'nowhere'"):
        faults.arrange("nowhere", lambda: None)
