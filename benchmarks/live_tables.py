"""How long events take from the till to silver in a shop of 13 tables, at a steady rate over HTTP.

    python benchmarks/live_tables.py --rate 500 --seconds 60

``lakesmith up`` keeps three streams of events (sales, returns and visits), two tables of files that are idle,
and the tables made from them. The time of an event is that from its making to the commit that published it in
silver: lower is better. At the end every acknowledged event has to be in bronze and in silver, once. It
takes about two minutes: 20 seconds that are not counted, ``--seconds``, and the end. ``--src`` measures
another checkout's ``src``, to compare two in turns under the same load; only the numbers of one machine in
the same minutes are comparable.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from live import LAKESMITH, _wait_for, catalog, latencies, percentile, rows

STREAMS = {"sales": 6, "returns": 2, "visits": 2}
"""Each stream's share of the events, in tenths."""
EVENTS_A_REQUEST = 10
WARM_UP_SECONDS = 20.0

_EVENT = "columns: {price: 'decimal(10,2)', sale_time: timestamp, product_id: bigint, store_id: bigint}\n"
_FILE = "source: {{files: {{path: landing/{0}/, format: csv}}}}\ncolumns: {{id: bigint, name: string}}\n"
_BY_MINUTE = (
    "SELECT window(sale_time, '1 minute').start AS minute, sum(price) AS total, count(*) AS events"
    " FROM silver.{0} GROUP BY window(sale_time, '1 minute')"
)
FILES = {
    "lakesmith.yaml": "name: live\n",
    **{f"tables/bronze/{it}_raw.yaml": f"source: {{http: {{path: /{it}}}}}\n{_EVENT}" for it in STREAMS},
    **{f"tables/bronze/{each}_raw.yaml": _FILE.format(each) for each in ("products", "stores")},
    **{f"tables/silver/{it}.sql": f"SELECT id, name FROM bronze.{it}_raw" for it in ("products", "stores")},
    "tables/silver/products.yaml": "key: [id]\n",
    "tables/silver/sales.yaml": "lookups:\n  silver.products: {as_of: arrival}\n",
    "tables/silver/sales.sql": "SELECT s.product_id, s.store_id, p.name AS product, s.price, s.sale_time,"
    " s._batch AS batch FROM bronze.sales_raw AS s LEFT JOIN silver.products AS p ON p.id = s.product_id",
    **{
        f"tables/silver/{each}.sql": "SELECT product_id, store_id, price, sale_time, _batch AS batch"
        f" FROM bronze.{each}_raw"
        for each in ("returns", "visits")
    },
    **{f"tables/gold/{each}_by_minute.sql": _BY_MINUTE.format(each) for each in ("sales", "returns")},
    "tables/gold/sales_by_product.sql": "SELECT product, sum(price) AS total, count(*) AS events"
    " FROM silver.sales GROUP BY product",
    **{f"landing/{each}/1.csv": "id,name\n" + "".join(f"{n},{each} {n}\n" for n in range(50))
       for each in ("products", "stores")},
}  # fmt: skip


class Till:
    """Posts events of one stream at a rate until ``seconds`` have passed. ``sent``: acknowledged events."""

    def __init__(self, port: int, stream: str, rate: float, seconds: float) -> None:
        self.sent = 0
        self._port, self._path, self._rate, self._seconds = port, f"/{stream}", rate, seconds
        self._chance = random.Random(stream)
        self.thread = threading.Thread(target=self._post, name=stream, daemon=True)
        self.thread.start()

    def _post(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)
        begun = time.monotonic()
        while (passed := time.monotonic() - begun) < self._seconds:
            if self.sent > passed * self._rate:
                time.sleep(0.005)
                continue
            body = "\n".join(self._event() for _ in range(EVENTS_A_REQUEST))
            connection.request("POST", self._path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            if answer.status != 202:
                raise SystemExit(f"{self._path} answered {answer.status}: {answer.read()!r}")
            answer.read()
            self.sent += EVENTS_A_REQUEST

    def _event(self) -> str:
        chance = self._chance
        event = {
            "price": chance.randrange(1, 5000) / 100,
            "sale_time": datetime.now(UTC).isoformat(),
            "product_id": chance.randrange(50),
            "store_id": chance.randrange(9),
        }
        return json.dumps(event)


def measure(root: Path, rate: float, seconds: float, environment: dict[str, str]) -> dict[str, list[float]]:
    """Returns the seconds from the till to silver of each stream's events. Raises SystemExit if an event is
    missing or is there twice."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (root / "up.log").open("wb") as log:
        up = subprocess.Popen(
            [*LAKESMITH, "up", "--port", str(port)], cwd=root, stdout=log, stderr=log, env=environment
        )
    try:
        _wait_for(port)
        begun = datetime.now(UTC)
        tills = {
            each: Till(port, each, rate * part / 10, seconds + WARM_UP_SECONDS)
            for each, part in STREAMS.items()
        }
        for till in tills.values():
            till.thread.join()
        _await_all(root, {each: till.sent for each, till in tills.items()})
    finally:
        up.send_signal(signal.SIGTERM)
        up.wait(120)
    since = begun + timedelta(seconds=WARM_UP_SECONDS)
    return {each: latencies(root, since, (f"bronze.{each}_raw", f"silver.{each}")) for each in STREAMS}


def _await_all(root: Path, sent: dict[str, int]) -> None:
    until = time.monotonic() + 60
    tables = {f"{layer}.{each}{end}": n for each, n in sent.items()
              for layer, end in (("bronze", "_raw"), ("silver", ""))}  # fmt: skip
    while (found := {name: rows(root, name) for name in tables}) != tables:
        if time.monotonic() > until:
            raise SystemExit(f"acknowledged events and rows differ: {tables} and {found}\n{_log(root)}")
        time.sleep(0.5)


def _log(root: Path) -> str:
    return (root / "up.log").read_text()[-2000:]


def publishes(root: Path) -> dict[str, int]:
    """Returns how many snapshots each table has."""
    lake = catalog(root)
    names = [".".join(name) for layer in ("bronze", "silver", "gold") for name in lake.list_tables(layer)]
    return {name: len(lake.load_table(name).metadata.snapshots) for name in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=500, help="events a second, over all streams")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--src", type=Path, help="the src folder of the checkout to measure")
    parser.add_argument("--keep", type=Path, help="work in this new folder and keep it")
    options = parser.parse_args()
    environment = {**os.environ, **({"PYTHONPATH": str(options.src)} if options.src else {})}
    with tempfile.TemporaryDirectory(prefix="live-") as folder:
        root = options.keep or Path(folder) / "live"
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = measure(root, options.rate, options.seconds, environment)
        load = os.getloadavg()[0]
        for name, waited in {**found, "all": [each for some in found.values() for each in some]}.items():
            print(
                f"{name}: {len(waited)} events, till to silver median {statistics.median(waited):.1f} s,"
                f" p90 {percentile(waited, 0.9):.1f}, p99 {percentile(waited, 0.99):.1f}"
            )
        print(f"load of the machine {load:.1f}; snapshots: {publishes(root)}")


if __name__ == "__main__":
    main()
