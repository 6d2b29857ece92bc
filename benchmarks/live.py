"""How long a sale takes from the till to silver, at a steady rate, with everything on one machine.

    python benchmarks/live.py --rate 1000 --seconds 60

``lakesmith up`` keeps a project of three tables, ``lakesmith send`` posts to it. Each row of silver has the
time when its event was made, and the number of the batch that it came to bronze with; silver's records say up
to which batch it was published, and when. At the end all that was acknowledged has to be in bronze and
silver, once. Beside it, on the same machine and after it, runs a Spark Structured Streaming job as one would
write it by hand (``by_hand``): the same events come as a file of JSON lines each half a second, so it has no
server to feed; each micro-batch appends to bronze and silver and merges the windows it touches into gold.
What counts is the ratio of the two.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from bisect import bisect_left
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
    "tables/silver/sales.sql": "SELECT product_id, price, sale_time, _batch AS batch FROM bronze.sales_raw",
    "tables/gold/_defaults.yaml": "schedule: {every: 5s}\n",
    "tables/gold/by_minute.sql": "SELECT window(sale_time, '1 minute').start AS window_start, sum(price) AS "
    "total, count(*) AS sales"
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


def by_hand(root: Path, rate: float, seconds: float) -> list[float]:
    """The latencies of a streaming job over the same events, after a quarter of a minute that is not
    counted.
    """
    landing = root / "landing"
    landing.mkdir(parents=True)
    job = subprocess.Popen(
        [sys.executable, str(Path(__file__).resolve()), "--job", str(root)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert job.stdout is not None
    if "ready" not in job.stdout.readline():
        raise SystemExit("the streaming job did not start")
    chance = random.Random(7)
    sent, begun = 0, time.time()
    since = datetime.fromtimestamp(begun + 15, UTC)
    while time.time() < begun + 15 + seconds:
        time.sleep(0.5)
        lines = []
        while sent < (time.time() - begun) * rate:
            at = datetime.fromtimestamp(begun + sent / rate, UTC).isoformat()
            event = {
                "price": chance.randrange(1, 5000) / 100,
                "sale_time": at,
                "product_id": chance.randrange(50),
            }
            lines.append(json.dumps(event))
            sent += 1
        beside = landing / f".{sent}.tmp"
        beside.write_text("\n".join(lines))
        beside.rename(landing / f"{sent:09}.json")
    until = time.monotonic() + 60
    while rows(root, "silver.sales") < sent and time.monotonic() < until:
        time.sleep(0.5)
    job.terminate()
    job.wait(60)
    return latencies_by_hand(root, since)


def job(root: Path) -> None:
    """The streaming job, until it is ended."""
    from pyspark.sql import DataFrame

    from lakesmith.catalog.local import LocalCatalog
    from lakesmith.spark.start.session import SessionSettings, local_catalog_conf, start_session

    (root / ".lakesmith").mkdir()
    catalog = LocalCatalog(root / ".lakesmith/catalog.db", root / ".lakesmith/warehouse")
    conf = local_catalog_conf(catalog.prepared(), catalog.warehouse)
    spark = start_session(SessionSettings(conf, root / "spark.log", little=True)).result().spark
    columns = "price decimal(10,2), sale_time timestamp, product_id bigint"
    for layer in ("bronze", "silver", "gold"):
        spark.sql(f"CREATE NAMESPACE lake.{layer}")
    spark.sql(f"CREATE TABLE lake.bronze.sales_raw ({columns}, batch bigint) USING iceberg")
    spark.sql(f"CREATE TABLE lake.silver.sales ({columns}) USING iceberg")
    gold = "window_start timestamp, total decimal(20,2), sales bigint"
    spark.sql(
        f"CREATE TABLE lake.gold.by_minute ({gold}) USING iceberg TBLPROPERTIES ('format-version' = '2')"
    )

    def take(batch: DataFrame, number: int) -> None:
        batch = batch.persist()
        batch.selectExpr("*", f"{number}L AS batch").writeTo("lake.bronze.sales_raw").append()
        batch.writeTo("lake.silver.sales").append()
        batch.createOrReplaceTempView("batch")
        batch.sparkSession.sql(
            "MERGE INTO lake.gold.by_minute t USING (SELECT window(sale_time, '1 minute').start AS "
            "window_start, sum(price) AS total,"
            " count(*) AS sales FROM batch GROUP BY window(sale_time, '1 minute')) s ON t.window_start = "
            "s.window_start"
            " WHEN MATCHED THEN UPDATE SET total = t.total + s.total, sales = t.sales + s.sales WHEN NOT "
            "MATCHED THEN INSERT *"
        )
        batch.unpersist()

    stream = spark.readStream.schema(columns).json(str(root / "landing"))
    query = (
        stream.writeStream.foreachBatch(take).option("checkpointLocation", str(root / "checkpoint")).start()
    )
    print("ready", flush=True)
    query.awaitTermination()


def latencies(
    root: Path, since: datetime, tables: tuple[str, str] = ("bronze.sales_raw", "silver.sales")
) -> list[float]:
    """Seconds from the making of an event to the commit that published it in silver, of each event made after
    ``since``. ``tables``: the one of bronze, and the one of silver.
    """
    bronze, silver = tables
    numbers = {snapshot: record["batch"] for snapshot, _, record in published(root, bronze)}
    read = [(numbers[record["inputs"][bronze]["snapshot"]], at) for _, at, record in published(root, silver)]
    table = catalog(root).load_table(silver)
    rows = table.scan(selected_fields=("sale_time", "batch")).to_arrow()
    upto, times = [number for number, _ in read], [at for _, at in read]
    return [
        (times[bisect_left(upto, batch)] - made).total_seconds()
        for made, batch in zip(rows["sale_time"].to_pylist(), rows["batch"].to_pylist(), strict=True)
        if made >= since
    ]


def latencies_by_hand(root: Path, since: datetime) -> list[float]:
    """The same of the streaming job, which commits once and puts no files together: by the snapshot that
    added a row's file.
    """
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


def published(root: Path, table: str) -> list[tuple[int, datetime, dict[str, Any]]]:
    """The batches of a table, oldest first: the snapshot that published each, when that was, and its
    record.
    """
    snapshots = sorted(
        catalog(root).load_table(table).metadata.snapshots, key=lambda it: it.sequence_number or 0
    )
    return [
        (each.snapshot_id, datetime.fromtimestamp(each.timestamp_ms / 1000, UTC), json.loads(record))
        for each in snapshots
        if each.summary and (record := each.summary.additional_properties.get("lakesmith.record"))
    ]


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
    waited = latencies(root, since)
    return {"events": len(waited), "latencies": waited, "intake": sent}


def rows(root: Path, table: str) -> int:
    snapshot = catalog(root).load_table(table).current_snapshot()
    return int(snapshot.summary["total-records"]) if snapshot and snapshot.summary else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job is not None:
        job(options.job)
        return
    with tempfile.TemporaryDirectory(prefix="live-") as folder:
        root = Path(folder) / "live"
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = measure(root, options.rate, options.seconds)
        intake = found["intake"]
        print(f"{found['events']} events at {options.rate:g} a second, from the till to silver:")
        _say("lakesmith", found["latencies"])
        print(
            f"  its intake answered after {intake['latency_ms']['median']} ms, p99 "
            f"{intake['latency_ms']['p99']} ms"
        )
        other = by_hand(Path(folder) / "by-hand", options.rate, options.seconds)
        _say("streaming job by hand", other)
        ratio = statistics.median(found["latencies"]) / statistics.median(other)
        print(f"  ratio of the medians: {ratio:.2f}")


def _say(what: str, waited: list[float]) -> None:
    parts = ", ".join(f"p{part * 100:.0f} {percentile(waited, part):.1f} s" for part in (0.9, 0.99))
    print(f"  {what}: median {statistics.median(waited):.1f} s, {parts}")


if __name__ == "__main__":
    main()
