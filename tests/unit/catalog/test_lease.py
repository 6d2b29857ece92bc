"""The lease of a shared lake, over a real catalog: one holder at a time, whoever asks and however he ends."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from lakesmith.catalog import lease as leases
from lakesmith.catalog.lease import Lease, LeaseTable, Waiting, held
from lakesmith.catalog.local import LocalCatalog
from lakesmith.errors import LockedError, StateError

MINE = Lease("mine", "here", 1, "run", "2026-01-01T00:00:00+00:00", 1_000)
OTHER = replace(MINE, token="other", host="there")


@pytest.fixture
def lease_at(tmp_path: Path) -> Callable[[int], LeaseTable]:
    """The lease, for who has so many milliseconds on the clock."""

    def at(now_ms: int) -> LeaseTable:
        catalog = LocalCatalog(tmp_path / "catalog.db", tmp_path / "warehouse", busy_seconds=30)
        return LeaseTable(catalog.writer(), "shop", now_ms=lambda: now_ms)

    return at


def test_one_holds_it_until_it_runs_out(lease_at: Callable[[int], LeaseTable]) -> None:
    assert lease_at(0).holder() is None
    assert lease_at(0).try_to_take(MINE) is None
    assert lease_at(999).try_to_take(replace(OTHER, until_ms=5_000)) == MINE
    assert lease_at(999).holder() == MINE
    assert lease_at(1_000).try_to_take(replace(OTHER, until_ms=5_000)) is None
    assert lease_at(1_001).try_to_take(MINE) == replace(OTHER, until_ms=5_000)


def test_its_holder_renews_it_and_gives_it_back(lease_at: Callable[[int], LeaseTable]) -> None:
    lease_at(0).try_to_take(MINE)
    assert lease_at(900).try_to_take(replace(MINE, until_ms=2_000)) is None
    assert lease_at(1_500).try_to_take(OTHER) == replace(MINE, until_ms=2_000)
    assert lease_at(1_500).try_to_take(replace(MINE, until_ms=0)) is None
    assert lease_at(1_500).holder() is None


def test_of_many_that_ask_at_once_one_gets_it(lease_at: Callable[[int], LeaseTable]) -> None:
    lease_at(0).try_to_take(replace(MINE, until_ms=0))
    wanted = [replace(MINE, token=str(number)) for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda one: lease_at(0).try_to_take(one), wanted))
    (winner,) = [one for one, answer in zip(wanted, answers, strict=True) if answer is None]
    assert {answer for answer in answers if answer} == {winner}


def test_a_copied_database_does_not_write_to_the_lake_that_it_names(tmp_path: Path) -> None:
    def at(home: str) -> LeaseTable:
        catalog = LocalCatalog(tmp_path / "catalog.db", tmp_path / "warehouse", busy_seconds=30)
        return LeaseTable(catalog.writer(), "shop", now_ms=lambda: 0, home=home)

    for home in (f"{tmp_path}/warehouse", f"file://{tmp_path}/warehouse/"):
        assert at(home).try_to_take(MINE) is None, home
    for home in (f"{tmp_path}/ware", "s3://staging/lake"):
        with pytest.raises(StateError, match="LS525 the catalog names the tables of another warehouse"):
            at(home).try_to_take(replace(MINE, until_ms=2_000))


def test_what_it_leaves_behind_stays_little(lease_at: Callable[[int], LeaseTable]) -> None:
    for until in range(1, 60):
        lease_at(0).try_to_take(replace(MINE, until_ms=until))
    table = lease_at(0)._table()
    assert len(table.metadata.snapshots) <= 21
    assert lease_at(58).holder() == replace(MINE, until_ms=59)


def test_who_waits_is_told_of_the_holder_and_then_gets_it(
    lease_at: Callable[[int], LeaseTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_POLL_SECONDS", 0.05)
    inside, told = threading.Event(), list[Lease]()

    def work() -> None:
        with held(lease_at(0), "run", Waiting()):
            inside.set()
            done.wait(20)

    done = threading.Event()
    worker = threading.Thread(target=work)
    worker.start()
    assert inside.wait(20)
    with pytest.raises(LockedError, match="LS703") as refused, held(lease_at(0), "run", Waiting()):
        pytest.fail("two hold it")
    assert "'run' on" in str(refused.value)

    def on_wait(other: Lease) -> None:
        told.append(other)
        done.set()

    with held(lease_at(0), "verify", Waiting(seconds=20, on_wait=on_wait)):
        worker.join(20)
    assert [other.command for other in told] == ["run"]
    assert lease_at(0).holder() is None


def test_it_is_renewed_while_the_work_lasts(
    lease_at: Callable[[int], LeaseTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_RENEWED_EACH", 0.05)
    table = lease_at(0)
    with held(table, "run", Waiting()):
        first = table.holder()
        for _ in range(200):
            now = table.holder()
            if now != first:
                break
            threading.Event().wait(0.05)
    assert first is not None
    assert now is not None
    assert (now.token, now.until_ms > first.until_ms) == (first.token, True)


def test_a_piece_of_maintenance_is_waited_for(
    lease_at: Callable[[int], LeaseTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_POLL_SECONDS", 0.05)
    inside, done = threading.Event(), threading.Event()

    def work() -> None:
        with held(lease_at(0), "maintain", Waiting()):
            inside.set()
            done.wait(20)

    worker = threading.Thread(target=work)
    worker.start()
    assert inside.wait(20)
    with held(lease_at(0), "run", Waiting(on_wait=lambda _: done.set())):
        worker.join(20)
    assert done.is_set()
