"""Gold tables refreshed after a change of a large table, against full refreshes of the same tables.

    python benchmarks/refresh.py            50,000,000 rows
    python benchmarks/refresh.py --small       500,000 rows

Each table in one Spark session with a heap of 2 GB. The table has 400 days, partitioned by day. A change
updates, deletes and adds rows: most in the newest days, a few late ones long ago, or scattered over all days.
Each gold's time is that of its whole batch: planned, computed, written, checked and published; the bytes are
those that Spark's tasks read. At the end all golds, last refreshed by what changed, are verified. Then the
same number of rows of a table of a million is changed, in a process of its own: what that takes is what of
the cost does not grow with the table.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import common
from merge import KeptEngine

from lakesmith import limits
from lakesmith.execute.decide import Decider
from lakesmith.execute.events import Event, TableFailed, TablePublished, TableRedone
from lakesmith.execute.opened import read_project
from lakesmith.execute.run import Run
from lakesmith.execute.verify import verification_of
from lakesmith.plan.steps import TableStep
from lakesmith.project.definitions import TableName

DAYS = 400
SALES = "lake.silver.sales"
GOAL = 1 / 20
GROWTH_GOAL = 1.3
NEWEST = "newest"
"""The case of few changes, most in the newest days."""

FEW_ROWS = 1_000_000
GOLDS = {
    "by_hour": "SELECT date_trunc('hour', sold) AS hour, store, count(*) AS sales, sum(amount) AS total,"
    " count(DISTINCT customer) AS customers FROM silver.sales GROUP BY date_trunc('hour', sold), store",
    "by_minute": "SELECT window(sold, '1 minute').start AS minute, count(*) AS sales, sum(amount) AS total"
    " FROM silver.sales GROUP BY window(sold, '1 minute')",
    "by_visit": "SELECT window(sold, '30 minutes', '10 minutes').start AS since, store, count(*) AS sales, "
    "avg(amount) AS mean,"
    " count(DISTINCT customer) AS customers FROM silver.sales GROUP BY window(sold, '30 minutes', '10 "
    "minutes'), store",
    "by_day": "SELECT CAST(sold AS date) AS day, product, sum(amount) AS total, avg(amount) AS mean, "
    "max(sale_id) AS last"
    " FROM silver.sales GROUP BY CAST(sold AS date), product",
    "by_customer": "SELECT customer, count(*) AS sales, max(sold) AS last FROM silver.sales GROUP BY "
    "customer",
}
PROJECT = {
    "lakesmith.yaml": "name: refresh\ntargets: {local: {spark: {spark.driver.memory: 2g}}}\n",
    "tables/silver/sales.yaml": """
source:
  files: {path: landing/, format: csv}
columns: {sale_id: bigint, store: int, product: int, customer: bigint, amount: "decimal(10,2)",
  sold: timestamp, note: string}
partition_by: [days(sold)]
""",
    "landing/none.csv": "sale_id,store,product,customer,amount,sold,note\n0,0,0,0,0.00,2024-01-01 "
    "00:00:00,first\n",
    **{f"tables/gold/{name}.sql": query for name, query in GOLDS.items()},
}
SALE = """
SELECT {id} AS sale_id, CAST({id} * 7919 % 50 AS int) AS store, CAST({id} * 104729 % 500 AS int) AS product,
  {id} * 15485863 % {customers} AS customer, CAST({id} % 9973 / 100 + {round} AS decimal(10,2)) AS amount,
  {sold} AS sold, concat('sale number ', {id}, ' of this shop') AS note
"""
COLUMNS = "sale_id, store, product, customer, amount, sold, note"


@dataclass(frozen=True)
class Batch:
    """One gold's batch: its strategy, what was said of it, seconds and bytes."""

    strategy: str
    said: str
    seconds: float
    bytes: int


