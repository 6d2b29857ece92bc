"""A tiny batch in a session that stays, against the same written by hand: ten changes, three tables.

    python benchmarks/tiny.py              after 25 batches of each, medians of 8 more
    python benchmarks/tiny.py --small      after 2, medians of 2

Bronze is appended to, silver merged by key (by hand: format version 3, merge-on-read), one gold refreshed.
Both sessions stay, have the same files and take turns, and both are set up for little data, as lakesmith sets
up its own: Java's first compiler alone, the serial collector, small pages, as many shuffle partitions as
cores. (Set up as Spark comes, the job written by hand takes twice the processor time.) What is compared is
processor time: a batch of ten rows is short, and its wall time depends on what else the machine does.
"""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path
from typing import Any

import common
from cdc import ORACLE_OF, PROJECT, Sides, differences, write_project
from cdc_data import Changes, write_first
from stays import warm_process

from lakesmith.plan.cost import DataSize
from lakesmith.spark.start.settings import default_memory_mb
from lakesmith.spark.start.sizes import collector, compiler, memory_conf

ROWS, CHANGES, GOAL = 1_000, 10, 1.6
GOLD = "gold.sales_by_region_category"
TABLES = ("bronze.orders", "silver.orders", GOLD)


def prepared(work: Path, jars: Path | None) -> Sides:
    """Makes the project with one gold, and the peer's folder."""
    ours, theirs = work / "lakesmith", work / "by-hand"
    others = {f"tables/{table.replace('.', '/')}.sql" for table in ORACLE_OF.keys() - TABLES}
    write_project(ours, {name: text for name, text in PROJECT.items() if name not in others})
    theirs.mkdir()
    return Sides(ours, theirs, peer(theirs, jars))


def peer(folder: Path, jars: Path | None) -> tuple[str, ...]:
    """The job by hand, in a session that stays. (``spark-submit`` does not hand on its input.)"""
    script, python = "handwritten_cdc.py", common.environment()["PYSPARK_PYTHON"]
    cores, memory = os.cpu_count() or 1, default_memory_mb()
    java = (*compiler(DataSize.LITTLE), *collector(DataSize.LITTLE, cores, memory))
    conf = {"spark.sql.shuffle.partitions": str(cores), **memory_conf(DataSize.LITTLE, memory, {})}
    submit = [
        *common.spark_submit(jars, script)[1:-1],
        *("--driver-java-options", shlex.quote(" ".join(java))),
        *(word for setting in conf.items() for word in ("--conf", "=".join(setting))),
    ]
    words = f"--landing landing --checkpoint checkpoint.json --stay --gold {GOLD}".split()
    started = [python, str(common.PEERS / script), *words, "--warehouse", f"{folder}/warehouse"]
    return ("env", f"PYSPARK_SUBMIT_ARGS={' '.join(submit)} pyspark-shell", *started)


def tiny_batches(work: Path, options: argparse.Namespace) -> common.Outcome:
    """Processor seconds of a batch of both, in turns; ``facts``: what ours did in one."""
    both, (before, rounds) = prepared(work, options.jars), (2, 2) if options.small else (25, 8)
    # In order: by hand late changes are lost, and then both would not do the same.
    changes = Changes(ROWS, seed=7, odd=0.0)
    both.deliver(write_first(work / "files" / "first", ROWS))
    counts: list[dict[str, Any]] = []
    seconds: tuple[list[float], list[float]] = ([], [])
    with warm_process(both.ours) as ours, warm_process(both.theirs, both.peer) as theirs:
        for number in range(before + rounds):
            sides = list(zip((ours, theirs), seconds, strict=True))
            for run, costs in reversed(sides) if number % 2 else sides:
                cost, done = run()
                costs.append(cost.cpu)
                counts += [done] if run is ours else []
            both.deliver(changes.write_batch(work / "files" / "changes", CHANGES))
        for run in (ours, theirs):
            run()
    measured = [tuple(costs[before:]) for costs in seconds]
    what = f"{CHANGES} changes, warm, 3 tables"
    facts = {name: counts[-1][name] for name in ("py4j", "jobs")}
    comparison = common.Comparison(what, *measured, GOAL)
    return common.Outcome(
        "tiny batch, processor time", (comparison,), facts, tuple(differences(both, TABLES))
    )


def main() -> None:
    """The command line."""
    options = common.arguments("A tiny batch in a session that stays.").parse_args()
    with common.workspace(options) as work:
        common.show(tiny_batches(work, options), options.json)


if __name__ == "__main__":
    main()
