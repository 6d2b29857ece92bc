"""The page as a person meets it: what it shows, keys, themes, narrow screens, changes, and axe."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from made_lake import MadeLake
from page_server import PICTURES, Open, Served, served

PATHS = ("/", "/t/silver.part_0", "/t/bronze.source_0", "/?focus=gold.result_0&rows=day")


def _picture(page: Any, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PATHS)
def test_axe_finds_nothing(small: Served, opened: Open, path: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    # The policy of the page lets no script in, so axe is given by the tool.
    page = opened(small, path, scheme, bypass_csp=True)
    assert _faults(axe.run(page)) == []
    _picture(page, f"{scheme}-{PATHS.index(path)}")


@pytest.mark.parametrize("path", ["/", "/t/silver.part_0"])
def test_a_narrow_screen_is_enough(small: Served, opened: Open, path: str) -> None:
    page = opened(small, path, width=390, reduced_motion="reduce")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    _picture(page, f"narrow-{path.count('/t/')}")


def test_the_address_loses_the_token_and_the_page_is_live(small: Served, opened: Open) -> None:
    page = opened(small)
    assert "token" not in page.url
    page.wait_for_selector("#live[data-state=live]")
    assert page.inner_text("#live-text") == "live"


def test_the_tables_are_there_without_any_script(small: Served, opened: Open) -> None:
    page = opened(small, java_script_enabled=False)
    page.click("#node-silver\\.part_0")
    assert "silver.part_0" in page.inner_text("h1") and page.url.endswith("/t/silver.part_0")


def test_hostile_rows_do_nothing(small: Served, opened: Open) -> None:
    page = opened(small, "/t/silver.part_0")
    assert page.title().startswith("silver.part_0") and "<script>" in page.inner_text("#bad")


def test_everything_is_reached_by_keys(small: Served, opened: Open) -> None:
    page = opened(small)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("/")
    page.keyboard.type("+silver.part_1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?show=*")
    assert page.locator("a.node").count() == 2
    page.focus("#graph-scroll")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "node-bronze.source_1"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "node-silver.part_1"
    page.keyboard.press("Enter")
    page.wait_for_url("**/t/silver.part_1")
    page.keyboard.press("g")
    page.wait_for_url(small.url + "/")


def test_a_batch_is_shown_as_it_is_published_and_the_focus_stays(tmp_path: Path, opened: Open) -> None:
    lake = MadeLake(tmp_path, 3)
    lake.publish()
    with served(tmp_path) as made:
        page = opened(made)
        page.wait_for_selector("#live[data-state=live]")
        page.focus("#node-silver\\.part_0")
        lake.publish("bronze.source_0", rows=7)
        begun = time.monotonic()
        page.wait_for_selector("#node-bronze\\.source_0:has-text('12 rows')")
        assert time.monotonic() - begun < (5 if os.environ.get("CI") else 2)
        assert page.evaluate("document.activeElement.id") == "node-silver.part_0"
        assert "2 tables are behind: silver.part_0, gold.result_0" in page.inner_text(".findings")
        (tmp_path / "lakesmith.yaml").write_text("name: made\nno: 1\n")
        page.wait_for_selector("text=The project cannot be read")
        (tmp_path / "lakesmith.yaml").write_text("name: made\n")
        page.wait_for_selector("a.node")
        page.goto("about:blank")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/query", "/event", "/activity", "/nothing", "/t/no.table"])
def test_empty_pages_and_errors_are_in_order(empty: Served, opened: Open, path: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = opened(empty, path, scheme, bypass_csp=True)
    assert page.inner_text("main").strip() and _faults(axe.run(page)) == []
    page.context.clear_cookies()
    page.goto(empty.url)
    assert "lakesmith ui --link" in page.inner_text("main") and _faults(axe.run(page)) == []
    assert page.evaluate("getComputedStyle(document.body).maxWidth") == "544px", "its style is let in"


def _faults(found: Any) -> list[tuple[str, list[str]]]:
    return [(each["id"], [node["html"][:120] for node in each["nodes"][:3]])
            for each in found.response["violations"]]  # fmt: skip


def test_a_large_graph_begins_with_a_table_and_its_neighbours(large: Served, opened: Open) -> None:
    page = opened(large, scheme="dark")
    assert 1 <= page.locator("a.node").count() < 60
    _picture(page, "large")
    page.click("text=Draw all 200")
    page.wait_for_selector("#node-gold\\.result_5")
    assert page.locator("a.node").count() == 200
    _picture(page, "large-whole")