class Lake:
    """The project in one session."""

    def __init__(self, project: Path, options: argparse.Namespace) -> None:
        from lakesmith.spark.engine import SparkEngine
        from lakesmith.spark.open import open_session
        from lakesmith.spark.verify import verify_steps

        self.verify_steps = verify_steps
        for name, text in PROJECT.items():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).write_text(text)
        self.opened = read_project(project, None)
        self.handle = open_session(self.opened.project)
        self.engine = KeptEngine(SparkEngine(self.handle, self.opened.lake))
        self.spark: Any = self.handle.spark
        self.rows: int = options.rows
        self.round = 0

    def fill(self) -> None:
        """Takes the first file, then has another engine add all rows: the table is what counts here, not its
        intake.
        """
        self.run("silver.sales")
        self.spark.sql(
            f"INSERT INTO {SALES} ({COLUMNS}) {self._sales('id', self._at('id'))} FROM range(1, "
            f"{self.rows}, 1, 8)"
        )

    def _at(self, number: str) -> str:
        return f"timestamp_seconds(1704067200 + {number} * {DAYS * 86400}D / {self.rows})"

    def _sales(self, number: str, sold: str) -> str:
        customers = max(self.rows // 50, 1)
        return SALE.format(id=number, sold=sold, customers=customers, round=self.round)

    def change(self, count: int, scattered: bool) -> None:
        """Changes ``count`` rows: of each ten seven are updated, one is deleted and two are new."""
        self.round += 1
        step = max(self.rows // count, 1) if scattered else 1
        newest = 0 if scattered else max(self.rows - count, 0)
        late = f"WHEN n % 1000 = 0 THEN n * 7919 % {self.rows}" if not scattered else "WHEN false THEN 0"
        place = f"CASE {late} ELSE {newest} + n * {step} END"
        numbers = f"SELECT n, {place} AS id FROM (SELECT id AS n FROM range({count}))"
        kind = "CASE WHEN n % 10 = 9 THEN 'D' WHEN n % 10 < 7 THEN 'U' ELSE 'I' END AS op"
        new = f"CASE WHEN n % 10 IN (7, 8) THEN {self.rows} * {self.round + 1} + n ELSE id END"
        self.spark.sql(self._merge(new, kind, numbers))

    def _merge(self, new: str, kind: str, numbers: str) -> str:
        source = f"SELECT {new} AS id, {kind}, {self._at('id')} AS at FROM ({numbers})"
        sales = self._sales("id", "at").replace("SELECT", "SELECT op,", 1)
        values = ", ".join(f"s.{column}" for column in COLUMNS.split(", "))
        return (
            f"MERGE INTO {SALES} t USING ({sales} FROM ({source})) s ON t.sale_id = s.sale_id AND t.sold = "
            f"s.sold"
            " WHEN MATCHED AND op = 'D' THEN DELETE WHEN MATCHED THEN UPDATE SET amount = s.amount"
            f" WHEN NOT MATCHED AND op = 'I' THEN INSERT ({COLUMNS}) VALUES ({values})"
        )

    def run(self, *patterns: str, full: bool = False) -> dict[str, Batch]:
        """Refreshes the tables one after the other; returns the result of each."""
        found: dict[str, Batch] = {}
        names = self.opened.names(patterns)
        for name in names:
            found.update(self._run_one(name, full))
        return found

    def _run_one(self, name: TableName, full: bool) -> list[tuple[str, Batch]]:
        said: list[str] = []
        done: list[TablePublished] = []

        def listen(event: Event) -> None:
            if isinstance(event, TableFailed):
                raise common.BenchmarkError(
                    "\n".join(line for each in event.problems for line in each.lines())
                )
            if isinstance(event, TableRedone):
                said.append(event.reason)
            if isinstance(event, TablePublished):
                done.append(event)

        decider = Decider(self.opened.graph, self.opened.lake, frozenset({name} if full else ()))
        before = self._read()
        begin = time.perf_counter()
        Run(decider, (name,), lambda _lock, _little: self.engine, listen).run()
        seconds = time.perf_counter() - begin
        return [
            (name.name, Batch(event.report.record.kind, "; ".join(said), seconds, self._read() - before))
            for event in done
        ]

    def verify(self) -> list[str]:
        """A sentence for each gold: whether it equals what is computed again."""
        decider = Decider(self.opened.graph, self.opened.lake)
        steps = [verification_of(decider, name) for name in self.opened.names(("gold.*",))]
        begin = time.perf_counter()
        done = self.verify_steps(
            self.handle, self.opened.lake, [each for each in steps if isinstance(each, TableStep)]
        )
        said = [f"verify {name}: {found.verdict.value}, {found.rows:,} rows" for name, found in done.items()]
        return [*said, f"verify took {time.perf_counter() - begin:.1f} s"]

    def _read(self) -> int:
        """The bytes that tasks have read so far."""
        store = self.spark.sparkContext._jsc.sc().statusStore()
        return int(store.executorSummary("driver").totalInputBytes())


def measure(work: Path, options: argparse.Namespace) -> common.Outcome:
    """Fills the table, builds the golds, then changes and refreshes, by what changed and in full."""
    lake = Lake(work / "refresh", options)
    try:
        lake.fill()
        first = lake.run("gold.*")
        if options.show:
            print("first", first, flush=True)
        # The first refresh of a session is Java that runs for the first time.
        lake.change(options.changes, scattered=False)
        lake.run("gold.*")
        lines: list[str] = []
        comparisons: list[common.Comparison] = []
        for label, count, scattered in cases(options):
            taken = [one_change(lake, count, scattered, options) for _ in range(options.rounds)]
            comparisons += list(compared(label, taken))
            lines += list(report(label, taken[-1]))
            lake.change(count, scattered)
            lake.run("gold.*")
        lines += lake.verify()
    finally:
        lake.handle.stop()
    return common.Outcome(
        "refresh", tuple(comparisons), {"rows": options.rows}, tuple(lines), theirs="in full"
    )


def cases(options: argparse.Namespace) -> list[tuple[str, int, bool]]:
    """What is changed: its name, how many rows, and whether they are scattered over all days."""
    found = [(NEWEST, options.changes, False)]
    if not options.newest_only:
        found += [("1 %", options.rows // 100, False), ("scattered", options.changes, True)]
    return found


Pair = tuple[Mapping[str, Batch], Mapping[str, Batch]]


def one_change(lake: Lake, count: int, scattered: bool, options: argparse.Namespace) -> Pair:
    """The golds' batches after one change: by what changed, and then again in full."""
    lake.change(count, scattered)
    pair = (lake.run("gold.*"), lake.run("gold.*", full=True))
    if options.show:
        for name in GOLDS:
            print(count, scattered, name, *(each[name] for each in pair), flush=True)
    return pair


def compared(label: str, taken: list[Pair]) -> Iterator[common.Comparison]:
    """Seconds by gold."""
    for name in GOLDS:
        ours, whole = (tuple(pair[side][name].seconds for pair in taken) for side in (0, 1))
        goal = GOAL if label == NEWEST and name != "by_customer" else None
        yield common.Comparison(f"{name}, {label} changed", ours, whole, goal)


def report(label: str, pair: Pair) -> Iterator[str]:
    """Strategies and bytes by gold."""
    for name in GOLDS:
        ours, whole = pair[0][name], pair[1][name]
        part = whole.bytes / max(ours.bytes, 1)
        yield (
            f"{name}, {label}: {ours.strategy}, {ours.bytes / 1e6:,.1f} MB read, in full "
            f"{whole.bytes / 1e6:,.1f} MB"
            f" ({part:,.1f} times as many){': ' + ours.said if ours.said else ''}"
        )


def growth(taken: Sequence[common.Comparison], options: argparse.Namespace) -> Iterator[str]:
    """How many times the seconds of as many changes in a table of a million rows each gold took."""
    counts = {"--rows": FEW_ROWS, "--changes": options.changes, "--rounds": options.rounds}
    words = [str(word) for pair in counts.items() for word in pair]
    done = subprocess.run(
        [sys.executable, __file__, *words, "--newest-only", "--json"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    few = {each["what"]: median(each["ours"]) for each in json.loads(done.stdout)["comparisons"]}
    for each in taken:
        if each.what in few:
            times = median(each.ours) / few[each.what]
            yield (
                f"{each.what}: {times:.2f} times the {few[each.what]:.1f} s of as many in {FEW_ROWS:,} rows "
                f"(goal {GROWTH_GOAL})"
            )


def main() -> None:
    """The command line."""
    parser = common.arguments("Golds refreshed by what changed, against full refreshes.")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--changes", type=int, help="rows of a small change (default: 0.02 %% of all)")
    parser.add_argument("--newest-only", action="store_true", help="changes of the newest days alone")
    parser.add_argument("--show", action="store_true", help="print each batch as it ends")
    options = parser.parse_args()
    options.rows = options.rows or (500_000 if options.small else 50_000_000)
    options.changes = options.changes or options.rows // 5_000
    options.rounds = options.rounds or 1
    if options.rows <= FEW_ROWS:
        # Below this lakesmith refreshes a table in full; here it shows what an incremental refresh takes.
        limits.COMPUTED_WHOLE_BELOW_BYTES = 0
    with common.workspace(options) as work:
        outcome = measure(work, options)
    if options.rows > FEW_ROWS:
        outcome = replace(outcome, checks=(*outcome.checks, *growth(outcome.comparisons, options)))
    common.show(outcome, options.json)


if __name__ == "__main__":
    main()
