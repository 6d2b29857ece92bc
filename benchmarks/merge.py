"""10,000 changes merged into a large keyed table, published and checked, against one scan of its key columns.

    python benchmarks/merge.py            16,000,000 rows
    python benchmarks/merge.py --small       200,000 rows

All in one Spark session. The unit is one broadcast join of the changes' keys with the table's key column: the
least that any merge has to read. lakesmith's time is that of the whole batch of the silver table: read,
validated, written, checked and published. Beside it a plain MERGE of the same changes into a copy of the
table.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common
from cdc import PROJECT
from cdc_data import Changes, write_first

from lakesmith.execute.engine import Engine
from lakesmith.execute.events import Event, TableFailed, TablePublished
from lakesmith.execute.opened import Opened, read_project
from lakesmith.execute.run import Run
from lakesmith.project.definitions import TableName

GOAL = 4.0
SILVER = TableName("silver", "orders")
PEER = """
CREATE TABLE lake.peer.orders USING iceberg
TBLPROPERTIES ('format-version' = '3', 'write.merge.mode' = 'merge-on-read')
AS SELECT * FROM lake.silver.orders
"""
MERGE = """
MERGE INTO lake.peer.orders t USING changes s ON t.order_id = s.order_id
WHEN MATCHED AND s.op = 'D' AND s.changed_at > t.changed_at THEN DELETE
WHEN MATCHED AND s.changed_at > t.changed_at THEN UPDATE SET *
WHEN NOT MATCHED AND s.op <> 'D' THEN INSERT *
"""


class Session:
    """One Spark session and the project's runs in it."""

    def __init__(self, project: Path) -> None:
        from lakesmith.spark.engine import SparkEngine
        from lakesmith.spark.open import open_session

        self.opened: Opened = read_project(project, None)
        self.handle = open_session(self.opened.project)
        self.engine = KeptEngine(SparkEngine(self.handle, self.opened.lake))
        self.spark: Any = self.handle.spark

    def run(self) -> float:
        """Refreshes all tables; returns the seconds of the silver table's batch, 0 without one."""
        seconds: list[float] = [0.0]

        def listen(event: Event) -> None:
            if isinstance(event, TableFailed):
                raise common.BenchmarkError(
                    "\n".join(line for each in event.problems for line in each.lines())
                )
            if isinstance(event, TablePublished) and event.table == SILVER:
                seconds.append(event.seconds)

        Run(self.opened.decider(), self.opened.names(()), lambda _lock, _little: self.engine, listen).run()
        return seconds[-1]

    def copy_for_peer(self) -> None:
        """Copies the silver table, for the plain MERGE."""
        self.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.peer")
        self.spark.sql(PEER)

    def view_changes(self, files: list[Path]) -> None:
        """Makes the changes a view named ``changes``, the newest of each key, in memory."""
        rows = self.spark.read.schema(self.spark.table("lake.silver.orders").schema)
        rows.csv([str(file) for file in files], header=True).createOrReplaceTempView("delivered")
        newest = "row_number() OVER (PARTITION BY order_id ORDER BY changed_at DESC) AS n"
        columns = ", ".join(self.spark.table("delivered").columns)
        query = f"SELECT {columns} FROM (SELECT *, {newest} FROM delivered) WHERE n = 1"
        self.spark.sql("DROP VIEW IF EXISTS changes")
        self.spark.sql(query).cache().createOrReplaceTempView("changes")
        self.spark.table("changes").count()

    def same(self) -> bool:
        """Whether the silver table and the copy have the same rows."""
        pairs = (("silver", "peer"), ("peer", "silver"))
        queries = [
            f"SELECT * FROM lake.{a}.orders EXCEPT ALL SELECT * FROM lake.{b}.orders" for a, b in pairs
        ]
        return all(self.spark.sql(query).isEmpty() for query in queries)

    def scan(self) -> float:
        """Seconds of one scan of the key column, joined with the changes' keys by broadcast."""
        join = "lake.silver.orders t JOIN changes s ON t.order_id = s.order_id"
        return timed(lambda: self.spark.sql(f"SELECT /*+ BROADCAST(s) */ count(*) FROM {join}").collect())

    def plain_merge(self) -> float:
        """Seconds of a plain MERGE into the copy."""
        return timed(lambda: self.spark.sql(MERGE).collect())


class KeptEngine:
    """An engine that a run does not close."""

    def __init__(self, engine: Engine) -> None:
        self.run_step, self.cancel = engine.run_step, engine.cancel

    def close(self) -> None:
        """Leaves the session open: the next run is in the same one."""


def timed(call: Callable[[], object]) -> float:
    """Seconds that the call took."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def measure(work: Path, options: argparse.Namespace) -> common.Outcome:
    """Loads the table, then merges batch after batch, each with a scan before and after it."""
    project = work / "merge"
    for name, text in PROJECT.items():
        if not name.startswith("tables/gold"):
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).write_text(text)
    write_first(project / "landing", options.rows)
    changes = Changes(options.rows, options.seed, odd=0.0)
    session = Session(project)
    try:
        load = session.run()
        session.copy_for_peer()
        batches = [
            one_batch(session, changes, project / "landing", options) for _ in range(options.rounds + 1)
        ]
        same = session.same()
    finally:
        session.handle.stop()
    ours, scans, merges = zip(*batches[1:], strict=True)  # the first one warms the session up
    comparisons = (
        common.Comparison("against one scan of the keys", ours, scans, GOAL),
        common.Comparison("against a plain MERGE", ours, merges),
    )
    check = f"lakesmith's table and the merged copy have {'the same rows' if same else 'NOT the same rows'}"
    facts = {"load_seconds": round(load, 1), "rows": options.rows, "changes": options.changes}
    return common.Outcome("merge", comparisons, facts, (check,), theirs="the other")


def one_batch(
    session: Session, changes: Changes, landing: Path, options: argparse.Namespace
) -> tuple[float, float, float]:
    """Seconds of lakesmith's batch, of one scan of the keys (measured before and after it), and of a plain
    MERGE.
    """
    session.view_changes(changes.write_batch(landing, options.changes))
    before = session.scan()
    ours = session.run()
    return ours, (before + session.scan()) / 2, session.plain_merge()


def main() -> None:
    """The command line."""
    parser = common.arguments("Changes merged into a large table, against one scan of its keys.")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--changes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    options.rows = options.rows or (200_000 if options.small else 16_000_000)
    options.rounds = options.rounds or (1 if options.small else 3)
    with common.workspace(options) as work:
        common.show(measure(work, options), options.json)


if __name__ == "__main__":
    main()
