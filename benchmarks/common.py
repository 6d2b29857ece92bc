"""What the benchmarks share: whole processes timed, medians and ratios shown, tables of both contestants
compared.

A benchmark runs lakesmith and its peer on the same machine in the same minutes, taking turns, and says how
many times the peer's time lakesmith took. It never compares seconds: those belong to the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

PEERS = Path(__file__).resolve().parent / "peers"
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
CATALOG = "lake"
PROCESS_SECONDS = 3600


class BenchmarkError(Exception):
    """A contestant failed: the message has the end of what it printed."""


@dataclass(frozen=True)
class Comparison:
    """One thing measured. ``ours`` and ``theirs`` are seconds, one number a round; ``goal`` is the ratio
    aimed at.
    """

    what: str
    ours: tuple[float, ...]
    theirs: tuple[float, ...]
    goal: float | None = None

    @property
    def ratio(self) -> float:
        """The median of ours in medians of theirs: below 1 lakesmith is faster."""
        return median(self.ours) / median(self.theirs)

    def as_dict(self) -> dict[str, Any]:
        """As JSON data, seconds rounded to milliseconds."""
        seconds = {name: [round(value, 3) for value in getattr(self, name)] for name in ("ours", "theirs")}
        return {"what": self.what, **seconds, "ratio": round(self.ratio, 3), "goal": self.goal}


@dataclass(frozen=True)
class Outcome:
    """All that a benchmark found out. ``checks`` are sentences; ``facts`` say on what it was measured."""

    name: str
    comparisons: tuple[Comparison, ...]
    facts: dict[str, Any]
    checks: tuple[str, ...] = ()
    theirs: str = "by hand"


def arguments(description: str) -> argparse.ArgumentParser:
    """The options that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--small", action="store_true", help="a quick check: small data, few rounds")
    parser.add_argument("--rounds", type=int, help="how often each thing is measured")
    parser.add_argument("--json", action="store_true", help="the result as JSON")
    parser.add_argument("--work", type=Path, help="work in this new folder and keep it")
    parser.add_argument(
        "--jars", type=Path, help="a folder of jars for the peer (default: those lakesmith uses)"
    )
    return parser


@contextmanager
def workspace(options: argparse.Namespace) -> Iterator[Path]:
    """The folder to work in: ``--work``, which is kept, or a temporary one."""
    if options.work:
        options.work.mkdir(parents=True)
        yield options.work.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="lakesmith-benchmark-") as folder:
        yield Path(folder).resolve()


def timed(command: Sequence[str | Path], folder: Path) -> float:
    """Seconds that the whole process took. What it prints goes to ``output.log`` in its folder.

    Raises BenchmarkError when it fails, with the end of its output.
    """
    with (folder / "output.log").open("ab+") as log:
        begin = time.perf_counter()
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment(),
            timeout=PROCESS_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        seconds = time.perf_counter() - begin
    if done.returncode:
        tail = (folder / "output.log").read_text(errors="replace")[-3000:]
        raise BenchmarkError(f"exit {done.returncode} of {' '.join(map(str, command))}\n{tail}")
    return seconds


@cache
def environment() -> dict[str, str]:
    """The environment of both contestants: this Python's programs first, the same Java for both, modules
    compiled once.
    """
    from lakesmith.spark.start.find_java import find_java

    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**usual, "PATH": path, "JAVA_HOME": str(find_java().home), "PYSPARK_PYTHON": sys.executable}


def lakesmith(*words: str) -> list[str]:
    """The command ``lakesmith WORDS``, for a process in the project's folder."""
    return [str(Path(sys.executable).with_name("lakesmith")), *words]


def spark_submit(jars: Path | None, script: str, *words: str | Path) -> list[str]:
    """``spark-submit peers/SCRIPT WORDS``: with the jars and the memory that lakesmith takes, else as Spark
    comes.
    """
    from lakesmith.spark.start.settings import default_memory_mb

    class_path = ",".join(map(str, peer_jars(jars)))
    return [
        str(Path(sys.executable).with_name("spark-submit")),
        *("--master", "local[*]", "--driver-memory", f"{default_memory_mb()}m", "--jars", class_path),
        *("--conf", "spark.ui.enabled=false", "--conf", "spark.sql.session.timeZone=UTC"),
        str(PEERS / script),
        *map(str, words),
    ]


