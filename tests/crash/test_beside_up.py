"""Commands beside ``lakesmith up`` work in its JVM: several at a time, and whatever ends first."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import pytest
from processes import is_gone, wait_until
from test_warm import MAIN, Shop, environment

from lakesmith.spark.start.resident import socket_of
from page_server import Served, served
from server_process import free_port

ASK = """
import sys
from lakesmith.api.access import Host
from lakesmith.api.lakehouse import Lakehouse
with Lakehouse('.', host=Host(notice=print, reuses=True)) as lake:
    rows = lake.query("SELECT count(*) AS n FROM silver.orders").to_dict()
    print("rows", rows[0]["n"], "in", lake.access.handle.jvm_pid)
    sys.stdout.flush()
    if sys.argv[1:]:
        sys.stdin.read()
"""


@contextmanager
def kept(shop: Shop) -> Iterator[subprocess.Popen[bytes]]:
    """``lakesmith up`` until the end of the block; its output is in ``up.log``."""
    with (shop.root / "up.log").open("ab") as log:
        up = subprocess.Popen(
            [*MAIN, "up", "--port", str(free_port()), "--every", "1"],
            cwd=shop.root, env=environment({"INVOCATION_ID": "7", "EDITOR": "none"}), stdout=log, stderr=log,
        )  # fmt: skip
        try:
            yield up
        finally:
            up.send_signal(signal.SIGTERM)
            up.wait(120)


def asked(shop: Shop, **more: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", ASK], cwd=shop.root, env=environment(more), capture_output=True, text=True,
        check=False, timeout=180,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop")


@pytest.mark.release
def test_commands_beside_up_use_its_jvm(shop: Shop) -> None:
    shop.land(1, 2)
    shared = socket_of(shop.root, "local", kind="up")
    with kept(shop):
        wait_until(lambda: shop.has(2), "up has taken the file", 120)
        jvm = shop.jvm()
        assert shared.stat().st_mode & 0o777 == 0o600

        # Several at a time, while up goes on.
        one = subprocess.Popen(
            [sys.executable, "-c", ASK, "stay"], cwd=shop.root, env=environment({}),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert one.stdout is not None and one.stdin is not None
        assert one.stdout.readline().split() == ["rows", "2", "in", str(jvm)]
        assert f"rows 2 in {jvm}" in asked(shop)
        shop.land(3)
        wait_until(lambda: shop.has(3), "up goes on beside a query", 60)

        # One that only reads and dies costs nothing.
        one.kill()
        one.wait()
        assert f"rows 3 in {jvm}" in asked(shop)

        # What differs is said, and such a command starts its own.
        other = asked(shop, AWS_PROFILE="another")
        assert "this command starts its own: the environment is not what" in other
        assert "rows 3 in" in other and f"in {jvm}" not in other

        # A run has it; one that is killed takes it along, and up starts another.
        ran = shop.called("run", "--full-refresh", "silver.orders", "--wait", "60")
        assert ran.code == 0 and shop.jvm() == jvm, ran.output
        died = shop.called(
            "run", "--full-refresh", "silver.orders", "--wait", "60",
            LAKESMITH_FAULT="after-data@silver.orders:kill",
        )  # fmt: skip
        assert died.code == -9
        wait_until(lambda: is_gone(jvm), "the JVM of a run that was killed ends", 30)
        shop.land(4)
        wait_until(lambda: shop.has(4), "up goes on in another one", 120)
    assert shop.rows("silver.orders") == [1, 2, 3, 4]
    assert not shared.exists()


@pytest.mark.release
def test_up_that_ends_waits_a_while_for_a_command(shop: Shop) -> None:
    shop.land(1)
    with kept(shop) as up:
        wait_until(lambda: shop.has(1), "up has taken the file", 120)
        jvm = shop.jvm()
        one = subprocess.Popen(
            [sys.executable, "-c", ASK, "stay"], cwd=shop.root, env=environment({}),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert one.stdout is not None and one.stdin is not None
        assert one.stdout.readline().split() == ["rows", "1", "in", str(jvm)]
        up.send_signal(signal.SIGTERM)
        time.sleep(1)
        assert not is_gone(jvm)
        one.stdin.close()
        assert one.wait(60) == 0
        assert up.wait(60) == 0
    assert "waiting up to 10 s for processes that use this engine" in (shop.root / "up.log").read_text()
    assert is_gone(jvm)


LONG = "SELECT count(*) FROM range(100000000000) a JOIN range(1000000) b ON a.id % 7 = b.id % 11"


def ask_long(page: Served, found: Future[str], sql: str = LONG) -> None:
    found.set_result(page.post("/query", sql=sql, number="a" * 32).text)


def kill_asking() -> None:
    """Kills the process that runs the queries of the page."""
    for children in Path("/proc/self/task").glob("*/children"):
        for pid in map(int, children.read_text().split()):
            if b"lakesmith.api.answering" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)


@pytest.mark.release
def test_the_page_asks_in_the_jvm_of_up_and_leaves_it_well(shop: Shop) -> None:
    shop.land(1, 2)
    with kept(shop), served(shop.root) as page:
        wait_until(lambda: shop.has(2), "up has taken the file", 120)
        jvm, count = shop.jvm(), "SELECT count(*) AS n FROM silver.orders"
        assert '<td class="n">2</td>' in page.post("/query", sql=count).text and shop.jvm() == jvm

        # A long query is cancelled, another one's process is killed: up goes on, and so does the page.
        for ends in (lambda: page.post("/query/cancel", number="a" * 32), kill_asking):
            found: Future[str] = Future()
            threading.Thread(target=ask_long, args=(page, found)).start()
            time.sleep(3)
            ends()
            said = found.result(30)
            assert "LS248" in said or "LS671" in said
        shop.land(3)
        wait_until(lambda: shop.has(3), "up goes on", 180)
        assert '<td class="n">3</td>' in page.post("/query", sql=count).text and shop.jvm() == jvm
