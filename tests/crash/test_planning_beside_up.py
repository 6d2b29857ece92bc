"""What Spark cannot cancel: whoever asked is answered, and ``up`` goes on."""

import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import pytest
from processes import is_gone, wait_until
from test_beside_up import ask_long, kept
from test_warm import MAIN, Shop, environment

from page_server import Served, served

PLANNED = "SELECT levenshtein(repeat('a', 900000), repeat('b', 900000)) AS n"
"""A constant, which Spark computes while it plans, in many minutes."""
_INNER = "aggregate(sequence(1, 20000 + id % 2), 0L, (b, y) -> b + y % 7)"
COMPUTED = (
    f"SELECT sum(aggregate(sequence(1, 1000000 + id % 2), 0L, (a, x) -> a + {_INNER})) AS n"
    " FROM range(0, 2, 1, 2)"
)
"""Two rows in two tasks, each of which takes an hour."""


ROWS = "SELECT count(*) AS n FROM silver.orders"


@contextmanager
def with_one_row(shop: Shop) -> Iterator[tuple[Served, int]]:
    """Runs ``up`` with its page, which has been asked once. Yields the page and the JVM."""
    shop.land(1)
    with kept(shop), served(shop.root) as page:
        wait_until(lambda: shop.has(1), "up has taken the file", 120)
        jvm = shop.jvm()
        assert '<td class="n">1</td>' in page.post("/query", sql=ROWS).text
        yield page, jvm


def cancelled(page: Served, sql: str) -> float:
    """Returns the seconds from asking for the end of a query to the page's answer."""
    found: Future[str] = Future()
    threading.Thread(target=ask_long, args=(page, found, sql)).start()
    time.sleep(15)
    assert not found.done(), found.result()
    began = time.monotonic()
    page.post("/query/cancel", number="a" * 32)
    assert "LS248" in found.result(60)
    return time.monotonic() - began


@pytest.mark.release
def test_a_query_that_is_planned_for_hours_holds_up_nobody(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    with with_one_row(shop) as (page, jvm):
        assert cancelled(page, PLANNED) < 12

        with (tmp_path / "asked").open("wb") as out:
            command = [*MAIN, "query", PLANNED]
            asked = subprocess.Popen(command, cwd=shop.root, env=environment({}), stdout=out, stderr=out)
        time.sleep(12)
        assert asked.poll() is None
        began = time.monotonic()
        asked.send_signal(signal.SIGINT)
        assert asked.wait(60) == 130, (tmp_path / "asked").read_text()
        assert time.monotonic() - began < 25

        # Both go on, on a thread each that is not a batch's.
        shop.land(2)
        wait_until(lambda: shop.has(2), "up goes on", 120)
        assert '<td class="n">2</td>' in page.post("/query", sql=ROWS).text and shop.jvm() == jvm


@pytest.mark.release
def test_a_cancelled_query_that_keeps_all_cores_costs_the_engine(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    with with_one_row(shop) as (page, jvm):
        assert cancelled(page, COMPUTED) < 12
        shop.land(2)
        wait_until(lambda: is_gone(jvm), "the engine is replaced", 60)
        wait_until(lambda: shop.has(2), "up goes on", 120)
        assert '<td class="n">2</td>' in page.post("/query", sql=ROWS).text
    assert "keeps all cores: the engine is replaced" in (shop.root / "up.log").read_text()
    assert shop.rows("silver.orders") == [1, 2]
