"""Ctrl-C during a run or a query of the Python API: raised soon, nothing published, the next call works."""

import signal
import threading
import time
from collections.abc import Callable

import pytest
from harness import Harness, MakeShop
from rewinding import rewinding

import lakesmith
from lakesmith.catalog.lock import ProjectLock
from lakesmith.execute import faults
from lakesmith.execute.status import Standing
from lakesmith.spark import open as spark_open
from lakesmith.spark.start.session import SessionHandle

FILES = {
    "tables/bronze/orders.yaml": """
        source:
          files: {path: landing/orders/, pattern: '*.csv', format: csv}
        columns: {id: bigint, city: string}
        """,
    "tables/silver/slow.sql": "SELECT city, count(*) AS orders FROM bronze.orders GROUP BY city",
}
SLOW = """
import time

from pyspark.sql.functions import udf


def slow(orders):
    return orders.select(udf(lambda id: time.sleep(600) or id, "bigint")("id").alias("id"), "city")
"""
SLOW_SETTINGS = "inputs: {orders: bronze.orders}\n"
SOON = 40.0
"""Seconds that it may take to give up, on a busy machine: far less than the work would."""


@pytest.fixture(scope="module")
def taken(make_lake: MakeShop) -> Callable[[], Harness]:
    project = make_lake(FILES)
    project.take("landing/orders/1.csv", "id,city\n1,Oslo\n2,Rome\n", "bronze.*")
    return rewinding(project)


@pytest.fixture
def shop(taken: Callable[[], Harness], monkeypatch: pytest.MonkeyPatch) -> lakesmith.Lakehouse:
    """A project whose first table is there, on the session that all tests share."""
    project = taken()
    monkeypatch.setattr(spark_open, "open_session", lambda *_, **__: project.handle)
    return lakesmith.open(project.root)


def ctrl_c(seconds: float = 0.0) -> None:
    """Ctrl-C reaches this process, so much later."""
    time.sleep(seconds)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def when_jobs_run(spark: object, then: Callable[[], None]) -> None:
    """Does it from another thread as soon as Spark has a job."""

    def watch() -> None:
        while not spark.sparkContext.statusTracker().getActiveJobsIds():  # type: ignore[attr-defined]
            time.sleep(0.1)
        then()

    threading.Thread(target=watch, daemon=True).start()


def test_a_run_of_a_slow_table_is_given_up_and_the_next_one_works(
    shop: lakesmith.Lakehouse, session: SessionHandle
) -> None:
    sql = shop.folder / "tables/silver/slow.sql"
    fast = sql.read_text()
    sql.unlink()
    sql.with_suffix(".py").write_text(SLOW)
    (shop.folder / "tables/silver/slow.yaml").write_text(SLOW_SETTINGS)
    began = time.monotonic()
    when_jobs_run(session.spark, ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        shop.run()
    assert time.monotonic() - began < SOON
    with ProjectLock(shop.folder / ".lakesmith", "a look") as lock:
        assert lock.abandoned is None
    (status,) = shop.status("silver.slow").tables
    assert status.standing is not Standing.UP_TO_DATE

    sql.with_suffix(".py").unlink()
    (shop.folder / "tables/silver/slow.yaml").unlink()
    sql.write_text(fast)
    assert list(shop.run().published) == ["silver.slow"]
    assert shop.table("silver.slow").arrow().sort_by("city").to_pydict() == {
        "city": ["Oslo", "Rome"],
        "orders": [1, 1],
    }


def test_what_was_about_to_be_published_is_not(shop: lakesmith.Lakehouse) -> None:
    """Nothing runs on Spark that could be cancelled, and the batch is ready."""

    def stopped_here() -> None:
        ctrl_c()
        # So long does it take at most until a run is told.
        time.sleep(2)

    faults.arrange("before-publish", stopped_here, "silver.slow")
    with pytest.raises(KeyboardInterrupt):
        shop.run()
    faults.clear()
    (status,) = shop.status("silver.slow").tables
    assert status.standing is not Standing.UP_TO_DATE
    assert list(shop.run().published) == ["silver.slow"]


def test_a_query_is_given_up_and_the_next_one_has_its_own_answer(
    shop: lakesmith.Lakehouse, session: SessionHandle
) -> None:
    slow = "SELECT count(*) AS n FROM range(100000000000) WHERE sqrt(id) * rand() > 1"
    began = time.monotonic()
    when_jobs_run(session.spark, ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        shop.query(slow).arrow()
    assert time.monotonic() - began < SOON
    assert shop.query("SELECT count(*) AS n FROM bronze.orders").arrow().to_pydict() == {"n": [2]}


def test_a_run_that_waits_for_another_is_given_up(shop: lakesmith.Lakehouse) -> None:
    began = time.monotonic()

    def tell(event: lakesmith.events.Event) -> None:
        if isinstance(event, lakesmith.events.LockWaiting):
            ctrl_c()

    with ProjectLock(shop.folder / ".lakesmith", "another run"), pytest.raises(KeyboardInterrupt):
        shop.run(wait=600, on_event=tell)
    assert time.monotonic() - began < SOON
    assert list(shop.run().published) == ["silver.slow"]
