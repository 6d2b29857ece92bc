"""Appends to the file ledger beside other writers, and in a catalog that is busy or fails."""

import multiprocessing
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakesmith.catalog import busy
from lakesmith.catalog.record import Pin
from lakesmith.errors import LockedError
from lakesmith.project.definitions import TableName
from lakesmith.sources import ledger_table
from lakesmith.sources.ledger import LedgerStore, ledger_identifier
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry

Entry = Callable[..., LedgerEntry]
ORDERS = TableName("bronze", "orders")


def _append_many(folder: Path, who: int, number: int, result: Any) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    class Catalog:
        def writer(self) -> Any:
            uri = f"sqlite:///{folder}/catalog.db"
            return SqlCatalog("lake", uri=uri, warehouse=f"file://{folder}/warehouse")

        reader = writer

    store = LedgerStore(Catalog(), folder / f"cache-{who}")
    pin: Pin | None = None
    for batch in range(1, number + 1):
        file = FileIdentity(f"in/{who}/{batch}.csv", batch, batch)
        pin = store.append(
            ORDERS, pin, [LedgerEntry(file, "orders", FileAction.TAKEN, f"w{who}", batch, batch)]
        )
    result.put((who, pin))


@pytest.mark.processes
def test_two_processes_that_append_at_once_never_get_each_others_lines(
    catalog: Any, uncached: Callable[[], LedgerStore], tmp_path: Path
) -> None:
    catalog.writer()  # As `lakesmith init` leaves it.
    context = multiprocessing.get_context("spawn")
    result: Any = context.Queue()
    number = 12
    writers = [context.Process(target=_append_many, args=(tmp_path, who, number, result)) for who in (1, 2)]
    for writer in writers:
        writer.start()
    pins = dict(result.get(timeout=120) for _ in writers)
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert pins[1].uuid == pins[2].uuid
    for who, pin in pins.items():
        assert set(uncached().read(ORDERS, pin)) == {
            f"in/{who}/{batch}.csv" for batch in range(1, number + 1)
        }


def test_a_late_writer_between_reading_and_committing_changes_nothing(
    store: LedgerStore, uncached: Callable[[], LedgerStore], entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = store.append(ORDERS, None, [entry("a")])
    commit, late = ledger_table.commit, []

    def commit_after_another(*args: Any) -> int:
        if not late:
            late.append(None)
            late[0] = uncached().append(ORDERS, first, [entry("zombie", 2)])
        return commit(*args)

    monkeypatch.setattr(ledger_table, "commit", commit_after_another)
    second = store.append(ORDERS, first, [entry("b", 2)])
    assert set(uncached().read(ORDERS, second)) == {"a", "b"}
    assert set(uncached().read(ORDERS, late[0])) == {"a", "zombie"}


def test_a_commit_whose_answer_was_an_error_is_not_made_twice(
    store: LedgerStore, catalog: Any, entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = store.append(ORDERS, None, [entry("a")])
    commit, calls = ledger_table.commit, []

    def commit_and_fail(*args: Any) -> int:
        calls.append(commit(*args))
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(ledger_table, "commit", commit_and_fail)
    pin = store.append(ORDERS, first, [entry("b", 2)])
    assert calls == [pin.snapshot]
    assert len(catalog.writer().load_table(ledger_identifier(ORDERS)).metadata.snapshots) == 3


def test_a_catalog_locked_for_a_while_is_waited_for(
    store: LedgerStore, uncached: Callable[[], LedgerStore], catalog: Any, tmp_path: Path, entry: Entry
) -> None:
    first = store.append(ORDERS, None, [entry("a")])
    catalog.writer().engine.dispose()
    with sqlite3.connect(tmp_path / "catalog.db", isolation_level=None, check_same_thread=False) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        threading.Timer(1.0, lambda: holder.execute("COMMIT")).start()
        pin = store.append(ORDERS, first, [entry("b", 2)])
    assert set(uncached().read(ORDERS, pin)) == {"a", "b"}


def test_a_catalog_that_stays_busy_is_said(
    store: LedgerStore, entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held(*args: Any) -> int:
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(ledger_table, "commit", held)
    monkeypatch.setattr(busy, "_FIRST_WAIT", 0.0)
    with pytest.raises(LockedError, match=r"LS740 bronze\.orders"):
        store.append(ORDERS, None, [entry("a")])


def test_other_errors_are_not_tried_again(
    store: LedgerStore, entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def full(*args: Any) -> int:
        calls.append(1)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ledger_table, "commit", full)
    with pytest.raises(OSError, match="No space left"):
        store.append(ORDERS, None, [entry("a")])
    assert calls == [1]
