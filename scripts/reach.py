"""Records which lines of lakesmith each test case reaches, also in the processes that it starts.

    LAKESMITH_REACH=build/reach python -m pytest -p spent -p reach --numprocesses 2 --dist loadfile
    python scripts/reach.py src/lakesmith/plan/planner.py:120  # the cases that reach a line

A recording is a folder: coverage.py's files (a context a case) and, of each process that ran tests, the cases
with their seconds and with the fixtures that they share: what a lake of a whole file reaches is reached by
each of the file's cases. Lines that are read on import alone belong to no case. A process that is killed
records nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import coverage
import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "LAKESMITH_REACH"
SHARED = "shared by "

_CHILDREN = """\
[run]
data_file = {folder}/coverage
parallel = true
source = {source}
context = ${{PYTEST_CURRENT_TEST}}
sigterm = true
patch = _exit
disable_warnings = no-data-collected,module-not-imported,module-not-measured
"""


class Recorder:
    """The plugin's state in one process that runs tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cases: dict[str, dict[str, Any]] = {}
        self.coverage = coverage.Coverage(
            str(folder / "coverage"),
            data_suffix=True,
            config_file=False,
            source=[str(ROOT / "src" / "lakesmith")],
        )
        self.context = ""
        self.coverage.start()

    def switch(self, context: str) -> str:
        before, self.context = self.context, context
        self.coverage.switch_context(context)
        return before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.cases[item.nodeid] = {"seconds": 0.0, "shared": []}
        self.switch(item.nodeid)
        try:
            return (yield)
        finally:
            self.switch("")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        before = self.switch(f"{SHARED}{fixturedef.baseid}::{fixturedef.argname}")
        try:
            return (yield)
        finally:
            self.switch(before)

    def pytest_runtest_teardown(self, item: Any) -> None:
        definitions = [
            each for name in item.fixturenames for each in item._fixtureinfo.name2fixturedefs.get(name, ())
        ]
        self.cases[item.nodeid]["shared"] = sorted(
            {f"{each.baseid}::{each.argname}" for each in definitions if each.scope != "function"}
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.nodeid in self.cases:
            self.cases[report.nodeid]["seconds"] += report.duration
            self.cases[report.nodeid] |= dict(report.user_properties)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        (self.folder / f"cases.{os.getpid()}.json").write_text(json.dumps(self.cases))


def pytest_configure(config: pytest.Config) -> None:
    folder = Path(os.environ.get(FOLDER, ROOT / "build" / "reach")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if not hasattr(config, "workerinput"):
        (folder / "commit").write_text(_state())
    children = folder / "children.cfg"
    children.write_text(_CHILDREN.format(folder=folder, source=ROOT / "src" / "lakesmith"))
    os.environ["COVERAGE_PROCESS_START"] = str(children)
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Recorder(folder), "reach-recorder")


def _state() -> str:
    """The commit of what is here now, with changes that are not committed."""
    for command in (["git", "stash", "create"], ["git", "rev-parse", "HEAD"]):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        if done.stdout.strip():
            break
    return done.stdout.strip()


@dataclass(frozen=True)
class Case:
    name: str
    seconds: float


@dataclass(frozen=True)
class Reach:
    """A recording. Lines are those of its commit."""

    folder: Path

    @property
    def commit(self) -> str:
        return (self.folder / "commit").read_text()

    @cached_property
    def cases(self) -> dict[str, Case]:
        return {name: Case(name, found["seconds"]) for name, found in self._recorded.items()}

    @cached_property
    def _recorded(self) -> dict[str, Any]:
        return {
            name: found
            for path in sorted(self.folder.glob("cases.*.json"))
            for name, found in json.loads(path.read_text()).items()
        }

    @cached_property
    def _using(self) -> dict[str, set[str]]:
        found = defaultdict[str, set[str]](set)
        for name, case in self._recorded.items():
            for shared in case["shared"]:
                found[shared].add(name)
        return found

    @cached_property
    def _data(self) -> coverage.CoverageData:
        combined = coverage.CoverageData(str(self.folder / "all.coverage"))
        if not (self.folder / "all.coverage").exists():
            for path in sorted(self.folder.glob("coverage.*")):
                read = coverage.CoverageData(str(path))
                read.read()
                combined.update(read)
            combined.write()
        combined.read()
        return combined

    def contexts(self, file: str) -> dict[int, list[str]]:
        """The contexts of each line of a file of the source."""
        return self._data.contexts_by_lineno(str(ROOT / file))

    def reaching(self, contexts: list[str]) -> list[Case]:
        """The cases of contexts, the cheapest first."""
        names = set[str]()
        for context in contexts:
            if context.startswith(SHARED):
                names |= self._using[context.removeprefix(SHARED)]
            else:
                # What a child process was told has the phase of the case behind it.
                names.add(
                    context.removesuffix(" (call)").removesuffix(" (setup)").removesuffix(" (teardown)")
                )
        return sorted((self.cases[name] for name in names & self.cases.keys()), key=lambda case: case.seconds)


def main(places: list[str]) -> int:
    reach = Reach(Path(os.environ.get(FOLDER, ROOT / "build" / "reach")))
    for place in places:
        file, _, line = place.rpartition(":")
        for case in reach.reaching(reach.contexts(file).get(int(line), [])):
            print(f"{case.seconds:8.2f} s  {case.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
