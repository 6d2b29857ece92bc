"""The front of the benchmarks: one table of lakesmith against dbt-spark, in one run on one machine.

    make bench                                 5,100,000 rows and 20,000 rows, three rounds
    python benchmarks/bench.py --small         100,000 rows and 5,000 rows, one round
    python benchmarks/bench.py --soak 100      the memory of a warm JVM over 100 small runs, alone

Bronze with its bad rows, silver by key and two golds, from CSV files of which one row of 200 is bad; then
changes, cold (whole processes) and warm (a process that stays, against dbt's whole process, as dbt keeps
none); then nothing new. dbt is installed from PyPI into an environment of its own, beside the same PySpark
and jars, and is given the new files alone. Its silver is made in two ways, both right after every batch:
rebuilt from bronze, which is what is compared with the goal, and incremental, which takes care by hand of
deletes and of changes that come late. All tables are compared with DuckDB's.

At last a tiny batch (``tiny.py``) and lines of logs (``log_lines.py``), by processor time.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import common
from cdc import ORACLE, ORACLE_OF, _difference, write_project
from cdc_data import COLUMNS, Changes, write_first
from ingest import BAD_SHARE, spoil
from log_lines import log_lines
from pyarrow import compute
from stays import warm_process
from tiny import tiny_batches
from tree import Cost, cost_of

ENVIRONMENT = Path(__file__).resolve().parents[1] / "build" / "dbt"
PACKAGES = ("dbt-core==1.10.23", "dbt-spark==1.10.3")
SOAK_ROWS, SOAK_CHANGES = 20_000, 200
WAYS = ("rebuilt", "incremental")
"""How dbt makes silver."""


@dataclass
class Line:
    """One line of the table: costs by who had them."""

    what: str
    wanted: float
    ours: list[Cost] = field(default_factory=list)
    dbt: dict[str, list[Cost]] = field(default_factory=lambda: {way: [] for way in WAYS})

    def numbers(self) -> dict[str, Any]:
        """Medians of all, and the ratios of seconds and of processor time."""
        found: dict[str, Any] = {"what": self.what, "wanted": self.wanted, "rounds": len(self.ours)}
        for name in ("seconds", "cpu", "megabytes"):
            for who, costs in {"ours": self.ours, **self.dbt}.items():
                found[f"{who}_{name}"] = round(median(getattr(each, name) for each in costs), 2)
        for name in ("seconds", "cpu"):
            for way in WAYS:
                found[f"{way}_ratio_{name}"] = round(found[f"ours_{name}"] / found[f"{way}_{name}"], 3)
        return found


class Shop:
    """All contestants on one workload."""

    def __init__(self, work: Path, rows: int, options: argparse.Namespace) -> None:
        self.ours, self.files = work / "lakesmith", work / "files"
        self.dbt = {way: work / f"dbt-{way}" for way in WAYS}
        write_project(self.ours)
        self.rows, self.changes = rows, Changes(rows, seed=7)
        for file in write_first(self.files / "first", rows):
            spoil(file, round(1 / BAD_SHARE))
        self.jars = options.jars
        self.deliver(sorted((self.files / "first").iterdir()))

    def command(self, way: str) -> list[str]:
        """One run of dbt."""
        python, folder = dbt_python(), self.dbt[way]
        schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        words = ["--landing", folder / "landing", "--warehouse", folder / "warehouse", "--silver", way]
        submit = common.spark_submit(self.jars, "dbt_orders.py", *words, "--schema", schema)
        return ["env", f"PYSPARK_PYTHON={python}", f"PYSPARK_DRIVER_PYTHON={python}", *submit]

    def deliver(self, files: list[Path]) -> None:
        """Gives all the files; dbt has the newest alone."""
        landings = [folder / "landing" for folder in self.dbt.values()]
        for landing in landings:
            shutil.rmtree(landing, ignore_errors=True)
            landing.mkdir(parents=True)
        for file in files:
            common.deliver(file, self.ours / "landing", *landings)

    def next_changes(self, size: int) -> None:
        """Delivers the next batch."""
        self.deliver(self.changes.write_batch(self.files / "changes", size))

    def afresh(self) -> None:
        """Takes all back to nothing."""
        for folder in (self.ours / ".lakesmith", *(each / "warehouse" for each in self.dbt.values())):
            shutil.rmtree(folder, ignore_errors=True)

    def all(self, line: Line, rounds: int, before: Callable[[], None]) -> Line:
        """Runs all as whole processes, in turns."""
        for number in range(rounds):
            before()
            sides = [(line.ours, common.lakesmith("run"), self.ours)]
            sides += [(line.dbt[way], self.command(way), folder) for way, folder in self.dbt.items()]
            first = number % len(sides)
            for costs, command, folder in (*sides[first:], *sides[:first]):
                costs.append(cost_of(command, folder))
        return line

    def warm(self, line: Line, rounds: int, size: int) -> tuple[Line, list[dict[str, Any]]]:
        """Runs batches in a process that stays; the first is not counted."""
        counts = []
        with warm_process(self.ours) as run:
            for number in range(rounds + 1):
                self.next_changes(size)
                before = files_of(self.ours)
                cost, done = run()
                new = [path for path in files_of(self.ours) - before if ".lakesmith/logs" not in path[0]]
                done["commits"] = sum(path.endswith(".metadata.json") for path, _ in new)
                done["written"] = sum(bytes_ for _, bytes_ in new)
                if number:
                    line.ours.append(cost)
                    counts.append(done)
        return line, counts

    def check(self, ways: Sequence[str] = ()) -> list[str]:
        """How our tables, and those of dbt, differ from what DuckDB makes of the same files."""
        import duckdb

        database = duckdb.connect()
        database.execute("SET TimeZone = 'UTC'")
        oracle = ORACLE.replace("header = true", "header = true, ignore_errors = true")
        database.execute(oracle.format(landing=self.ours / "landing")).fetchall()
        said = []
        for table, of in ORACLE_OF.items():
            said.append(
                f"{table}: {_difference(database, of, common.jdbc_table(self.ours, *table.split('.')))}"
            )
            for way in ways:
                found = common.newest_table(self.dbt[way] / "warehouse" / "shop.db" / table.replace(".", "_"))
                if of == "silver":
                    found = found.filter(compute.field("op") != "D")
                said.append(f"  dbt, {way}: {_difference(database, of, found)}")
        return said


def dbt_python() -> Path:
    """The Python of dbt's environment, made at the first call."""
    python = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / "bin" / "dbt").exists():
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        (there,) = (ENVIRONMENT / "lib").glob("python*/site-packages")
        (there / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def files_of(project: Path) -> set[tuple[str, int]]:
    """The files of a lake, with their sizes."""
    return {
        (str(path), path.stat().st_size) for path in (project / ".lakesmith").rglob("*") if path.is_file()
    }


def measure(work: Path, options: argparse.Namespace) -> tuple[list[Line], dict[str, Any], list[str]]:
    """The whole table, what a warm batch of each size does, and the comparison with DuckDB."""
    many, few = (100_000, 5_000) if options.small else (5_100_000, 20_000)
    rounds = options.rounds or (1 if options.small else 3)
    lines, counts, checks = [], {}, []
    for rows, size, cold, warm in ((many, 10_000, 0.45, 0.2), (few, 2_000, 0.5, 0.2)):
        shop = Shop(work / str(rows), rows, options)
        if rows == many:
            lines.append(shop.all(Line(f"{rows:,} rows from nothing", 0.8), rounds, shop.afresh))
        else:
            shop.all(Line("", 0), 1, shop.afresh)

        def batch(shop: Shop = shop, size: int = size) -> None:
            shop.next_changes(size)

        changed = shop.all(Line(f"{size:,} changes of {rows:,}, cold", cold), rounds, batch)
        lines.append(changed)
        if rows == few:
            lines.append(shop.all(Line("nothing new", 0.03), rounds, lambda shop=shop: shop.deliver([])))
        stays = Line(f"{size:,} changes of {rows:,}, warm", warm, dbt=changed.dbt)
        checks += shop.check(WAYS)
        line, counts[stays.what] = shop.warm(stays, rounds, size)
        lines.append(line)
        checks += shop.check()
    return lines, counts, checks


def soak(work: Path, options: argparse.Namespace) -> None:
    """Prints the JVM's memory and the time of small runs in a process that stays."""
    shop = Shop(work / "soak", SOAK_ROWS, options)
    with warm_process(shop.ours) as run:
        for number in range(options.soak + 1):
            cost, done = run()
            if number % 10 == 0 or number == options.soak:
                said = f"run {number:>4}: {done['megabytes']:>6,.0f} MB of the JVM"
                print(f"{said}, {cost.cpu:.1f} s of processors, {cost.seconds:.1f} s", flush=True)
            shop.next_changes(SOAK_CHANGES)


def show(
    lines: list[Line], counts: dict[str, Any], checks: list[str], comparisons: list[common.Comparison]
) -> None:
    """Prints the table, and below it what is compared by processor time alone."""
    print(f"\n{', '.join(f'{key} {value}' for key, value in common.machine().items())}")
    print("lakesmith / dbt-spark whose silver is rebuilt / dbt-spark whose silver is incremental\n")
    heads = f"{'wanted':>8}{'ratios':>14}{'seconds':>22}{'cpu ratios':>14}{'cpu s':>22}{'peak MB':>24}"
    print(f"{'':<34}{heads}")
    for each in (line.numbers() for line in lines):
        ratios, cpu_ratios = (
            " ".join(f"{each[f'{way}_ratio_{name}']:.2f}" for way in WAYS) for name in ("seconds", "cpu")
        )
        seconds, cpu = (
            " / ".join(f"{each[f'{who}_{name}']:.1f}" for who in ("ours", *WAYS))
            for name in ("seconds", "cpu")
        )
        memory = " / ".join(f"{each[f'{who}_megabytes']:,.0f}" for who in ("ours", *WAYS))
        values = f"{each['wanted']:>8.2f}{ratios:>14}{seconds:>22}{cpu_ratios:>14}{cpu:>22}{memory:>24}"
        print(f"{each['what']:<34}{values}")
    print("\nprocessor time alone: lakesmith / by hand in a session that stays, and DuckDB\n")
    for it in comparisons:
        both = f"{median(it.ours):.2f} s / {median(it.theirs):.2f} s"
        print(f"{it.what:<34}{it.goal:>8.2f}{it.ratio:>8.2f}{both:>28}")
    for what, batches in counts.items():
        middle = {name: median(batch[name] for batch in batches) for name in batches[0]}
        print(
            f"\n{what}: {middle['py4j']:,.0f} Py4J calls, {middle['jobs']:.0f} jobs, {middle['commits']:.0f}"
            f" commits, {middle['read'] / 1e6:.1f} MB read, {middle['written'] / 1e6:.2f} MB written"
        )
    print("".join(f"\n{check}" for check in checks))


def main() -> None:
    """The command line."""
    parser = common.arguments("lakesmith against dbt-spark: one table.")
    parser.add_argument("--soak", type=int, default=0, help="so many small runs of a warm JVM, and no table")
    options = parser.parse_args()
    with common.workspace(options) as work:
        if options.soak:
            return soak(work, options)
        lines, counts, checks = measure(work, options)
        others = [of(work / name, options) for name, of in (("tiny", tiny_batches), ("logs", log_lines))]
        checks += [check for other in others for check in other.checks]
        comparisons = [each for other in others for each in other.comparisons]
        if options.json:
            data = {"lines": [line.numbers() for line in lines], "counts": counts, "checks": checks}
            data["processor_time"] = [each.as_dict() for each in comparisons]
            print(json.dumps({**data, "facts": common.machine()}, indent=2))
            return None
        return show(lines, counts, checks, comparisons)


if __name__ == "__main__":
    main()
