"""Is a table with thousands of batches behind it as quick as a new one?

    python benchmarks/many_batches.py --batches 10000 python benchmarks/many_batches.py --batches 10000
    --folder build/many      # can be stopped, and goes on where it was python benchmarks/many_batches.py
    --folder build/many --compare 100        # beside a new project, in turns python
    benchmarks/many_batches.py --batches 10000 --tables 1               # bronze alone, in a third of the time

A session that stays takes small batches of events into three tables, as ``lakesmith up`` does: segments that
are removed once they are taken, silver row by row, gold sums by minute and category, and a slice of
maintenance after every hundred batches of a table. Printed for each hundred batches: their median, that of
each table, what maintenance took, and what grows: metadata, disk, lines of the ledger, memory of Python and
of the JVM. At the end gold is compared with sums made beside it. What counts is the ratio of the last batches
to the first, after some that are not counted. On a machine that does other work as well, ``--compare`` tells
more: batches of the old project and of a new one, in turns, each in a session of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import Any

# As the command line has it.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

import lakesmith
from lakesmith import limits
from lakesmith.api.lakehouse import Lakehouse
from lakesmith.execute.events import Event, TablePublished
from lakesmith.execute.lake import Lake
from lakesmith.graph.graph import load
from lakesmith.project.definitions import TableName
from lakesmith.serve.intake.frames import Frame
from lakesmith.serve.intake.segments import Segments, remove_taken
from lakesmith.serve.schedule import Rounds
from lakesmith.whole_file import write_whole

FILES = {
    "lakesmith.yaml": "name: many\n",
    "tables/bronze/sales_raw.yaml": "source: {http: {path: /sales}}\n"
    "columns: {price: 'decimal(10,2)', sale_time: timestamp, product_id: bigint}\n",
    "tables/silver/sales.sql": "SELECT product_id, product_id % 5 AS category, price, sale_time FROM "
    "bronze.sales_raw",
    "tables/gold/by_minute.sql": "SELECT category, window(sale_time, '1 minute').start AS minute, "
    "sum(price) AS total,"
    " count(*) AS sales, min(sale_time) AS first_sale FROM silver.sales GROUP BY category, "
    "window(sale_time, '1 minute')",
}
TABLES = ("bronze.sales_raw", "silver.sales", "gold.by_minute")
BEGIN = datetime(2026, 6, 1, tzinfo=UTC)
SECONDS_A_BATCH = 2
KEPT = ".lakesmith/many_batches"
NOT_COUNTED = 50
"""Batches in which Java still compiles."""


@dataclass
class Run:
    """The project with so many of the tables, and what it should have by now. ``taken``: seconds of each
    batch and of each of its tables.
    """

    root: Path
    rows: int
    tables: int = len(TABLES)
    segments: Segments = field(init=False)
    sums: dict[tuple[int, datetime], tuple[Decimal, int]] = field(default_factory=dict)
    taken: list[dict[str, float]] = field(default_factory=list)
    rounds: Rounds = field(default_factory=Rounds)
    kept_up: list[float] = field(default_factory=list)
    dice: random.Random = field(default_factory=lambda: random.Random(17))

    @classmethod
    def at(cls, root: Path, rows: int, tables: int) -> Run:
        """What was kept there, to go on with it, or a new one."""
        kept = root / KEPT
        return pickle.loads(kept.read_bytes()) if kept.is_file() else cls(root, rows, tables)

    def keep(self) -> None:
        write_whole(self.root / KEPT, pickle.dumps(self))

    def __post_init__(self) -> None:
        for name, text in list(FILES.items())[: 1 + self.tables]:
            write_whole(self.root / name, text)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "segments"}

    @contextmanager
    def session(self) -> Iterator[Lakehouse]:
        """The project opened, and the folder that takes its events."""
        self.segments = Segments(self.root / ".lakesmith/intake/bronze.sales_raw/http")
        self.segments.open()
        try:
            with lakesmith.open(self.root) as lake:
                yield lake
        finally:
            self.segments.close()

    def batch(self, lake: Lakehouse) -> None:
        """One batch of events, one in fifty of them late by up to an hour."""
        self._send(BEGIN + timedelta(seconds=SECONDS_A_BATCH * len(self.taken)))
        seconds: dict[str, float] = {}

        def tell(event: Event) -> None:
            if isinstance(event, TablePublished):
                seconds[str(event.table)] = event.seconds

        begin = time.perf_counter()
        result = lake.run(on_event=tell)
        remove_taken(self.segments.folder, [path.name for path in self.segments.waiting()])
        self.taken.append({"all": time.perf_counter() - begin, **seconds})
        self.rounds.count(result.published)
        if (name := self.rounds.due()) is not None:
            begin = time.perf_counter()
            lake.maintain_slice(name)
            self.kept_up.append(time.perf_counter() - begin)

    def _send(self, now: datetime) -> None:
        lines = []
        for _ in range(self.rows):
            late = timedelta(seconds=self.dice.randrange(3600)) if self.dice.random() < 0.02 else timedelta()
            at = now + timedelta(milliseconds=self.dice.randrange(1000 * SECONDS_A_BATCH)) - late
            price, product = Decimal(self.dice.randrange(1, 5000)).scaleb(-2), self.dice.randrange(50)
            key = (product % 5, at.replace(second=0, microsecond=0))
            total, sales = self.sums.get(key, (Decimal(0), 0))
            self.sums[key] = (total + price, sales + 1)
            lines.append(f'{{"price": {price}, "sale_time": "{at.isoformat()}", "product_id": {product}}}\n')
        self.segments.append([Frame("".join(lines).encode())])
        self.segments.seal()
        # What is sent is taken sooner or later, whatever is killed: here as well as there, each event counts
        # from now on.
        self.keep()

    def facts(self, lake: Lakehouse) -> dict[str, float]:
        """What may grow."""
        there = Lake.open(load(self.root)[0])
        states = [there.catalog.table(*name.split(".")) for name in self.names]
        bronze = TableName.parse(TABLES[0])
        files = [path.stat().st_size for path in (self.root / ".lakesmith").rglob("*") if path.is_file()]
        handle: Any = lake.access._handle
        return {
            "metadata_kb": sum(
                Path(it.metadata_location.removeprefix("file:")).stat().st_size for it in states if it
            )
            / 1e3,
            "snapshots": sum(len(it.snapshots) for it in states if it),
            "disk_mb": sum(files) / 1e6,
            "files": len(files),
            "lines": len(there.ledger(bronze, there.facts(bronze))),
            "python_mb": memory_mb("self"),
            "jvm_mb": memory_mb(handle.jvm_pid),
        }

    def part(self, every: int, lake: Lakehouse) -> dict[str, float]:
        """Of the last ``every`` batches the medians, and what has grown by now."""
        last = self.taken[-every:]
        found = {"batches": len(self.taken), "median": median(each["all"] for each in last)}
        found |= {
            name.partition(".")[0]: median(each[name] for each in last if name in each) for name in self.names
        }
        kept, self.kept_up = self.kept_up, []
        return {**found, "maintenance": sum(kept), **self.facts(lake)}

    @property
    def names(self) -> tuple[str, ...]:
        return TABLES[: self.tables]

    def check(self, lake: Lakehouse) -> str:
        """Raises SystemExit where the last table is not what was made beside it."""
        sent = self.rows * len(self.taken)
        if self.tables < len(TABLES):
            rows = (
                lake.query(f"SELECT count(*) AS sales, sum(price) AS total FROM {self.names[-1]}")
                .arrow()
                .to_pylist()
            )
            if (rows[0]["sales"], rows[0]["total"]) != (sent, sum(total for total, _ in self.sums.values())):
                raise SystemExit(f"{self.names[-1]} has {rows[0]}, not the {sent:,} rows that were sent")
            return f"{self.names[-1]} is right: {sent:,} rows, and their sum"
        rows = lake.table("gold.by_minute").arrow().to_pylist()
        found = {
            (row["category"], row["minute"].astimezone(UTC)): (row["total"], row["sales"]) for row in rows
        }
        if found != self.sums:
            raise SystemExit(
                f"gold is wrong in {sum(found.get(key) != value for key, value in self.sums.items())} groups"
            )
        return f"gold is right: {len(found):,} groups of {sent:,} rows"


def memory_mb(process: int | str) -> float:
    """What a process holds in memory (Linux alone tells)."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    return next(int(line.split()[1]) / 1e3 for line in text.splitlines() if line.startswith("VmRSS"))


