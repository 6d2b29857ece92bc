"""A run with nothing new, as a complete process, against an idle run of a job written by hand.

    python benchmarks/idle.py [--small]

On the example invoices as it is after its first run, then after 1,000 batches and 100,000 files (``--small``:
50 and 2,000). The job written by hand does what every such job does then: it starts Spark, looks at the same
folder, and ends.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import common

GOAL = 1 / 16
TABLES = ("bronze.invoices", "silver.invoices", "gold.sales_by_category_state")


class Sides:
    """Starts each contestant on the same landing folder, which neither finds anything new in."""

    def __init__(self, work: Path, jars: Path | None) -> None:
        self.project = common.copy_example("invoices", work / "invoices")
        self.landing = self.project / "landing" / "invoices"
        self.folder = work / "by-hand"
        self.folder.mkdir()
        checkpoint = self.folder / "checkpoint.json"
        checkpoint.write_text(json.dumps({"last_modified_ns": time.time_ns() + 10**15}))
        paths = {"landing": self.landing, "warehouse": self.folder / "warehouse", "checkpoint": checkpoint}
        words = [word for name, path in paths.items() for word in (f"--{name}", str(path))]
        self.peer = common.spark_submit(jars, "handwritten_cdc.py", *words, "--pattern", "*.tsv")

    def ours(self) -> float:
        """Seconds of ``lakesmith run``."""
        return common.timed(common.lakesmith("run"), self.project)

    def theirs(self) -> float:
        """Seconds of the job written by hand."""
        return common.timed(self.peer, self.folder)

    def compare(self, what: str, rounds: int) -> common.Comparison:
        """Both, in turns, after one run of each that is not counted."""
        self.ours(), self.theirs()
        ours, theirs = common.take_turns((self.ours, self.theirs), rounds)
        return common.Comparison(what, ours, theirs, GOAL)

    def add_files(self, count: int) -> None:
        """Puts ``count`` small files into the landing folder, in folders of 1,000."""
        header = next(self.landing.glob("*.tsv")).read_text().splitlines()[0] + "\n"
        for number in range(count):
            folder = self.landing / f"{number // 1000:04d}"
            if number % 1000 == 0:
                folder.mkdir()
            (folder / f"{number:06d}.tsv").write_text(header)


def measure(work: Path, options: argparse.Namespace) -> common.Outcome:
    """Idle after the first run, then with a long past."""
    from history import PastMaker

    rounds = options.rounds or (3 if options.small else 9)
    sides = Sides(work, options.jars)
    common.timed(common.lakesmith("run"), sides.project)
    fresh = sides.compare("nothing new, 4 files", rounds)
    batches, files = (50, 2_000) if options.small else (1_000, 100_000)
    sides.add_files(files)
    lines = PastMaker(sides.project).grow(TABLES, batches)
    old = sides.compare(f"nothing new, {batches:,} batches", max(1, rounds // 2))
    return common.Outcome("idle", (fresh, old), {"ledger": lines}, theirs="by hand")


def main() -> None:
    """The command line."""
    options = common.arguments(
        "A run with nothing new against an idle run of a job written by hand."
    ).parse_args()
    with common.workspace(options) as work:
        common.show(measure(work, options), options.json)


if __name__ == "__main__":
    main()
