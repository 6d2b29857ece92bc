"""The page of queries as a person meets it: suggestions, keys, results, charts, files, errors, and axe."""

import csv
from pathlib import Path
from typing import Any

import pytest

from made_lake import HOSTILE
from page_server import PICTURES, Open, Served

WAIT = 90_000
"""Milliseconds that the first query may take: it starts Spark."""
CITIES = """SELECT city, count(*) AS orders, round(sum(amount), 2) AS amount
FROM (
  SELECT
    elt(1 + CAST(pow(id * 7919 % 97, 2) % 6 AS int), 'Oslo', 'Bergen', 'Tromsø', 'Ålesund', 'Bodø', 'Moss')
      AS city,
    CAST(id * 37 % 211 AS decimal(9, 2)) + 0.25 AS amount
  FROM range(400)
)
GROUP BY city
ORDER BY amount DESC"""
DAYS = """SELECT date'2026-01-01' + CAST(id AS int) AS day,
  120 + round(40 * sin(id / 9)) + id * 13 % 29 AS orders
FROM range(90)"""


def _picture(page: Any, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"query-{name}.png", full_page=True)


def _run(page: Any, sql: str, part: str = "table.result") -> None:
    page.fill("#sql", sql)
    page.evaluate("document.getElementById('answer').dataset.old = 1")
    page.press("#sql", "Control+Enter")
    page.wait_for_selector("#answer:not([data-old])", timeout=WAIT)
    page.wait_for_selector(part)
    page.wait_for_selector("#run:not(:disabled)")


def test_a_query_is_typed_with_suggestions_and_run_by_keys(small: Served, opened: Open) -> None:
    page = opened(small, "/query")
    assert page.evaluate("document.activeElement.id") == "sql"
    page.keyboard.type("SELECT g/g.")
    assert page.url.endswith("/query"), "the keys of other pages are letters here"
    page.keyboard.press("Control+a")
    page.keyboard.type("sel")
    page.keyboard.press("Tab")
    page.keyboard.type(" * FROM part_0")
    assert page.inner_text("#suggest [aria-selected=true]").startswith("silver.part_0")
    _picture(page, "suggestions")
    page.keyboard.press("Tab")
    assert page.input_value("#sql") == "SELECT * FROM silver.part_0"
    page.keyboard.type(" p WHERE p.")
    assert page.locator("#suggest li").all_inner_texts() == ["id bigint"]
    page.keyboard.press("Enter")
    page.keyboard.type(" < 3 ORDER BY ")
    page.keyboard.press("Control+ ")
    assert page.get_attribute("#sql", "aria-activedescendant") == "suggest-0"
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#sql", "aria-activedescendant") == "suggest-1"
    page.keyboard.press("Escape")
    assert not page.is_visible("#suggest") and page.evaluate("document.activeElement.id") == "sql"
    page.keyboard.type("id")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("table.result", timeout=WAIT)
    assert page.locator("table.result tbody tr").all_inner_texts() == ["0", "1", "2"]
    assert "sql=SELECT" in page.url
    page.reload()
    assert page.input_value("#sql").startswith("SELECT * FROM silver.part_0 p")
    assert page.locator("table.result").count() == 0, "an address runs nothing"


