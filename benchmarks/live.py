"""How long a sale takes from the till to silver, at a steady rate, with everything on one machine.

    python benchmarks/live.py --rate 1000 --seconds 60

``lakesmith up`` keeps a project of three tables, ``lakesmith send`` posts to it. Each row of silver has the time when its event was made; the
snapshot that brought it has the time when it was committed. At the end all that was acknowledged has to be in bronze and silver, once.
Beside it, on the same machine and by turns, ``--by-hand`` runs a Spark Structured Streaming job over files, as one would write it: its latency is the
ratio to compare.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog

FILES = {
    "lakesmith.yaml": "name: live\n",
    "tables/bronze/sales_raw.yaml": "source: {http: {path: /sales}}\n"
    "columns: {price: 'decimal(10,2)', sale_time: timestamp, product_id: bigint}\n",
    "tables/silver/sales.sql": "SELECT product_id, price, sale_time FROM bronze.sales_raw",
    "tables/gold/by_minute.sql": "SELECT window(sale_time, '1 minute').start AS window_start, sum(price) AS total, count(*) AS sales"
    " FROM silver.sales GROUP BY window(sale_time, '1 minute')",
}
LAKESMITH = [sys.executable, "-c", "from lakesmith.cli.main import main; main()"]


@contextmanager
def kept(root: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """``lakesmith up`` on the project, until the end of the block."""
    with (root / "up.log").open("wb") as log:
        process = subprocess.Popen([*LAKESMITH, "up", "--port", str(port)], cwd=root, stdout=log, stderr=log)
        try:
            _wait_for(port)
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(120)


def _wait_for(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=2):
            return
        time.sleep(0.1)
    raise SystemExit("the intake did not come up")


def latencies(root: Path, since: datetime) -> list[float]:
    """Seconds from the making of an event to the commit that brought it to silver, of each event made after ``since``."""
    table = catalog(root).load_table("silver.sales")
    found: list[float] = []
    for snapshot in table.metadata.snapshots:
        added = [
            entry.data_file.file_path
            for manifest in snapshot.manifests(table.io)
            if manifest.added_snapshot_id == snapshot.snapshot_id
            for entry in manifest.fetch_manifest_entry(table.io)
            if entry.snapshot_id == snapshot.snapshot_id
        ]
        committed = datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC)
        for path in added:
            made = pq.read_table(path.removeprefix("file:"), columns=["sale_time"]).column(0).to_pylist()
            found += [(committed - at).total_seconds() for at in made if at >= since]
    return found


def catalog(root: Path) -> SqlCatalog:
    return SqlCatalog(
        "lake", uri=f"sqlite:///{root}/.lakesmith/catalog.db", warehouse=f"file://{root}/.lakesmith/warehouse"
    )


def percentile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def measure(root: Path, rate: float, seconds: float) -> dict[str, Any]:
    """One measurement, after a quarter of a minute that is not counted."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    send = [*LAKESMITH, "send", "--url", f"http://127.0.0.1:{port}", "--rate", str(rate), "--json"]
    with kept(root, port):
        subprocess.run([*send, "--seconds", "15", "--check"], cwd=root, check=True, capture_output=True)
        since = datetime.now(UTC)
        done = subprocess.run(
            [*send, "--seconds", str(seconds), "--check"],
            cwd=root,
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise SystemExit(f"not all that was acknowledged is in the lake:\n{done.stdout}{done.stderr}")
        sent = json.loads(done.stdout)
        until = time.monotonic() + 60
        while rows(root, "silver.sales") < rows(root, "bronze.sales_raw"):
            if time.monotonic() > until:
                raise SystemExit("silver has not what bronze has")
            time.sleep(0.5)
        cpu = os.times()
    waited = latencies(root, since)
    return {
        "events": len(waited),
        "median": statistics.median(waited),
        "p90": percentile(waited, 0.9),
        "p99": percentile(waited, 0.99),
        "intake": sent,
        "children_cpu": cpu.children_user + cpu.children_system,
    }


def rows(root: Path, table: str) -> int:
    snapshot = catalog(root).load_table(table).current_snapshot()
    return int(snapshot.summary["total-records"]) if snapshot and snapshot.summary else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="live-") as folder:
        root = Path(folder) / "live"
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = measure(root, options.rate, options.seconds)
        print(f"{found['events']} events at {options.rate:g} a second, from the till to silver:")
        print(f"  median {found['median']:.1f} s, p90 {found['p90']:.1f} s, p99 {found['p99']:.1f} s")
        print(f"  intake: {found['intake']}")
        print((root / "up.log").read_text()[-1500:])


if __name__ == "__main__":
    main()
