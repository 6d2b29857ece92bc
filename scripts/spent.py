"""Counts what each test case spends: a plugin of pytest (``-p spent``).

Times differ between machines and hours; counts do not. The summary at the end of a run has both, by the
folder of the tests: cases, seconds, processor seconds with those of the JVM and of processes that have ended,
steps of tables, processes started, and calls from Python to the JVM.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import pytest

TICKS = os.sysconf("SC_CLK_TCK")
STARTS = {"subprocess.Popen", "os.fork", "os.posix_spawn", "os.exec"}


@dataclass
class Spent:
    cpu: float = 0.0
    steps: int = 0
    processes: int = 0
    calls: int = 0

    def since(self, before: Spent) -> Spent:
        return Spent(*(now - then for now, then in zip(astuple(self), astuple(before), strict=True)))

    def add(self, more: Spent) -> None:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(more, field.name))


_COUNTED = Spent()


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        _count()


def _count() -> None:
    from py4j.clientserver import ClientServerConnection

    from lakesmith.spark.engine import SparkEngine

    def audit(event: str, _arguments: Any) -> None:
        if event in STARTS:
            _COUNTED.processes += 1

    sys.addaudithook(audit)
    _wrap(ClientServerConnection, "send_command", "calls")
    _wrap(SparkEngine, "run_step", "steps")


def _wrap(owner: type, method: str, count: str) -> None:
    plain = getattr(owner, method)

    def counting(*args: Any, **named: Any) -> Any:
        setattr(_COUNTED, count, getattr(_COUNTED, count) + 1)
        return plain(*args, **named)

    setattr(owner, method, counting)


def now() -> Spent:
    return Spent(_cpu_seconds(), _COUNTED.steps, _COUNTED.processes, _COUNTED.calls)


def _cpu_seconds() -> float:
    """The processor time of this process, of what it started and has ended, and of the living below it."""
    ended = os.times()
    return (
        time.process_time() + ended.children_user + ended.children_system + sum(map(_of, _below(os.getpid())))
    )


def _below(pid: int) -> Iterator[int]:
    for started in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = started.read_text().split()
        except OSError:
            continue
        for child in map(int, children):
            yield child
            yield from _below(child)


def _of(pid: int) -> float:
    try:
        numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, numbers[11:15])) / TICKS


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    before = now()
    item.stash[_BEFORE] = before
    return (yield)


_BEFORE = pytest.StashKey[Spent]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[pytest.TestReport]:
    report: pytest.TestReport = yield
    if report.when == "teardown":
        report.user_properties.append(("spent", astuple(now().since(item.stash[_BEFORE]))))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each folder of the tests, the dearest first."""
    cases: dict[str, set[str]] = defaultdict(set)
    seconds: dict[str, float] = defaultdict(float)
    spent: dict[str, Spent] = defaultdict(Spent)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                place = folder(report.nodeid)
                cases[place].add(report.nodeid)
                seconds[place] += report.duration
                for values in (value for name, value in report.user_properties if name == "spent"):
                    spent[place].add(Spent(*values))
    terminalreporter.section("spent by each part")
    line = "{:24} {:>6} {:>8} {:>8} {:>7} {:>10} {:>10}".format
    terminalreporter.write_line(line("part", "cases", "seconds", "cpu s", "steps", "processes", "calls"))
    for place in sorted(cases, key=lambda each: -spent[each].cpu):
        found = spent[place]
        numbers = (f"{found.cpu:,.0f}", f"{found.steps:,}", f"{found.processes:,}", f"{found.calls:,}")
        terminalreporter.write_line(line(place, len(cases[place]), f"{seconds[place]:,.0f}", *numbers))


def folder(nodeid: str) -> str:
    """The folder that a test belongs to: ``spark/read``, or ``crash``."""
    parts = nodeid.split("::")[0].split("/")
    return "/".join(parts[1:-1][:2])
