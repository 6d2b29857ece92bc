"""From the arrival of a log to the export of its day, and a million lines from nothing: cdn-logs.

    python benchmarks/logs_to_insight.py        3 minutes at 200 files of 5,000 lines an hour; 1,000,000 lines
    python benchmarks/logs_to_insight.py --small    1 minute; 50,000 lines
    python benchmarks/logs_to_insight.py --only arrivals      or --only from-nothing

Arrivals: ``lakesmith up`` keeps the example, whose silver table has no schedule here, so each table is
refreshed when something arrives. A file counts as arrived when it has its name; its insight is there when the
manifest of the export of ``gold.days`` names rows that count it. Every request has to be counted once.

From nothing: one ``lakesmith run`` of the example, a whole process with its rules, browsers and export,
beside DuckDB, which reads the same files, keeps each request once and aggregates both golds. The days of both
have to be equal.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import date, timedelta
from pathlib import Path

import common
from live import LAKESMITH, percentile

sys.path.append(str(common.EXAMPLES / "cdn-logs"))
FIRST_DAY = date(2024, 6, 4)
DAYS = 10
FILES_A_DAY = 4
ENDS_WITHIN_SECONDS = 120.0
COMPARED = ["day", "requests", "bytes", "hits", "cacheable", "hit_ratio", "errors", "p50", "p95", "p99"]


def file_of(lines: Iterable[str]) -> bytes:
    """A file of CloudFront with these lines."""
    import generate

    head = ["#Version: 1.0", "#Fields: " + " ".join(generate.FIELDS)]
    return "\n".join([*head, *lines, ""]).encode()


def packed(lines: Iterable[str]) -> bytes:
    """The same, as CloudFront delivers it."""
    return gzip.compress(file_of(lines), 1)


def lines_of(requests: int, seed: int) -> list[str]:
    """The lines of so many requests of the first day."""
    import generate

    records = generate.records(FIRST_DAY, generate.Settings(requests, seed))
    return ["\t".join(map(record.get, generate.FIELDS)) for record in records]


def project(root: Path) -> Path:
    """The example, with tables that are refreshed when something arrives."""
    made = common.copy_example("cdn-logs", root)
    silver = made / "tables/silver/requests.yaml"
    kept = [line for line in silver.read_text().splitlines(True) if not line.startswith("schedule:")]
    silver.write_text("".join(kept))
    return made


def counted(root: Path) -> int:
    """The requests in the present version of the export, 0 before the first."""
    folder = root / "exports/gold/days"
    with suppress(FileNotFoundError):
        manifest = json.loads((folder / "manifest.json").read_text())
        rows = (row for each in manifest["files"] for row in csv.DictReader((folder / each["path"]).open()))
        return sum(int(row["requests"]) for row in rows)
    return 0


@contextmanager
def kept_up(root: Path) -> Iterator[None]:
    """``lakesmith up`` on the project, until the end of the block."""
    with (root / "up.log").open("wb") as log:
        process = subprocess.Popen(
            [*LAKESMITH, "up", "--every", "2"],
            cwd=root, stdout=log, stderr=log, env=common.environment(),
        )  # fmt: skip
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)


def arrivals(root: Path, lines: int, files_an_hour: float, seconds: float) -> list[float]:
    """Seconds from each file's arrival to its insight, after two files that are not counted.

    Raises BenchmarkError if a request is not counted in time, or counted twice.
    """
    project(root)
    pause = 3600 / files_an_hour
    number = int(seconds / pause)
    files = [packed(lines_of(lines, seed)) for seed in range(number + 2)]
    arrived: list[float] = []
    insights: list[float] = []

    def watch(until: float) -> None:
        while time.time() < until and len(insights) < len(arrived):
            whole, rest = divmod(counted(root), lines)
            if rest or whole > len(arrived):
                raise common.BenchmarkError(f"the export counts {whole * lines + rest} requests")
            insights.extend(time.time() for _ in range(whole - len(insights)))
            time.sleep(0.1)
        time.sleep(max(0.0, until - time.time()))

    def deliver(content: bytes) -> None:
        hidden = root / "landing/.file"
        hidden.write_bytes(content)
        arrived.append(time.time())
        hidden.rename(root / f"landing/logs/E1.{FIRST_DAY}-00.{len(arrived):08}.gz")

    with kept_up(root):
        for content in files[:2]:
            deliver(content)
            until = time.time() + ENDS_WITHIN_SECONDS
            while len(insights) < len(arrived) and time.time() < until:
                watch(time.time() + 0.5)
        for content in files[2:]:
            due = time.time() + pause
            deliver(content)
            watch(due)
        until = time.time() + ENDS_WITHIN_SECONDS
        while len(insights) < len(arrived) and time.time() < until:
            watch(time.time() + 0.5)
    if len(insights) < len(arrived):
        tail = (root / "up.log").read_text(errors="replace")[-2000:]
        raise common.BenchmarkError(f"{len(arrived) - len(insights)} files are not in the export\n{tail}")
    return [there - since for since, there in zip(arrived[2:], insights[2:], strict=True)]


def lines_by_day(lines: int) -> Iterator[tuple[date, list[str]]]:
    """So many lines of ten days. Days differ in date and ids alone."""
    base = lines_of(lines // DAYS, seed=7)
    for number in range(DAYS):
        day = FIRST_DAY + timedelta(days=number)
        yield (
            day,
            [line.replace(f"{FIRST_DAY}", f"{day}", 1).replace("==\t", f"-{number}==\t", 1) for line in base],
        )


def write_days(folder: Path, lines: int) -> int:
    """Writes so many lines of ten days; returns the bytes of the files."""
    written = 0
    for number, (day, of_day) in enumerate(lines_by_day(lines)):
        for part in range(FILES_A_DAY):
            content = packed(of_day[part::FILES_A_DAY])
            (folder / f"E1.{day}-{part:02}.{number:08}.gz").write_bytes(content)
            written += len(content)
    return written


def from_nothing(work: Path, lines: int, rounds: int) -> common.Comparison:
    """``lakesmith run`` beside DuckDB on the same files, in turns. Raises BenchmarkError if days differ."""
    root = project(work / "from-nothing")
    size = write_days(root / "landing/logs", lines)
    script = common.PEERS / "duckdb_logs.py"
    peer = [sys.executable, str(script), str(root / "landing/logs/*.gz"), str(work / "days.json")]

    def ours() -> float:
        shutil.rmtree(root / ".lakesmith", ignore_errors=True)
        shutil.rmtree(root / "exports", ignore_errors=True)
        return common.timed(common.lakesmith("run"), root)

    times = common.take_turns([ours, lambda: common.timed(peer, work)], rounds)
    days = common.jdbc_table(root, "gold", "days")
    found = [[str(value) for value in row] for row in common.sorted_rows(days, COMPARED)]
    theirs = json.loads((work / "days.json").read_text())
    if found != theirs:
        raise common.BenchmarkError(f"the days differ:\n{found[:2]}\n{theirs[:2]}")
    return common.Comparison(f"{lines:,} lines, {size // 10**6} MB of gzip", *times)


def main() -> None:
    """The command line."""
    parser = common.arguments("From the arrival of log files to the export of their day.")
    parser.add_argument("--only", choices=("arrivals", "from-nothing"))
    parser.add_argument("--files-an-hour", type=float, default=200)
    parser.add_argument("--lines", type=int, default=5_000, help="of a file that arrives")
    parser.add_argument("--seconds", type=float, help="how long files arrive")
    options = parser.parse_args()
    with common.workspace(options) as work:
        if options.only != "from-nothing":
            _arrivals(work, options)
        if options.only != "arrivals":
            lines = 50_000 if options.small else 1_000_000
            comparison = from_nothing(work, lines, options.rounds or 1)
            facts = {"load": round(os.getloadavg()[0], 1)}
            common.show(
                common.Outcome("logs from nothing", (comparison,), facts, theirs="DuckDB"), options.json
            )


def _arrivals(work: Path, options: argparse.Namespace) -> None:
    seconds = options.seconds or (60 if options.small else 180)
    waited = arrivals(work / "arrivals", options.lines, options.files_an_hour, seconds)
    print(
        f"{len(waited)} files of {options.lines:,} lines, {options.files_an_hour:g} an hour, from arrival to"
        f" export: median {statistics.median(waited):.1f} s, p90 {percentile(waited, 0.9):.1f} s, longest"
        f" {max(waited):.1f} s (load {os.getloadavg()[0]:.1f})"
    )


if __name__ == "__main__":
    main()
