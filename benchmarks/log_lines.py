"""Lines of a log of CloudFront into bronze, against DuckDB writing them as Parquet: processor time.

    python benchmarks/log_lines.py             1,000,000 lines, 360 MB in one file
    python benchmarks/log_lines.py --small     50,000 lines

Whole processes, from nothing. DuckDB reads the lines as TSV with typed columns and compresses with zstd, as
Iceberg does; it decodes nothing, makes no time of two fields, and does not say what is wrong with a line.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import common
from ingest import PROJECT
from logs_to_insight import file_of, lines_by_day
from tree import cost_of

GOAL = 6.5
TABLE = "source:\n  files: {path: landing/, format: cloudfront}\n"


def log_lines(work: Path, options: argparse.Namespace) -> common.Outcome:
    """Processor seconds of both, in turns."""
    import pyarrow.parquet

    lines, root = 50_000 if options.small else 1_000_000, work / "logs"
    (root / "tables" / "bronze").mkdir(parents=True)
    (root / "lakesmith.yaml").write_text(PROJECT)
    (root / "tables" / "bronze" / "requests.yaml").write_text(TABLE)
    log, out = root / "landing" / "E1.log", work / "requests.parquet"
    log.parent.mkdir()
    log.write_bytes(file_of(line for _, of_day in lines_by_day(lines) for line in of_day))
    peer = [sys.executable, str(common.PEERS / "duckdb_tsv.py"), str(log), str(out)]

    def ours() -> float:
        shutil.rmtree(root / ".lakesmith", ignore_errors=True)
        return cost_of(common.lakesmith("run"), root).cpu

    times = common.take_turns(
        [ours, lambda: cost_of(peer, work).cpu], options.rounds or (1 if options.small else 3)
    )
    rows = common.jdbc_table(root, "bronze", "requests").num_rows
    theirs = pyarrow.parquet.read_metadata(out).num_rows
    check = f"log lines: {rows:,} rows in bronze, {theirs:,} by DuckDB, {lines:,} lines in the file"
    comparison = common.Comparison(f"{lines:,} log lines", *times, GOAL)
    return common.Outcome("log lines to bronze, processor time", (comparison,), {}, (check,), theirs="DuckDB")


def main() -> None:
    """The command line."""
    options = common.arguments("Log lines into bronze, against DuckDB writing Parquet.").parse_args()
    with common.workspace(options) as work:
        common.show(log_lines(work, options), options.json)


if __name__ == "__main__":
    main()
