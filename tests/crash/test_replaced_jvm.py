"""The JVM of ``up`` dies or is replaced: what is done meanwhile waits for the new one, or says so plainly."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from processes import is_gone, kill, wait_until
from test_beside_up import asked, kept
from test_planning_beside_up import COMPUTED
from test_warm import Shop, environment, jvms_of

from page_server import Served, served

pytestmark = pytest.mark.release

CHECKED = """
source: {files: {path: landing/, format: csv}}
columns: {id: bigint}
rules: |
  Rules = [ RowCount > 0, IsUnique "id" ]
"""
COUNT = "SELECT count(*) AS n FROM silver.orders"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    yield Shop(tmp_path / "shop")


def jvms(shop: Shop) -> list[int]:
    return jvms_of(shop.root)


def log_of(shop: Shop) -> str:
    return (shop.root / "up.log").read_text()


def test_commands_share_the_jvm_that_up_starts_after_one_died(shop: Shop) -> None:
    shop.land(1, 2)
    with kept(shop):
        wait_until(lambda: shop.has(2), "up has taken the file", 120)
        first = shop.jvm()
        assert f"rows 2 in {first}" in asked(shop)
        kill(first)
        wait_until(lambda: is_gone(first), "the JVM has ended", 30)

        # A command waits for the next JVM, though no file arrives that up would need it for.
        said = asked(shop)
        second = shop.jvm()
        assert second != first and f"rows 2 in {second}" in said and "starts its own" not in said, said
        shop.land(3)
        wait_until(lambda: shop.has(3), "up goes on in it", 120)
        assert f"rows 3 in {second}" in asked(shop) and jvms(shop) == [second]
    assert "nobody foresaw" not in log_of(shop)


def test_a_check_whose_jvm_dies_is_repeated_in_another_one(shop: Shop) -> None:
    (shop.root / "lakesmith.yaml").write_text("name: shop\nchecks: {schedule: {every: 1h}}\n")
    (shop.root / "tables/bronze/orders.yaml").write_text(CHECKED)
    shop.land(1, 2)
    state = shop.root / ".lakesmith/up.json"
    with kept(shop):
        wait_until(
            lambda: "checks of rules" in state.read_text() if state.exists() else False, "a check", 120
        )
        time.sleep(0.3)
        kill(shop.jvm())
        wait_until(lambda: "2 rules were checked; 0 failed" in log_of(shop), "the check is repeated", 120)
    said = log_of(shop)
    assert "nobody foresaw" not in said and "another one is started" in said, said
    rows = json.loads(shop.called("query", "SELECT source FROM lakesmith.checks", "--json").output)
    assert [each["source"] for each in rows].count("check") == 2


def test_the_page_answers_while_the_engine_is_replaced(shop: Shop) -> None:
    shop.land(1, 2)
    with kept(shop), served(shop.root) as page:
        wait_until(lambda: shop.has(2), "up has taken the file", 120)
        first = shop.jvm()
        assert '<td class="n">2</td>' in page.post("/query", sql=COUNT).text and shop.jvm() == first
        endless: Future[str] = Future()
        threading.Thread(target=_ask, args=(page, endless)).start()
        time.sleep(10)
        page.post("/query/cancel", number="a" * 32)
        assert "LS248" in endless.result(30)
        answers = []
        until = time.monotonic() + 45
        while time.monotonic() < until:
            answers.append(page.post("/query", sql=COUNT).text)
            time.sleep(0.5)
        wait_until(lambda: is_gone(first), "the engine is replaced", 60)
        assert [each for each in answers if "LS900" in each or "ConnectionRefused" in each] == []
        assert '<td class="n">2</td>' in answers[-1] and len(jvms(shop)) == 1
    assert "the engine is replaced" in log_of(shop)


def _ask(page: Served, found: Future[str]) -> None:
    found.set_result(page.post("/query", sql=COMPUTED, number="a" * 32).text)


def test_a_query_whose_jvm_dies_is_answered_plainly(shop: Shop) -> None:
    shop.land(1, 2)
    with kept(shop), served(shop.root) as page:
        wait_until(lambda: shop.has(2), "up has taken the file", 120)
        assert '<td class="n">2</td>' in page.post("/query", sql=COUNT).text
        first = shop.jvm()
        kill(first)
        wait_until(lambda: is_gone(first), "the JVM has ended", 30)
        said = page.post("/query", sql=COUNT).text
        assert '<td class="n">2</td>' in said, said
        found: Future[str] = Future()
        threading.Thread(target=_ask, args=(page, found)).start()
        time.sleep(10)
        # Where up was slow to start its next JVM, the page has one of its own.
        for each in jvms(shop):
            os.kill(each, signal.SIGKILL)
        assert "LS604" in found.result(60)
        assert '<td class="n">2</td>' in page.post("/query", sql=COUNT).text


def test_a_command_does_not_wait_for_a_jvm_that_hangs(shop: Shop) -> None:
    shop.land(1, 2)
    with kept(shop):
        wait_until(lambda: shop.has(2), "up has taken the file", 120)
        jvm = shop.jvm()
        os.kill(jvm, signal.SIGSTOP)
        try:
            said = asked(shop)
            assert "this command starts its own: it does not answer" in said
            assert "rows 2 in" in said and f"in {jvm}" not in said, said
        finally:
            os.kill(jvm, signal.SIGCONT)
        assert f"rows 2 in {jvm}" in asked(shop)


SILENT = """
import os, signal, sys, time
from pathlib import Path
from lakesmith.api.lakehouse import Lakehouse
from lakesmith.plan.cost import DataSize
from lakesmith.spark.start.lender import Lender

root, said = Path(sys.argv[1]), []
with Lakehouse(root) as lake:
    session = lake.access.session(lake.access.opened(), DataSize.LITTLE)
    with Lender(root / "sock", lambda: lake.access.handle, lambda: False, said.append, silence=3.0):
        time.sleep(8)
        assert session.is_alive() and not said, said
        os.kill(session.jvm_pid, signal.SIGSTOP)
        until = time.monotonic() + 60
        while session.is_alive() and time.monotonic() < until:
            time.sleep(0.1)
    assert not session.is_alive() and lake.lost_spark, "it is killed"
    assert said == ["Spark has not answered for 3 s: the engine is replaced"], said
    (root / "landing").mkdir()
    (root / "landing/1.csv").write_text("id\\n1\\n")
    assert lake.run().exit_code == 0 and not lake.lost_spark, "the next call has another one"
"""


def test_a_jvm_that_answers_no_more_is_killed(shop: Shop) -> None:
    """In a process of its own: that of the tests may have a Spark session already."""
    command = [sys.executable, "-c", SILENT, str(shop.root)]
    done = subprocess.run(
        command, env=environment({}), capture_output=True, text=True, check=False, timeout=180
    )
    assert done.returncode == 0, done.stdout + done.stderr
