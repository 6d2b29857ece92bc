"""A project under ``up``: events are posted, processes are killed, every acknowledged event is there once."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from read_elsewhere import catalog_of

from server_process import free_port

FILES = {
    "lakesmith.yaml": "name: shop\ntargets: {local: {}}\n",
    "tables/bronze/sales_raw.yaml": "source:\n  http: {path: /sales, tokens: [SALES_TOKEN]}\n"
    "columns: {price: 'decimal(10,2)', sale_time: timestamp, product_id: {type: bigint, required: true}}\n",
    "tables/silver/sales.sql": "SELECT product_id, price, sale_time FROM bronze.sales_raw",
    "tables/gold/by_minute.sql": "SELECT window(sale_time, '1 minute').start AS window_start, sum(price) AS"
    " total, count(*) AS sales"
    " FROM silver.sales GROUP BY window(sale_time, '1 minute')",
}
TOKEN = "till-7-secret"
MAIN = "from lakesmith.cli.main import main; main()"
PATIENCE = 180.0


class Kept:
    """A project that ``lakesmith up`` keeps, and what was acknowledged."""

    def __init__(self, root: Path, *more: str) -> None:
        """``more``: options of ``up``."""
        self.root, self.more = root, more
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        self.port = free_port()
        self.acknowledged: Counter[int] = Counter()
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def up(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", MAIN, "up", "--port", str(self.port), "--every", "2", *self.more]
        log = (self.root / "up.log").open("a")
        self.process = subprocess.Popen(
            command,
            cwd=self.root,
            env={**os.environ, "SALES_TOKEN": TOKEN},
            stdout=log,
            stderr=log,
            text=True,
        )
        wait_until(lambda: self.get("/ready") == 200, "the intake is ready", self)
        return self.process

    def get(self, path: str) -> int | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return int(answer.status)
        except (OSError, urllib.error.URLError):
            return None

    def post(self, body: bytes, key: str = "", token: str = TOKEN) -> tuple[int, Any]:
        """The status and the answer; 0 where there was none."""
        headers = {"Authorization": f"Bearer {token}", **({"Idempotency-Key": key} if key else {})}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/sales", body, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return int(answer.status), json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)
        except OSError:
            return 0, None

    def sell(self, *products: int) -> None:
        """Posts a sale of each, with a key, until it is acknowledged."""
        events = [
            {"price": 1.5, "sale_time": "2026-11-23T10:15:00Z", "product_id": each} for each in products
        ]
        end = time.monotonic() + PATIENCE
        while self.post(json.dumps(events).encode(), key=f"sale-{products}")[0] != 202:
            assert time.monotonic() < end, (self.root / "up.log").read_text()[-3000:]
            time.sleep(0.2)
        self.acknowledged.update(products)

    def intake(self) -> int:
        return self._child("-f", "lakesmith.serve.server")

    def jvm(self) -> int:
        return self._child("-x", "java")

    def log(self) -> str:
        return (self.root / "up.log").read_text()

    def doing(self) -> str:
        try:
            return str(json.loads((self.root / ".lakesmith/up.json").read_text())["doing"])
        except OSError:
            return ""

    def status(self) -> Any:
        command = [sys.executable, "-c", MAIN, "status", "--json"]
        said = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=True)
        return json.loads(said.stdout)

    def _child(self, *which: str) -> int:
        assert self.process is not None
        command = ["pgrep", "-P", str(self.process.pid), *which]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        return int(found.stdout.split()[0])

    def rows(self, table: str) -> list[dict[str, Any]]:
        return list(catalog_of(self.root).load_table(table).scan().to_arrow().to_pylist())

    def is_complete(self) -> bool:
        try:
            rows = self.rows("gold.by_minute")
        except Exception:  # noqa: BLE001 - the table may not be there yet
            return False
        return sum(row["sales"] for row in rows) == self.acknowledged.total()

    def end(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


def wait_until(is_so: Callable[[], bool], what: str, kept: Kept) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert kept.process is None or kept.process.poll() is None, (kept.root / "up.log").read_text()[-3000:]
        assert time.monotonic() < end, (
            f"{what}: not after {PATIENCE} s\n" + (kept.root / "up.log").read_text()[-3000:]
        )
        time.sleep(0.2)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    with Kept(tmp_path / "shop") as kept:
        yield kept


def test_what_is_acknowledged_is_in_the_lake_once_whatever_is_killed(kept: Kept) -> None:
    kept.up()
    kept.sell(1)
    wait_until(kept.is_complete, "a sale reaches gold", kept)

    assert kept.post(b'{"product_id": 1}', token="wrong")[0] == 401
    status, answer = kept.post(b'[{"product_id": 1}, {"product_id": "x", "colour": 1}, {}]')
    assert status == 400
    assert {(each["event"], each["column"]) for each in answer["reasons"]} == {
        (1, "colour"), (1, "product_id"), (2, "product_id")
    }  # fmt: skip
    assert kept.post(b'{"product_id": 1', key="k")[0] == 400

    for number in range(10, 20):
        kept.sell(number, number + 100)
    os.kill(kept.intake(), signal.SIGKILL)
    for number in range(20, 30):
        kept.sell(number)
    assert kept.process is not None
    kept.process.kill()
    kept.process.wait()
    kept.up()
    kept.sell(1)  # its key is known from before
    kept.acknowledged[1] -= 1
    kept.sell(30, 31, 32)
    wait_until(kept.is_complete, "all sales reach gold", kept)

    assert kept.end() == 0
    bronze = Counter(row["product_id"] for row in kept.rows("bronze.sales_raw"))
    assert bronze == kept.acknowledged
    assert Counter(row["product_id"] for row in kept.rows("silver.sales")) == kept.acknowledged
    assert list((kept.root / ".lakesmith/intake").rglob("*.jsonl")) == []
    assert TOKEN not in (kept.root / "up.log").read_text()


@pytest.mark.release
def test_a_jvm_that_was_killed_is_replaced_and_a_table_that_fails_holds_up_no_other(kept: Kept) -> None:
    broken = "SELECT product_id, CAST(raise_error('never right') AS STRING) AS wrong FROM silver.sales"
    (kept.root / "tables/gold/broken.sql").write_text(broken)
    kept.up()
    kept.sell(1)
    wait_until(kept.is_complete, "a sale reaches gold beside a table that fails", kept)
    wait_until(lambda: "gold.broken failed" in kept.log(), "the failure is told", kept)

    os.kill(kept.jvm(), signal.SIGKILL)
    kept.sell(2, 3)
    wait_until(kept.is_complete, "sales reach gold by another JVM", kept)
    assert "Spark's process" in kept.log()

    (kept.root / "tables/gold/broken.sql").write_text("SELECT product_id FROM silver.sales")
    wait_until(lambda: "gold.broken:" in kept.log(), "a table that was mended is tried", kept)
    mended = lambda: kept.status()["up"]["tables"]["gold.broken"]["failures"] == 0  # noqa: E731
    wait_until(mended, "status knows it", kept)
    assert kept.status()["up"]["is_alive"] is True
    assert kept.end() == 0
    assert not (kept.root / ".lakesmith/up.json").exists()


@pytest.mark.release
def test_a_second_signal_gives_up_the_batch_under_way(kept: Kept) -> None:
    # Each row takes long on its own, so that the batch cannot end meanwhile.
    slow = "import time\n\nfrom pyspark.sql import functions as F\n\n\ndef slow(silver__sales):\n"
    slow += "    wait = F.udf(lambda _: time.sleep(300), 'string')\n"
    slow += "    return silver__sales.select('product_id', wait('product_id').alias('waited'))\n"
    (kept.root / "tables/gold/slow.py").write_text(slow)
    process = kept.up()
    kept.sell(1)
    wait_until(lambda: "refreshing gold.slow" in kept.doing(), "the slow batch begins", kept)
    wait_until(lambda: "  silver.sales: " in kept.log(), "a table's line is there when its batch is", kept)

    # An intake that is killed meanwhile does not wait for the batch: it is replaced, and what is sent waits
    # for it.
    before = kept.intake()
    os.kill(before, signal.SIGKILL)
    kept.sell(2)
    assert kept.intake() != before
    assert "the intake ended (SIGKILL)" in kept.log()
    assert "refreshing gold.slow" in kept.doing()

    process.send_signal(signal.SIGTERM)
    time.sleep(1)
    assert process.poll() is None, "the batch is waited for"
    process.send_signal(signal.SIGTERM)

    assert process.wait(PATIENCE) == 130
    assert "was abandoned" in kept.log()
    assert "Traceback" not in kept.log()
    assert kept.status()["up"] is None, "it did not end without a word"
    kept.up()
    wait_until(lambda: "refreshing gold.slow" in kept.doing(), "the slow batch begins again", kept)
    assert Counter(row["product_id"] for row in kept.rows("silver.sales")) == kept.acknowledged
