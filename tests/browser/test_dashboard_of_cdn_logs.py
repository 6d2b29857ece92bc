"""The dashboard of examples/cdn-logs in Debian's Chromium: it shows what an export has, and follows it."""

import json
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

DASHBOARD = Path(__file__).resolve().parents[2] / "examples/cdn-logs/dashboard"


def day(number: int, **changed: Any) -> dict[str, Any]:
    requests = 9000 + 1370 * (number * 7 % 5)
    return {
        "day": f"2024-06-{number:02}", "requests": requests, "bytes": requests * 48_211,
        "hits": requests // 2,
        "cacheable": requests * 2 // 3, "hit_ratio": round(0.7 + (number * 5 % 7) / 50, 3),
        "errors": requests * (number % 4 + 1) // 60, "bots": requests // 9, "p50": 0.021,
        "p95": round(0.18 + number % 3 * 0.05, 3), "p99": round(0.4 + number % 5 * 0.1, 3), **changed,
    }  # fmt: skip


def publish(folder: Path, version: str, rows: list[dict[str, Any]], kind: str = "json") -> None:
    """Writes an export as lakesmith does: the files, then the manifest."""
    half = len(rows) // 2
    files = []
    for number, some in enumerate((rows[half:], rows[:half])):
        path = folder / version / f"part-{number}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "json":
            path.write_text("".join(json.dumps(row) + "\n" for row in some))
        else:
            cells = ((("" if value is None else value) for value in row.values()) for row in some)
            path.write_text("".join(f"{','.join(map(str, row))}\n" for row in (rows[0], *cells)))
        files.append({"path": f"{version}/{path.name}", "size": path.stat().st_size})
    manifest = {
        "format": kind, "compression": "none", "version": version, "files": files,
        "written_at": "2024-06-15T04:00:00+00:00",
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The example's folder behind a web server; its address, and the folder of the export."""
    shutil.copytree(DASHBOARD, tmp_path / "dashboard")
    (tmp_path / "exports/gold/days").mkdir(parents=True)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/dashboard/", tmp_path / "exports/gold/days"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    page.close()
    assert not errors


def test_it_shows_the_days_of_the_export_and_follows_it(page: Any, site: tuple[str, Path]) -> None:
    url, folder = site
    publish(folder, "v=1", [day(number) for number in range(1, 14)])
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    page.goto(url)
    page.wait_for_selector("body[data-version='v=1']")
    assert hosts == {url.split("/")[2]}, "nothing comes from other hosts"
    assert page.text_content("#state").startswith("13 days until 2024-06-13")
    assert page.locator("#charts svg").count() == 6
    assert page.locator("#charts .card").first.locator("rect").count() == 13
    assert page.locator("#tiles b").first.text_content() == f"{day(13)['requests']:,}"
    first = page.locator("#numbers tr").nth(1)
    assert first.locator("td").first.text_content() == "2024-06-13"

    publish(folder, "v=2", [*(day(number) for number in range(1, 14)), day(14, hit_ratio=None)])
    page.evaluate("look()")
    page.wait_for_selector("body[data-version='v=2']")
    assert page.locator("#charts .card").first.locator("rect").count() == 14
    assert page.locator("#charts .card").nth(2).locator("circle").count() == 13, "NULL leaves a gap"


def test_what_is_wrong_is_said_and_what_was_drawn_stays(page: Any, site: tuple[str, Path]) -> None:
    url, folder = site
    page.goto(url)
    page.wait_for_selector("#state.wrong")
    assert "manifest.json: 404" in page.text_content("#state")
    publish(folder, "v=1", [day(1), day(2)])
    page.evaluate("look()")
    page.wait_for_selector("body[data-version='v=1']")
    (folder / "manifest.json").write_text('{"format": "parquet", "files": []}')
    page.evaluate("look()")
    page.wait_for_selector("#state.wrong")
    assert page.locator("#charts rect").count() == 4


def test_it_reads_csv_as_well(page: Any, site: tuple[str, Path]) -> None:
    url, folder = site
    publish(folder, "v=1", [day(1), day(2, p95=None), day(3)], "csv")
    page.goto(url)
    page.wait_for_selector("body[data-version='v=1']")
    assert page.text_content("#state").startswith("3 days until 2024-06-03")
    assert page.locator("#numbers tr").count() == 4