def parts(run: Run, options: argparse.Namespace) -> Iterator[dict[str, float]]:
    """Runs the batches that are left, as many as there is time for; SIGTERM ends it after a batch."""
    until = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    with run.session() as lake:
        while len(run.taken) < options.batches and not asked and time.monotonic() < until:
            run.batch(lake)
            if len(run.taken) % options.every == 0:
                yield run.part(options.every, lake)
                run.keep()
        run.keep()
        print(run.check(lake))


def batches_of_a_session(run: Run, count: int) -> list[float]:
    """Seconds of so many batches, after some that are not counted."""
    with run.session() as lake:
        for _ in range(NOT_COUNTED + count):
            run.batch(lake)
        run.check(lake)
    run.keep()
    return [each["all"] for each in run.taken[-count:]]


def compare(old: Run, new: Run, count: int) -> None:
    """Prints how long batches of two projects take, in turns, so that both meet the same machine."""
    behind, found = len(old.taken), {"old": [], "new": []}  # type: dict[str, list[float]]
    for name in ("old", "new", "new", "old"):
        found[name] += batches_of_a_session(old if name == "old" else new, count)
        print(f"{name}: {median(found[name][-count:]):.2f} s", flush=True)
    ratio = median(found["old"]) / median(found["new"])
    print(
        f"{2 * count} batches with {behind:,} behind them, beside as many of a new project: ratio {ratio:.2f}"
    )


