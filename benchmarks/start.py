"""What the direct start of the JVM and its class-data archive give: a session and its first merge, as a
complete process.

    python benchmarks/start.py [--rounds N]

Three ways, in turns: direct with the archive (as runs start), direct without, and ``spark-submit``, as
PySpark starts by itself. Needs a JDK 17 or 21, and an archive: a run in this environment makes one when it
has ended.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import common

WAYS = ("archive", "direct", "submit")
MERGE = """MERGE INTO lake.shop.orders t USING (SELECT id, id * 3 AS amount FROM range(50, 150)) s
ON t.id = s.id
WHEN MATCHED THEN UPDATE SET amount = s.amount WHEN NOT MATCHED THEN INSERT *"""


@dataclass(frozen=True)
class Starts:
    """Starts a process for each way, and keeps the processor seconds that it and its JVM took."""

    work: Path
    processor: dict[str, list[float]]

    def seconds(self, way: str) -> float:
        """Seconds of the whole process."""
        folder = self.work / f"{way}-{len(self.processor[way])}"
        folder.mkdir()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken = common.timed([sys.executable, __file__, "--way", way, "--work", "."], folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.processor[way].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return taken


def merge_once(way: str, work: Path) -> None:
    """A session by one way, a table, and a merge into it."""
    from lakesmith.spark.start.attempts import attempts, first_that_works
    from lakesmith.spark.start.class_archive import archive_for
    from lakesmith.spark.start.jars import cache_folder
    from lakesmith.spark.start.settings import SessionSettings, launch_plan, local_catalog_conf, session_conf

    root = work.resolve()
    settings = SessionSettings(
        local_catalog_conf(root / "catalog.db", root / "warehouse"), root / "spark.log", little=True
    )
    plan = launch_plan(settings)
    conf = session_conf(settings, plan.folder.spark_local)
    ways = attempts(plan, archive_for(cache_folder(), plan.java, plan.class_path), conf)
    if len(ways) != len(WAYS):
        raise common.BenchmarkError("there is no archive yet, or this Java cannot run spark-submit")
    handle = first_that_works(plan, conf, [ways[WAYS.index(way)]])
    spark = handle.spark
    spark.sql("CREATE NAMESPACE lake.shop")
    spark.sql("CREATE TABLE lake.shop.orders (id bigint, amount bigint) USING iceberg")
    spark.sql("INSERT INTO lake.shop.orders SELECT id, id * 2 FROM range(100)")
    spark.sql(MERGE)
    assert spark.table("lake.shop.orders").count() == 150
    handle.stop()


def measure(work: Path, options: argparse.Namespace) -> common.Outcome:
    """All ways in turns; the first process of each is not counted."""
    starts = Starts(work, {way: [] for way in WAYS})
    for way in WAYS:
        starts.seconds(way)
    started = time.perf_counter()
    taken = common.take_turns([lambda way=way: starts.seconds(way) for way in WAYS], options.rounds or 5)
    by_way = dict(zip(WAYS, taken, strict=True))
    processor = {way: tuple(found[1:]) for way, found in starts.processor.items()}
    comparisons = [
        common.Comparison(f"{way}{unit}", found[way], found["submit"])
        for way in WAYS[:2]
        for unit, found in (("", by_way), (", processor", processor))
    ]
    facts = {"took": f"{time.perf_counter() - started:.0f} s"}
    return common.Outcome("start", tuple(comparisons), facts, theirs="submit")


def main() -> None:
    """The command line."""
    parser = common.arguments("A session and its first merge by each way to start.")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        merge_once(options.way, options.work)
        return
    with common.workspace(options) as work:
        common.show(measure(work, options), options.json)


if __name__ == "__main__":
    main()
