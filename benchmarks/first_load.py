"""A first load, from files to two golds, against dbt-spark; whole processes.

    python benchmarks/first_load.py            5,000,000 rows, one of 200 bad
    python benchmarks/first_load.py --small       50,000 rows

Bronze, silver by key, two golds, from nothing. dbt is installed from PyPI into an environment of its own,
beside the same PySpark and jars. It makes nulls of bad values, which its silver leaves out; lakesmith sets
the rows aside with their reasons.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import common
from cdc import PROJECT
from cdc_data import COLUMNS, write_first
from ingest import BAD_SHARE, spoil

GOAL = 0.9
PACKAGES = ("dbt-core==1.10.23", "dbt-spark==1.10.3")


class Sides:
    """Where both contestants work, and how the peer is called."""

    def __init__(self, work: Path, options: argparse.Namespace) -> None:
        self.ours, self.theirs = work / "lakesmith", work / "dbt"
        for name, text in PROJECT.items():
            (self.ours / name).parent.mkdir(parents=True, exist_ok=True)
            (self.ours / name).write_text(text)
        self.theirs.mkdir()
        self.files = write_first(self.ours / "landing", options.rows)
        self.bad = sum(spoil(file, round(1 / BAD_SHARE)) for file in self.files)
        self.command = self._command(install_dbt(work / "environment"), options.jars)

    def _command(self, python: Path, jars: Path | None) -> list[str]:
        schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        words = [
            "--landing",
            self.ours / "landing",
            "--warehouse",
            self.theirs / "warehouse",
            "--schema",
            schema,
        ]
        submit = common.spark_submit(jars, "dbt_orders.py", *words)
        return ["env", f"PYSPARK_PYTHON={python}", f"PYSPARK_DRIVER_PYTHON={python}", *submit]

    def run_ours(self) -> float:
        """Seconds of ``lakesmith run`` into a new lake."""
        shutil.rmtree(self.ours / ".lakesmith", ignore_errors=True)
        return common.timed(common.lakesmith("run"), self.ours)

    def run_theirs(self) -> float:
        """Seconds of ``dbt run`` into a new warehouse."""
        shutil.rmtree(self.theirs / "warehouse", ignore_errors=True)
        return common.timed(self.command, self.theirs)

    def check(self) -> str:
        """Whether both have the same keys."""
        ours = common.jdbc_table(self.ours, "silver", "orders")["order_id"].to_pylist()
        theirs = common.hadoop_table(self.theirs / "warehouse", "shop", "silver_orders")[
            "order_id"
        ].to_pylist()
        same = "the same keys" if sorted(ours) == sorted(theirs) else "OTHER keys"
        return (
            f"silver: {len(ours):,} rows, {len(theirs):,} by dbt, {same}; {self.bad:,} bad rows in the files"
        )


def install_dbt(folder: Path) -> Path:
    """The Python of a new environment with dbt, which finds PySpark in this one."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    (there,) = (folder / "lib").glob("python*/site-packages")
    (there / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def main() -> None:
    """The command line."""
    parser = common.arguments("A first load, from files to two golds, against dbt-spark.")
    parser.add_argument("--rows", type=int, help="how many rows the files have")
    options = parser.parse_args()
    options.rows = options.rows or (50_000 if options.small else 5_000_000)
    with common.workspace(options) as work:
        sides = Sides(work, options)
        ours, theirs = common.take_turns(
            (sides.run_ours, sides.run_theirs), options.rounds or (1 if options.small else 2)
        )
        comparison = common.Comparison(f"first load of {options.rows:,} rows", ours, theirs, GOAL)
        outcome = common.Outcome("first_load", (comparison,), {}, (sides.check(),), theirs="dbt-spark")
        common.show(outcome, options.json)


if __name__ == "__main__":
    main()
