"""The file ledger: what is appended is read again, and what no record pins does not count."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakesmith import limits
from lakesmith.catalog.record import Pin
from lakesmith.errors import SourceError, StateError
from lakesmith.project.definitions import TableName
from lakesmith.sources import ledger_table
from lakesmith.sources.ledger import LedgerStore, ledger_identifier
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry

Entry = Callable[..., LedgerEntry]
ORDERS = TableName("bronze", "orders")


def table_rows(catalog: Any, snapshot: int | None = None) -> list[dict[str, Any]]:
    rows = (
        catalog.writer()
        .load_table(ledger_identifier(ORDERS))
        .scan(snapshot_id=snapshot)
        .to_arrow()
        .to_pylist()
    )
    return sorted(rows, key=lambda row: (row["path"], row["batch"]))


def test_nothing_is_pinned_nothing_was_taken(store: LedgerStore, tmp_path: Path) -> None:
    assert len(store.read(ORDERS, None)) == 0
    assert not (tmp_path / "catalog.db").exists()


def test_what_is_appended_is_read_again_with_and_without_cache(
    store: LedgerStore, uncached: Callable[[], LedgerStore], entry: Entry
) -> None:
    stats = ({"size": i, "inode": 2**40 + i, "changed_ns": i, "etag": f"{i:032x}"} for i in range(3))
    written = [entry(f"in/{i}.csv", i + 1, **stat) for i, stat in enumerate(stats)]
    pin = store.append(ORDERS, None, written)
    for reader in (store, uncached()):
        view = reader.read(ORDERS, pin)
        assert sorted(view.values(), key=lambda line: line.file.path) == written


def test_what_any_file_system_says_of_a_file_can_be_kept(
    store: LedgerStore, tmp_path: Path, entry: Entry
) -> None:
    """Inodes of network file systems have 64 bits without a sign, and times go beyond the year 2262."""
    file = tmp_path / "far.csv"
    file.write_text("id\n1\n")
    os.utime(file, ns=(0, 253_402_300_800 * 10**9))
    stat = list(file.stat())
    stat[1] = 2**64 - 5
    odd = os.stat_result(stat, {"st_mtime_ns": file.stat().st_mtime_ns, "st_ctime_ns": 2**70})
    written = [replace(entry("far.csv", 1), file=FileIdentity.of_local("far.csv", odd))]
    view = store.read(ORDERS, store.append(ORDERS, None, written))
    assert list(view.values()) == written
    assert written[0].file.inode == -5


def test_the_table_says_the_same_to_any_engine(store: LedgerStore, catalog: Any, entry: Entry) -> None:
    line = entry("in/a b%[*].csv\n", batch=4, inode=1, changed_ns=2, etag="x", action=FileAction.SKIPPED)
    pin = store.append(ORDERS, None, [line])
    assert table_rows(catalog, pin.snapshot) == [
        {
            "path": "in/a b%[*].csv\n",
            "source": "orders",
            "action": "skipped",
            "size": 10,
            "modified_ns": 1_700_000_000_123_456_789,
            "inode": 1,
            "changed_ns": 2,
            "etag": "x",
            "attempt": "attempt-4",
            "batch": 4,
            "at_ms": 1_700_000_000_004,
        }
    ]
    table = catalog.writer().load_table(ledger_identifier(ORDERS))
    assert table.name() == ("lakesmith", "bronze__orders__files")
    assert table.metadata.format_version == 2
    assert str(table.metadata.table_uuid) == pin.uuid


def test_the_newest_line_of_a_path_counts(
    store: LedgerStore, uncached: Callable[[], LedgerStore], entry: Entry
) -> None:
    pin = store.append(ORDERS, None, [entry("a", 1), entry("b", 1)])
    pin = store.append(ORDERS, pin, [entry("a", 2, FileAction.FORGOTTEN)])
    pin = store.append(ORDERS, pin, [entry("a", 3, size=77)])
    for view in (store.read(ORDERS, pin), uncached().read(ORDERS, pin)):
        assert dict(view) == {"a": entry("a", 3, size=77), "b": entry("b", 1)}


def test_a_leftover_intent_does_not_count(
    store: LedgerStore, uncached: Callable[[], LedgerStore], entry: Entry
) -> None:
    first = store.append(ORDERS, None, [entry("a")])
    dead = store.append(ORDERS, first, [entry("b", 2), entry("c", 2)])
    assert set(uncached().read(ORDERS, first)) == {"a"}
    second = store.append(ORDERS, first, [entry("c", 3)])
    for view in (store.read(ORDERS, second), uncached().read(ORDERS, second)):
        assert dict(view) == {"a": entry("a"), "c": entry("c", 3)}
    assert set(uncached().read(ORDERS, dead)) == {"a", "b", "c"}


def test_a_leftover_of_a_table_that_never_published_does_not_count(
    store: LedgerStore, uncached: Callable[[], LedgerStore], entry: Entry
) -> None:
    store.append(ORDERS, None, [entry("a")])
    pin = store.append(ORDERS, None, [entry("b", 2)])
    assert set(uncached().read(ORDERS, pin)) == {"b"}


def test_after_a_rollback_of_the_table_its_ledger_goes_on_from_there(
    store: LedgerStore, uncached: Callable[[], LedgerStore], entry: Entry
) -> None:
    pins: list[Pin | None] = [None]
    for batch in range(1, 6):
        pins.append(store.append(ORDERS, pins[-1], [entry(f"f{batch}", batch)]))
    pin = store.append(ORDERS, pins[2], [entry("g", 3)])
    assert set(uncached().read(ORDERS, pin)) == {"f1", "f2", "g"}
    assert set(uncached().read(ORDERS, pins[5])) == {"f1", "f2", "f3", "f4", "f5"}


def test_whoever_queries_the_ledger_sees_published_lines_only(
    store: LedgerStore, catalog: Any, entry: Entry
) -> None:
    first = store.append(ORDERS, None, [entry("a")])
    assert table_rows(catalog) == []
    store.append(ORDERS, first, [entry("dead", 2)])
    store.append(ORDERS, first, [entry("b", 3)])
    assert [row["path"] for row in table_rows(catalog)] == ["a"]


def test_branches_of_published_appends_go_and_those_of_others_stay(
    store: LedgerStore, catalog: Any, entry: Entry
) -> None:
    first = store.append(ORDERS, None, [entry("a")])
    dead = store.append(ORDERS, first, [entry("dead", 2)])
    second = store.append(ORDERS, first, [entry("b", 3)])
    third = store.append(ORDERS, second, [entry("c", 4)])
    refs = catalog.writer().load_table(ledger_identifier(ORDERS)).metadata.refs
    assert refs["main"].snapshot_id == second.snapshot
    heads = {ref.snapshot_id for name, ref in refs.items() if name not in ("main", "empty")}
    assert heads == {dead.snapshot, third.snapshot}


def test_abandoned_branches_go(
    store: LedgerStore, catalog: Any, entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = store.append(ORDERS, None, [entry("dead")])
    monkeypatch.setattr(ledger_table, "ABANDONED_AFTER_MS", -1)
    pin = store.append(ORDERS, None, [entry("a", 2)])
    refs = catalog.writer().load_table(ledger_identifier(ORDERS)).metadata.refs
    heads = {ref.snapshot_id for ref in refs.values()}
    assert pin.snapshot in heads
    assert dead.snapshot not in heads


def test_many_small_files_become_one_with_the_same_lines(
    store: LedgerStore,
    uncached: Callable[[], LedgerStore],
    catalog: Any,
    monkeypatch: pytest.MonkeyPatch,
    entry: Entry,
) -> None:
    monkeypatch.setattr(limits, "LEDGER_FILES_UP_TO", 3)
    pin: Pin | None = None
    files = []
    for batch in range(1, 11):
        pin = store.append(ORDERS, pin, [entry("same", batch), entry(f"f{batch}", batch)])
        table = catalog.writer().load_table(ledger_identifier(ORDERS))
        files.append(len(list(table.scan(snapshot_id=pin.snapshot).plan_files())))
        # Every line stays, not only the newest of each path; and a version before compaction reads as before.
        assert len(table_rows(catalog, pin.snapshot)) == 2 * batch
        assert dict(uncached().read(ORDERS, pin)) == dict(store.read(ORDERS, pin))
    assert files == [1, 2, 3, 4, 1, 2, 3, 4, 1, 2]


def test_a_leftover_intent_does_not_come_back_by_compaction(
    store: LedgerStore, uncached: Callable[[], LedgerStore], monkeypatch: pytest.MonkeyPatch, entry: Entry
) -> None:
    monkeypatch.setattr(limits, "LEDGER_FILES_UP_TO", 1)
    pin = store.append(ORDERS, None, [entry("a")])
    pin = store.append(ORDERS, pin, [entry("b", 2)])
    store.append(ORDERS, pin, [entry("dead", 3)])
    pin = store.append(ORDERS, pin, [entry("c", 3)])
    assert set(uncached().read(ORDERS, pin)) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("title", "spoil", "code"),
    [
        ("dropped", lambda catalog, pin: catalog.drop_table(ledger_identifier(ORDERS)), "LS540"),
        ("dropped and made anew", lambda catalog, pin: _make_anew(catalog), "LS541"),
        ("snapshot expired", lambda catalog, pin: _expire(catalog, pin), "LS542"),
    ],
)
def test_a_ledger_that_is_not_what_was_pinned_is_never_taken_for_new(
    title: str,
    spoil: Callable[[Any, Pin], None],
    code: str,
    store: LedgerStore,
    catalog: Any,
    tmp_path: Path,
    entry: Entry,
) -> None:
    first = store.append(ORDERS, None, [entry("a")])
    store.append(ORDERS, None, [entry("b")])
    spoil(catalog.writer(), first)
    with pytest.raises(StateError, match=code) as raised:
        store.append(ORDERS, first, [entry("c", 2)])
    # A table that takes files is never rebuilt: that is refused.
    hint = raised.value.problems[0].hint or ""
    assert "lakesmith drop bronze.orders" in hint
    assert "--full-refresh" not in hint
    with pytest.raises(StateError, match=code):
        LedgerStore(catalog, tmp_path / "empty").read(ORDERS, first)


def _make_anew(catalog: Any) -> None:
    catalog.drop_table(ledger_identifier(ORDERS))
    ledger_table.load_or_create(catalog, ORDERS)


def _expire(catalog: Any, pin: Pin) -> None:
    table = catalog.load_table(ledger_identifier(ORDERS))
    (branch,) = (name for name, ref in table.metadata.refs.items() if ref.snapshot_id == pin.snapshot)
    table.manage_snapshots().remove_branch(branch).commit()
    table.maintenance.expire_snapshots().by_id(pin.snapshot).commit()


def test_a_ledger_left_half_made_is_finished(store: LedgerStore, catalog: Any, entry: Entry) -> None:
    catalog.writer().create_namespace("lakesmith")
    catalog.writer().create_table(ledger_identifier(ORDERS), ledger_table._schema())
    pin = store.append(ORDERS, None, [entry("a")])
    assert [row["path"] for row in table_rows(catalog, pin.snapshot)] == ["a"]


def test_one_file_in_two_sources_is_refused(store: LedgerStore, entry: Entry) -> None:
    one = entry("in/a.csv")
    two = LedgerEntry(one.file, "returns", one.action, one.attempt, one.batch, one.at_ms)
    with pytest.raises(SourceError, match=r"LS412(.|\n)*in/a.csv in orders and returns"):
        store.append(ORDERS, None, [one, two])