def show(part: dict[str, float]) -> None:
    layers = ", ".join(f"{name} {part[name]:.2f}" for name in ("bronze", "silver", "gold") if name in part)
    print(
        f"{part['batches']:>6}  {part['median']:.2f} s ({layers}),"
        f" maintenance {part['maintenance']:.1f} s, metadata {part['metadata_kb']:,.0f} KB of "
        f"{part['snapshots']:,.0f} snapshots,"
        f" disk {part['disk_mb']:,.0f} MB in {part['files']:,.0f} files, ledger {part['lines']:,.0f} lines,"
        f" Python {part['python_mb']:,.0f} MB, JVM {part['jvm_mb']:,.0f} MB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=100, help="events a batch")
    parser.add_argument(
        "--tables",
        type=int,
        default=len(TABLES),
        choices=range(1, len(TABLES) + 1),
        help="the first so many of them",
    )
    parser.add_argument("--every", type=int, default=100, help="batches that are reported together")
    parser.add_argument(
        "--minutes", type=float, help="how long at most; less than --batches are made then, and it says so"
    )
    parser.add_argument(
        "--lines-kept",
        type=int,
        default=limits.SEGMENT_LINES_KEPT_SECONDS,
        help="seconds for which a segment has a line",
    )
    parser.add_argument("--folder", type=Path, help="where the project stays, to go on with it later")
    parser.add_argument(
        "--compare", type=int, help="so many batches of --folder's project beside a new one, twice, in turns"
    )
    parser.add_argument("--json", type=Path, help="a file for what was found, one line a part")
    options = parser.parse_args()
    limits.SEGMENT_LINES_KEPT_SECONDS = options.lines_kept  # type: ignore[misc]
    with tempfile.TemporaryDirectory(prefix="many-batches-") as folder:
        run, found = Run.at(options.folder or Path(folder) / "many", options.rows, options.tables), []
        if options.compare:
            compare(run, Run(Path(folder) / "new", run.rows, run.tables), options.compare)
            return
        for part in parts(run, options):
            show(part)
            found.append(part)
            if options.json:
                options.json.write_text("".join(f"{json.dumps(each)}\n" for each in found))
        skipped = NOT_COUNTED if len(run.taken) > NOT_COUNTED else 0
        all_of = [each["all"] for each in run.taken[skipped:]]
    part = max(1, min(options.every, len(all_of) // 2))
    first, last = median(all_of[:part]), median(all_of[-part:])
    print(f"{len(run.taken):,} batches of {run.rows} rows (of {options.batches:,} asked for)")
    print(
        f"the first {part} after {skipped}: {first:.2f} s, the last {part}: {last:.2f} s, ratio "
        f"{last / first:.2f}"
    )


if __name__ == "__main__":
    sys.exit(main())
