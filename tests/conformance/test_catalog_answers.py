"""A REST catalog whose answers come late, twice, with an error or not at all, each at each commit of a batch.

Whatever it says, what it did counts: the run goes on or ends, the next one puts everything right, nothing is
lost or doubled, and no file that a commit needs is deleted.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import places
import pytest
from shared_project import Make, SharedProject
from small_shop import FIRST, LATE, NEWEST, ORDERS, SECOND, csv, newest

import rest_server
import s3_server
from faulty_proxy import DROP, Asked, Fault, Proxy, running
from lakesmith.execute.events import TableRedone

pytestmark = pytest.mark.release

Is = Callable[[Asked], bool]

FAULTS = {
    "no answer though it was done": Fault(bool, DROP, after=True), "no answer": Fault(bool, DROP),
    "500 though it was done": Fault(bool, 500, after=True), "500": Fault(bool, 500),
    "502 though it was done": Fault(bool, 502, after=True),
    "503 though it was done": Fault(bool, 503, after=True), "503": Fault(bool, 503),
    "504 though it was done": Fault(bool, 504, after=True), "409 to what came twice": Fault(bool, twice=True),
    "an answer that is late": Fault(bool, seconds=1.0),
}  # fmt: skip


def _publishes(asked: Asked, table: str) -> bool:
    is_commit = asked.method == "POST" and asked.path.rpartition("/")[2] == table
    return is_commit and "main" in {each.get("ref-name") for each in asked.data.get("updates", ())}


COMMITS: dict[str, Is] = {
    "the ledger": lambda asked: _is_ledger(asked),
    "the publish of appended rows": lambda asked: _publishes(asked, "orders"),
    "the publish": lambda asked: _publishes(asked, "newest"),
}


def _is_lease(asked: Asked) -> bool:
    return asked.method == "POST" and "/lease__" in asked.path and b"lakesmith.lease" in asked.body


def _is_ledger(asked: Asked) -> bool:
    return asked.method == "POST" and asked.path.endswith("__files") and b'"attempt-' in asked.body


@pytest.fixture(scope="module")
def proxy(rest: rest_server.Server) -> Iterator[Proxy]:
    with running(rest.uri) as started:
        yield started


@pytest.fixture
def place(rest: rest_server.Server, known_s3: s3_server.Server, proxy: Proxy) -> Iterator[places.Place]:
    """The REST catalog by way of the proxy."""
    yield places.on_rest(rest, known_s3, proxy.uri)
    proxy.clear()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("commit", COMMITS)
def test_a_commit_and_its_answer(make: Make, proxy: Proxy, commit: str, fault: str) -> None:
    shop = make(ORDERS | NEWEST)
    shop.take("orders/0.csv", csv(*FIRST))
    shop.land("orders/1.csv", csv(*SECOND))
    known = FAULTS[fault]
    arranged = proxy.at(Fault(COMMITS[commit], known.answer, known.after, known.twice, known.seconds))
    # It is looked up what became of it, or the batch is done anew in the same run.
    shop.must_run()
    assert arranged.met == 1
    proxy.clear()
    shop.take("orders/2.csv", csv(*LATE))
    shop.require(FIRST + SECOND + LATE, "bronze.orders", "silver.newest")
    for table in ("bronze.orders", "silver.newest"):
        _check_files(shop, table)


def test_a_server_that_stays_away_fails_the_table(make: Make, proxy: Proxy) -> None:
    shop = make(ORDERS | NEWEST)
    shop.take("orders/0.csv", csv(*FIRST))
    shop.land("orders/1.csv", csv(*SECOND))
    arranged = proxy.at(Fault(COMMITS["the publish"], 500, times=10_000))
    result = shop.run()
    assert (result.code, set(result.published)) == (1, {"bronze.orders"})
    assert {problem.code for problem in result.problems} == {"LS601"}
    redone = [event for event in result.of("silver.newest") if isinstance(event, TableRedone)]
    assert (arranged.met >= 2, len(redone)) == (True, 1), "it is done anew once"
    proxy.clear()
    shop.must_run()
    assert shop.rows("silver.newest") == newest(FIRST + SECOND)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_lease_and_its_answer(make: Make, proxy: Proxy, fault: str) -> None:
    """It only keeps others from the same work: whatever becomes of it, the next run takes it."""
    shop = make(ORDERS)
    shop.take("orders/0.csv", csv(*FIRST))
    shop.land("orders/1.csv", csv(*SECOND))
    known = FAULTS[fault]
    arranged = proxy.at(Fault(_is_lease, known.answer, known.after, known.twice, known.seconds))
    shop.must_run()
    assert arranged.met == 1
    proxy.clear()
    shop.take("orders/2.csv", csv(*LATE))
    assert shop.rows("bronze.orders") == sorted(FIRST + SECOND + LATE)


def test_an_idle_run_asks_for_each_table_once(
    make: Make, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = {f"tables/silver/copy{number}.sql": "SELECT * FROM bronze.orders\n" for number in range(3)}
    shop = make(ORDERS | NEWEST | more)
    shop.take("orders/0.csv", csv(*FIRST))
    monkeypatch.setattr("lakesmith.spark.open.open_session", None)
    monkeypatch.setattr("lakesmith.spark.open.open_engine", None)
    for command in ("run", "plan", "status"):
        proxy.clear()
        shop.must(command)
        asked = Counter(
            f"{each.method} {each.path.rpartition('/')[2].partition('?')[0]}" for each in proxy.asked
        )
        tables = ("orders", "newest", "copy0", "copy1", "copy2")
        # The settings of the catalog were asked for by the first run: a process does that once.
        assert asked == Counter(f"GET {table}" for table in tables)
        assert all("If-None-Match" in each.headers for each in proxy.asked)


def _check_files(shop: SharedProject, table: str) -> None:
    """What main has passed through is all there to be read: by another tool, and the files themselves."""
    found = shop.outside(table).metadata
    snapshot: Any = found.snapshot_by_id(found.refs["main"].snapshot_id)
    while snapshot is not None:
        shop.sql(f"SELECT * FROM {{{table}}} VERSION AS OF {snapshot.snapshot_id}")
        assert _is_there(shop, snapshot.manifest_list)
        snapshot = found.snapshot_by_id(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id else None


def _is_there(shop: SharedProject, url: str) -> bool:
    at, s3 = urlsplit(url), shop.place.s3
    assert s3 is not None
    return s3.client().head_object(Bucket=at.netloc, Key=at.path[1:])["ContentLength"] > 0
