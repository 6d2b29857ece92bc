"""Debian's Chromium, and the pages that it opens."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from made_lake import MadeLake
from page_server import Open, Served, served

_REFUSED = ("503 (Service", "400 (Bad", "401 (Unauthorized)", "404 (Not Found)")
CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A browser; without one the tests are left out, and fail where ``make browser`` is a check."""
    if CHROMIUM is None:
        must = os.environ.get("CI") and os.environ.get("LAKESMITH_BROWSER")
        (pytest.fail if must else pytest.skip)("Chromium is not installed: apt-get install chromium")
    api = pytest.importorskip("playwright.sync_api", reason="pip install 'lakesmith[test-browser]'")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Opens a page, signed in. At its end nothing may be in the console, but that a project was broken."""
    contexts, said = [], list[str]()

    def open_page(
        served: Served, path: str = "/", scheme: str = "light", width: int = 1280, **more: Any
    ) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **more)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"{served.url}/?token={served.token}")
        if path != "/":
            page.goto(served.url + path)
        return page

    yield open_page
    for each in contexts:
        each.close()
    assert [text for text in said if not any(each in text for each in _REFUSED)] == []


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Served]:
    """The page of seven tables, of which one has bad rows and another is behind."""
    lake = MadeLake(tmp_path_factory.mktemp("small"), 7)
    lake.publish()
    lake.publish("bronze.source_0", rows=3)
    lake.publish("silver.part_0", rows=3, bad=2)
    with served(lake.root) as found:
        yield found


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Served]:
    """The page of a project without tables."""
    with served(MadeLake(tmp_path_factory.mktemp("empty"), 0).root) as found:
        yield found


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Served]:
    """The page of 200 tables that were declared and never built, but for some."""
    lake = MadeLake(tmp_path_factory.mktemp("large"), 200)
    lake.publish("bronze.source_0", "bronze.source_1", "silver.part_0", "silver.part_1")
    with served(lake.root) as found:
        yield found