def test_values_are_text_and_null_is_no_empty_text(small: Served, opened: Open) -> None:
    page = opened(small, "/query")
    text = HOSTILE.replace("\\", "\\\\").replace("'", "\\'")
    _run(page, f"SELECT NULL AS a, '' AS b, '{text}' AS c, '\u202eliame' AS d, repeat('x', 1048576) AS e")
    assert page.title().startswith("Query")
    found = page.locator("table.result td").all_inner_texts()
    assert found[:2] == ["NULL", "empty"] and HOSTILE[:30] in found[2]
    assert "more than 1,000 characters" in found[4]
    page.locator("table.result summary").last.click()
    _picture(page, "hostile")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_results_are_tables_and_charts(small: Served, opened: Open, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = opened(small, "/query", scheme, bypass_csp=True)

    def look(name: str) -> None:
        found = axe.run(page).response["violations"]
        assert [(each["id"], [n["html"][:120] for n in each["nodes"][:3]]) for each in found] == [], name
        _picture(page, f"{scheme}-{name}")

    look("new")
    _run(page, CITIES)
    look("table")
    page.click("text=chart")
    page.wait_for_selector("svg.chart rect")
    assert page.locator("svg.chart rect").count() == page.locator("svg.chart text.x:not(.name)").count() > 3
    look("bars")
    page.focus("#chart [name=y]")
    page.select_option("#chart [name=y]", label="amount")
    page.wait_for_selector("svg.chart[aria-label^='bar of amount']")
    assert page.evaluate("document.activeElement.name") == "y"
    _run(page, DAYS)
    page.click("text=chart")
    page.wait_for_selector("svg.chart polyline")
    look("line")
    _run(page, "SELECT id,\n  nme\nFROM silver.part_0", ".finding.error")
    look("error")
    page.fill("#sql", "")
    page.type("#sql", "SELECT * FROM ")
    page.wait_for_selector("#suggest li")
    look("open")


def test_the_list_of_tables_is_filtered(small: Served, opened: Open) -> None:
    page = opened(small, "/query")
    tables, shown = page.locator("#names [data-table]"), page.locator("#names [data-table]:visible")
    whole = tables.count()
    page.fill("#filter", "SILVER")
    assert 0 < shown.count() < whole
    assert all("silver" in each for each in shown.all_inner_texts())
    assert page.inner_text("#filtered") == f"{shown.count()} found"
    page.fill("#filter", "part id")
    found = page.locator("#names [data-column]:visible").evaluate_all(
        "all => all.map(each => each.dataset.column)"
    )
    assert set(found) == {"id"} and len(found) == shown.count()
    page.fill("#filter", "nothing like it")
    assert shown.count() == 0 and page.inner_text("#filtered") == "0 found"
    page.fill("#filter", "")
    assert shown.count() == whole and page.inner_text("#filtered") == ""


def test_an_error_is_shown_with_its_place(small: Served, opened: Open) -> None:
    page = opened(small, "/query")
    _run(page, "SELECT id\nFROM silver.part_0\nWHERE (id > 1", ".finding.error")
    assert "line 3" in page.inner_text("#answer") and "WHERE (id > 1" in page.inner_text(".place")
    selected = "document.getElementById('sql').value.slice(sql.selectionStart, sql.selectionEnd)"
    assert page.evaluate(selected) == "WHERE (id > 1"


def test_the_whole_result_is_downloaded(small: Served, opened: Open, tmp_path: Path) -> None:
    page = opened(small, "/query")
    _run(page, "SELECT id, IF(id = 1, NULL, '') AS t FROM range(1500) ORDER BY id")
    assert page.locator("table.result tbody tr").count() == 1000
    with page.expect_download(timeout=WAIT) as download:
        page.click("button:text('CSV')")
    download.value.save_as(tmp_path / "result.csv")
    rows = list(csv.reader((tmp_path / "result.csv").open()))
    assert len(rows) == 1501 and download.value.suggested_filename == "query.csv"
    page.wait_for_selector("#state:has-text('1,500 rows were written')")


def test_a_query_is_cancelled(small: Served, opened: Open) -> None:
    page = opened(small, "/query")
    _run(page, "SELECT 1")
    page.fill(
        "#sql", "SELECT count(*) FROM range(100000000000) a JOIN range(1000000) b ON a.id % 7 = b.id % 11"
    )
    page.click("#run")
    page.click("#cancel")
    page.wait_for_selector("#run:not(:disabled)", timeout=15_000)
    assert "the query was cancelled" in page.inner_text("#answer")


def test_a_narrow_screen_is_enough_for_queries(small: Served, opened: Open) -> None:
    page = opened(small, "/query", width=390, reduced_motion="reduce")
    _run(page, CITIES)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    _picture(page, "narrow-table")
    page.click("text=chart")
    page.wait_for_selector("svg.chart rect")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    _picture(page, "narrow-chart")


def test_queries_are_asked_without_any_script(small: Served, opened: Open) -> None:
    page = opened(small, "/query", java_script_enabled=False)
    page.fill("#sql", "SELECT count(*) AS n FROM silver.part_0")
    page.click("#run", timeout=WAIT)
    page.wait_for_selector("table.result", timeout=WAIT)
    page.click("nav[aria-label=View] >> text=chart")
    assert page.locator("svg.chart rect, svg.chart circle").count() == 1
