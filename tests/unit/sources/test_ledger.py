from __future__ import annotations

import multiprocessing
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakesmith.catalog.record import Pin
from lakesmith.errors import LockedError, SourceError, StateError
from lakesmith.project.definitions import TableName
from lakesmith.sources import ledger as ledger_module
from lakesmith.sources import ledger_table
from lakesmith.sources.ledger import LedgerStore, hash_entries, ledger_identifier, verify_entries
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry

Entry = Callable[..., LedgerEntry]
ORDERS = TableName("bronze", "orders")


def lines(number: int, batch: int = 1) -> list[LedgerEntry]:
    return [
        LedgerEntry(
            FileIdentity(f"in/{batch}/{i}.csv", i, 1_700_000_000_000_000_000 + i, 2**40 + i, i, f"{i:032x}"),
            "orders",
            FileAction.TAKEN,
            f"attempt-{batch}",
            batch,
            batch,
        )
        for i in range(number)
    ]


@pytest.fixture
def store(catalog: Any, tmp_path: Path) -> LedgerStore:
    return LedgerStore(catalog, tmp_path / "cache")


@pytest.fixture
def uncached(catalog: Any, tmp_path: Path) -> Callable[[], LedgerStore]:
    """A store that has to ask the table itself."""
    count = iter(range(1000))
    return lambda: LedgerStore(catalog, tmp_path / f"no-cache-{next(count)}")


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
    store: LedgerStore, uncached: Callable[[], LedgerStore]
) -> None:
    written = lines(3)
    pin = store.append(ORDERS, None, written)
    for reader in (store, uncached()):
        view = reader.read(ORDERS, pin)
        assert sorted(view.values(), key=lambda line: line.file.path) == written


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


@pytest.mark.parametrize("damage", ["delete", "truncate", "flip a bit", "other content"])
def test_a_damaged_cache_is_not_believed(
    damage: str, store: LedgerStore, catalog: Any, tmp_path: Path, entry: Entry
) -> None:
    pin = store.append(ORDERS, None, [entry("a")])
    (file,) = (tmp_path / "cache").iterdir()
    data = bytearray(file.read_bytes())
    if damage == "delete":
        file.unlink()
    elif damage == "truncate":
        file.write_bytes(data[:-3])
    elif damage == "flip a bit":
        data[-5] ^= 4
        file.write_bytes(data)
    else:
        file.write_bytes(b"")
    assert dict(LedgerStore(catalog, tmp_path / "cache").read(ORDERS, pin)) == {"a": entry("a")}
    assert file.stat().st_size == len(data)


def test_a_cache_that_cannot_be_written_is_no_reason_to_fail(
    catalog: Any, tmp_path: Path, entry: Entry
) -> None:
    (tmp_path / "in-the-way").write_text("")
    store = LedgerStore(catalog, tmp_path / "in-the-way/cache")
    pin = store.append(ORDERS, None, [entry("a")])
    assert set(store.read(ORDERS, pin)) == {"a"}


def test_only_the_newest_cache_files_of_a_ledger_are_kept(
    store: LedgerStore, tmp_path: Path, entry: Entry
) -> None:
    other = store.append(TableName("bronze", "other"), None, [entry("x")])
    pin = None
    for batch in range(1, 6):
        before, pin = pin, store.append(ORDERS, pin, [entry(f"f{batch}", batch)])
    assert before is not None and pin is not None
    names = sorted(file.name.split(".")[0] for file in (tmp_path / "cache").iterdir())
    assert names == sorted(f"{kept.uuid}-{kept.snapshot}" for kept in (other, before, pin))


def test_many_small_files_become_one_with_the_same_lines(
    store: LedgerStore,
    uncached: Callable[[], LedgerStore],
    catalog: Any,
    monkeypatch: pytest.MonkeyPatch,
    entry: Entry,
) -> None:
    monkeypatch.setattr(ledger_table, "COMPACT_ABOVE", 3)
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
    monkeypatch.setattr(ledger_table, "COMPACT_ABOVE", 1)
    pin = store.append(ORDERS, None, [entry("a")])
    pin = store.append(ORDERS, pin, [entry("b", 2)])
    store.append(ORDERS, pin, [entry("dead", 3)])
    pin = store.append(ORDERS, pin, [entry("c", 3)])
    assert set(uncached().read(ORDERS, pin)) == {"a", "b", "c"}


def _append_many(folder: Path, who: int, number: int, result: Any) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    class Catalog:
        def writer(self) -> Any:
            uri = f"sqlite:///{folder}/catalog.db"
            return SqlCatalog("lake", uri=uri, warehouse=f"file://{folder}/warehouse")

    store = LedgerStore(Catalog(), folder / f"cache-{who}")
    pin: Pin | None = None
    for batch in range(1, number + 1):
        file = FileIdentity(f"in/{who}/{batch}.csv", batch, batch)
        pin = store.append(
            ORDERS, pin, [LedgerEntry(file, "orders", FileAction.TAKEN, f"w{who}", batch, batch)]
        )
    result.put((who, pin))


def test_two_processes_that_append_at_once_never_get_each_others_lines(
    catalog: Any, uncached: Callable[[], LedgerStore], tmp_path: Path
) -> None:
    catalog.writer()  # The catalog's own tables are there before the two start, as `lakesmith init` leaves it.
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
    def busy(*args: Any) -> int:
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(ledger_table, "commit", busy)
    monkeypatch.setattr(ledger_module, "_FIRST_WAIT", 0.0)
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
    assert "drop the table" in hint
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


def test_the_hash_is_of_the_lines_and_not_of_their_order() -> None:
    written = lines(5)
    assert hash_entries(written) == hash_entries(written[::-1])
    assert len(hash_entries(written)) == 32
    hashes = {hash_entries(written[:n]) for n in range(6)}
    assert len(hashes) == 6


def test_the_hash_is_the_same_in_every_version(entry: Entry) -> None:
    # Written into records: if this fails, records of before cannot be verified any more.
    assert hash_entries([entry("in/a.csv", etag="x"), entry("ž\n", 2)]) == "5ec5fa2cb5250d3930e3f32bc4ea0b74"


def test_every_field_is_in_the_hash(entry: Entry) -> None:
    variants = [
        entry("a"),
        entry("b"),
        entry("a", 2),
        entry("a", 1, FileAction.SKIPPED),
        *(entry("a", **{name: 5}) for name in ("size", "modified_ns", "inode", "changed_ns")),
        entry("a", etag="5"),
        entry("a\x1forders"),
    ]
    assert len({hash_entries([variant]) for variant in variants}) == len(variants)


def test_lines_are_verified_against_the_record() -> None:
    written = lines(3)
    verify_entries(ORDERS, written[::-1], hash_entries(written))
    with pytest.raises(StateError, match=r"LS543 bronze\.orders"):
        verify_entries(ORDERS, written[:2], hash_entries(written))
