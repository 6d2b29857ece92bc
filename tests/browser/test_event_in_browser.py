"""The page of events as a person meets it: a sample is edited, followed, kept, refused; keys, themes, axe."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from page_server import PICTURES, Open, Served, served

WAIT = 120_000
"""Milliseconds that the first event may take: it starts Spark."""
HEAD = "customer_id,name,email,city,processed_time\n"
HOSTILE = '<script>document.title="taken"</script>'


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Served]:
    """The page of the example customer-orders after a run, which may change the project."""
    root = tmp_path_factory.mktemp("event") / "shop"
    example = Path(__file__).parents[2] / "examples/customer-orders"
    shutil.copytree(example, root, ignore=shutil.ignore_patterns(".lakesmith"))
    for each in sorted((root / "arrivals").iterdir()):
        shutil.copy(each, root / "landing/orders")
    call = "from lakesmith.cli.main import main; main()"
    run = [sys.executable, "-c", call, "run", "--project", str(root)]
    subprocess.run(run, check=True, capture_output=True, timeout=180)
    with served(root, may_change=True) as found:
        yield found


def _picture(page: Any, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"event-{name}.png", full_page=True)


def _follow(page: Any, text: str) -> None:
    page.fill("#text", text)
    page.press("#text", "Control+Enter")
    page.wait_for_selector("#run:disabled")
    page.wait_for_selector("#run:not(:disabled)", timeout=WAIT)


def _stop(page: Any, table: str) -> Any:
    return page.locator(f"li.stop:has(h2 a:text-is('{table}'))")


def test_a_record_of_the_newest_file_is_edited_and_followed(orders: Served, opened: Open) -> None:
    page = opened(orders, "/event")
    assert page.input_value("#text").startswith(HEAD + "1001,Johnny,john.carter@example.com,Boston")
    _picture(page, "begin")
    _follow(page, f"{HEAD}1001,Johnny,john.carter@example.com,Oslo,2031-01-01 00:00:00\n")
    stop = _stop(page, "silver.customers")
    assert "replaced" in stop.locator(".outcome").inner_text(), page.inner_text("#answer")
    assert stop.locator("mark").all_inner_texts() == ["Oslo", "2031-01-01T00:00:00Z"]
    assert stop.locator("tr.before td.moved").first.inner_text() == "Boston"
    group = _stop(page, "gold.customers_by_city_month")
    assert group.locator("tbody tr.after.inserted td").first.inner_text() == "Oslo"
    assert group.locator("tbody tr.before td").first.inner_text() == "Boston"
    assert page.evaluate("document.activeElement.id") == "answer"
    _picture(page, "replaced")


def test_what_is_late_and_what_is_wrong_is_said_beside_its_reason(orders: Served, opened: Open) -> None:
    page = opened(orders, "/event")
    _follow(page, f"{HEAD}1001,J,john.carter@example.com,Rome,2001-01-01 00:00:00\n")
    stop = _stop(page, "silver.customers")
    assert "superseded" in stop.locator(".outcome").inner_text()
    assert [each.split("\t")[0] for each in stop.locator("tbody tr").all_inner_texts()] == [
        "arrived",
        "stays",
    ]
    _follow(page, f"{HEAD}1,{HOSTILE},no address,Rome,2024-01-01 00:00:00\nx,a,a@b.c,R,2024-01-01 00:00:00\n")
    assert "quarantined" in _stop(page, "bronze.orders").inner_text()
    assert "<script>document.title" in _stop(page, "silver.customers").inner_text()
    assert page.title().startswith("Event")
    _picture(page, "bad")
    _follow(page, "no,header\n1,2\n")
    assert "failed" in _stop(page, "bronze.orders").inner_text()
    assert "not reached" in _stop(page, "silver.customers").inner_text()


def test_an_event_is_kept_beside_the_project(orders: Served, opened: Open) -> None:
    page = opened(orders, "/event")
    page.fill("#text", f"{HEAD}7,Kept,kept@example.com,Oslo,2024-06-01 00:00:00\n")
    page.fill("#name", "kept-one")
    page.click("text=Keep >> nth=-1")
    page.wait_for_url("**/event?table=bronze.orders&sample=kept-one")
    assert "7,Kept" in page.input_value("#text")
    assert "kept-one" in page.inner_text(".samples [aria-current]")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_a_trace(orders: Served, opened: Open, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = opened(orders, "/event", scheme, bypass_csp=True)
    line = "1001,Johnny,john.carter@example.com,Oslo,2031-01-01 00:00:00\n"
    _follow(page, f"{HEAD}{line}5,Bad,no address,Oslo,2024-01-01 00:00:00\n")
    found = axe.run(page).response["violations"]
    assert [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in found] == []
    _picture(page, scheme)


def test_a_narrow_screen_is_enough_without_any_script(orders: Served, opened: Open) -> None:
    page = opened(orders, "/event", width=390, java_script_enabled=False, reduced_motion="reduce")
    page.set_default_timeout(WAIT)
    page.click("#run")
    page.wait_for_selector("ol.stops")
    box = page.locator("main").bounding_box()
    assert box["width"] <= 390
    _picture(page, "narrow")