@cache
def peer_jars(folder: Path | None) -> tuple[Path, ...]:
    """The jars of ``folder``; without one those that lakesmith itself uses, fetched when they are not here
    yet.
    """
    if folder is not None:
        return tuple(sorted(folder.resolve().glob("*.jar")))
    from lakesmith.spark.start.find_java import find_java
    from lakesmith.spark.start.jars import ensure_jars
    from lakesmith.spark.start.versions import local_jars

    return ensure_jars(find_java(), local_jars())


def copy_example(name: str, to: Path) -> Path:
    """A copy of an example to work on, without what runs of it may have left there."""
    left_out = shutil.ignore_patterns(".lakesmith", "__pycache__")
    return Path(shutil.copytree(EXAMPLES / name, to, ignore=left_out))


def deliver(file: Path, *folders: Path) -> None:
    """Copies the file into each folder, with its times, whole or not at all."""
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        hidden = folder / f".{file.name}"
        shutil.copy2(file, hidden)
        hidden.rename(folder / file.name)


def jdbc_table(project: Path, namespace: str, name: str) -> Any:
    """A table of a project's embedded catalog as Arrow data, read by PyIceberg from its newest metadata."""
    import sqlite3

    query = "SELECT metadata_location FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?"
    with sqlite3.connect(project / ".lakesmith" / "catalog.db") as database:
        (location,) = database.execute(query, (namespace, name)).fetchone()
    return _arrow(location)


def hadoop_table(warehouse: Path, namespace: str, name: str) -> Any:
    """A table of a hadoop catalog as Arrow data, read by PyIceberg from its newest metadata."""
    metadata = warehouse / namespace / name / "metadata"
    version = (metadata / "version-hint.text").read_text().strip()
    return _arrow((metadata / f"v{version}.metadata.json").as_uri())


def newest_table(folder: Path) -> Any:
    """A table of a metastore as Arrow data, from the newest metadata in its folder."""
    files = (folder / "metadata").glob("*.metadata.json")
    # Not by name: a table that was made again begins to count from zero.
    return _arrow(max(files, key=lambda file: file.stat().st_mtime_ns).as_uri())


def _arrow(metadata: str) -> Any:
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(metadata).scan().to_arrow()


def sorted_rows(table: Any, columns: list[str]) -> list[tuple[Any, ...]]:
    """The rows of a small Arrow table as tuples, sorted."""
    return sorted(tuple(row[name] for name in columns) for row in table.select(columns).to_pylist())


def machine() -> dict[str, Any]:
    """On what it was measured."""
    from importlib.metadata import version

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**30
    versions = {name: version(name) for name in ("lakesmith", "pyspark", "pyiceberg")}
    return {"cores": os.cpu_count(), "memory_gib": memory, "python": platform.python_version(), **versions}


def show(outcome: Outcome, as_json: bool) -> None:
    """Prints the outcome: a short table, or JSON."""
    if as_json:
        parts = {"comparisons": [each.as_dict() for each in outcome.comparisons], "checks": outcome.checks}
        print(json.dumps({"name": outcome.name, **parts, "facts": {**machine(), **outcome.facts}}, indent=2))
        return
    facts = ", ".join(f"{key} {value}" for key, value in {**machine(), **outcome.facts}.items())
    print(f"\n{outcome.name}  ({facts})\n")
    print(f"  {'':<34} {'lakesmith':>12} {outcome.theirs:>12} {'ratio':>7} {'goal':>7}  rounds")
    for each in outcome.comparisons:
        goal = "" if each.goal is None else f"{each.goal:.2f}"
        seconds = f"{median(each.ours):>10.2f} s {median(each.theirs):>10.2f} s"
        print(f"  {each.what:<34} {seconds} {each.ratio:>7.2f} {goal:>7}  {len(each.ours)}")
    print("".join(f"\n  {check}" for check in outcome.checks))


def take_turns(
    sides: Sequence[Callable[[], float]], rounds: int, before: Callable[[], None] | None = None
) -> list[tuple[float, ...]]:
    """Calls each side ``rounds`` times and gives the seconds of each; who begins changes with every round.

    ``before`` is called before each round, outside of what is timed.
    """
    seconds: list[list[float]] = [[] for _ in sides]
    for number in range(rounds):
        if before is not None:
            before()
        order = range(len(sides)) if number % 2 == 0 else reversed(range(len(sides)))
        for side in order:
            seconds[side].append(sides[side]())
    return [tuple(each) for each in seconds]
