"""Bronze ingest of CSV files, checks included, against plain Spark reading the same files and writing
Parquet.

    python benchmarks/ingest.py            1 GB
    python benchmarks/ingest.py --small    20 MB
    python benchmarks/ingest.py --bad 0    no bad rows (usually one of 200 has an invalid amount)

Whole processes. Both read with the same declared columns. Plain Spark makes nulls of bad values and tells
nobody; the goal is a ratio of times of 1.2 or less.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import common
from cdc_data import COLUMNS, write_first

BYTES_PER_ROW = 62
GOAL = 1.2
BAD_SHARE = 0.005
PROJECT = "name: ingest\ndefault_target: local\ntargets:\n  local: {}\n"
TABLE = 'source:\n  files: {path: landing/, pattern: "*.csv", format: csv}\ncolumns:\n' + "".join(
    f'  {name}: "{kind}"\n' for name, kind in COLUMNS.items()
)


class Sides:
    """Starts each contestant on the same files, in a folder without what an earlier round left."""

    def __init__(self, work: Path, rows: int, bad_share: float, jars: Path | None) -> None:
        self.project, self.folder = work / "lakesmith", work / "plain"
        self.landing = self.project / "landing"
        self.jars = jars
        (self.project / "tables" / "bronze").mkdir(parents=True)
        (self.project / "lakesmith.yaml").write_text(PROJECT)
        (self.project / "tables" / "bronze" / "orders.yaml").write_text(TABLE)
        self.folder.mkdir()
        self.rows, self.files = rows, write_first(self.landing, rows)
        self.bad = sum(spoil(file, round(1 / bad_share)) for file in self.files) if bad_share else 0

    @property
    def megabytes(self) -> int:
        """How much CSV there is."""
        return sum(file.stat().st_size for file in self.files) // 10**6

    def ours(self) -> float:
        """Seconds of ``lakesmith run`` into a new lake."""
        shutil.rmtree(self.project / ".lakesmith", ignore_errors=True)
        return common.timed(common.lakesmith("run"), self.project)

    def theirs(self) -> float:
        """Seconds of plain Spark."""
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        words = ["--landing", str(self.landing), "--out", str(self.folder / "out"), "--schema", schema]
        return common.timed(common.spark_submit(self.jars, "plain_ingest.py", *words), self.folder)

    def check(self) -> str:
        """Whether both have all rows."""
        import pyarrow.dataset

        ours = common.jdbc_table(self.project, "bronze", "orders").num_rows
        theirs = pyarrow.dataset.dataset(self.folder / "out", format="parquet").count_rows()
        return (
            f"rows: {ours:,} in bronze, {theirs:,} by plain Spark, {self.rows:,} in the files, {self.bad:,} "
            f"of them bad"
            f" ({'all others' if ours == self.rows - self.bad else 'NOT all others'} are in bronze)"
        )


def spoil(file: Path, every: int) -> int:
    """Gives one row of ``every`` in the file an invalid amount; returns how many."""
    lines = file.read_bytes().splitlines(keepends=True)
    spoilt = range(every, len(lines), every)
    for number in spoilt:
        lines[number] = lines[number].rpartition(b",")[0] + b",n/a\n"
    file.write_bytes(b"".join(lines))
    return len(spoilt)


def measure(work: Path, options: argparse.Namespace) -> common.Outcome:
    """Both, in turns."""
    megabytes = options.megabytes or (20 if options.small else 1000)
    sides = Sides(work, megabytes * 10**6 // BYTES_PER_ROW, options.bad, options.jars)
    ours, theirs = common.take_turns(
        (sides.ours, sides.theirs), options.rounds or (1 if options.small else 3)
    )
    comparison = common.Comparison(f"{sides.megabytes:,} MB of CSV", ours, theirs, GOAL)
    facts = {"rows": sides.rows, "files": len(sides.files)}
    return common.Outcome("ingest", (comparison,), facts, (sides.check(),), theirs="plain Spark")


def main() -> None:
    """The command line."""
    parser = common.arguments("Bronze ingest against plain Spark writing Parquet.")
    parser.add_argument("--megabytes", type=int, help="how much CSV")
    parser.add_argument("--bad", type=float, default=BAD_SHARE, help="the share of bad rows")
    options = parser.parse_args()
    with common.workspace(options) as work:
        common.show(measure(work, options), options.json)


if __name__ == "__main__":
    main()
