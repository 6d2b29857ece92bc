"""The first run of the example customer-orders, from nothing to three tables, against the same job written by
hand.

    python benchmarks/first_run.py [--small]

Whole processes, a fresh copy of the example for each round. Both run once before anything is timed, so that
lakesmith's class-data archive and everybody's files in the page cache are there.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import common


class Sides:
    """Starts each contestant in a fresh folder."""

    def __init__(self, work: Path, options: argparse.Namespace) -> None:
        self.work = work
        self.options = options

    def ours(self) -> float:
        """Seconds of ``lakesmith run`` in a fresh copy of the example."""
        project = self.work / "customer-orders"
        shutil.rmtree(project, ignore_errors=True)
        common.copy_example("customer-orders", project)
        for file in (project / "tables" / "silver").glob("customer_history.*"):
            # The job by hand keeps no versions.
            file.unlink()
        self._deliver(project / "landing" / "orders")
        return common.timed(common.lakesmith("run"), project)

    def theirs(self) -> float:
        """Seconds of the job written by hand in an empty folder."""
        folder = self.work / "by-hand"
        shutil.rmtree(folder, ignore_errors=True)
        self._deliver(folder / "landing")
        paths = {name: str(folder / name) for name in ("landing", "warehouse", "checkpoint")}
        words = [word for name, path in paths.items() for word in (f"--{name}", path)]
        return common.timed(common.spark_submit(self.options.jars, "handwritten_orders.py", *words), folder)

    def _deliver(self, landing: Path) -> None:
        for file in sorted((common.EXAMPLES / "customer-orders" / "arrivals").glob("*.csv")):
            common.deliver(file, landing)

    def check(self) -> str:
        """Whether both made the same gold table."""
        name = ("gold", "customers_by_city_month")
        ours = common.jdbc_table(self.work / "customer-orders", *name)
        theirs = common.hadoop_table(self.work / "by-hand" / "warehouse", *name)
        columns = ["city", "month", "customers"]
        same = common.sorted_rows(ours, columns) == common.sorted_rows(theirs, columns)
        return f"gold: {ours.num_rows} rows, {'the same' if same else 'NOT the same'} on both sides"


def main() -> None:
    """The command line."""
    options = common.arguments(
        "The first run of customer-orders against the job written by hand."
    ).parse_args()
    rounds = options.rounds or (1 if options.small else 5)
    with common.workspace(options) as work:
        sides = Sides(work, options)
        sides.ours(), sides.theirs()
        ours, theirs = common.take_turns((sides.ours, sides.theirs), rounds)
        comparison = common.Comparison("three files, three tables", ours, theirs)
        common.show(common.Outcome("first_run", (comparison,), {}, (sides.check(),)), options.json)


if __name__ == "__main__":
    main()
