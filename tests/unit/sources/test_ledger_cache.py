"""The cache of the file ledger, on disk: it can be lost or damaged without harm, and does not grow."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakesmith import limits
from lakesmith.project.definitions import TableName
from lakesmith.sources import ledger_cache
from lakesmith.sources.ledger import LedgerStore
from lakesmith.sources.model import LedgerEntry

Entry = Callable[..., LedgerEntry]
ORDERS = TableName("bronze", "orders")


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
    assert len(list((tmp_path / "cache").iterdir())) == 3
    cached = LedgerStore(NoCatalog(), tmp_path / "cache")
    assert [len(cached.read(ORDERS, kept)) for kept in (before, pin)] == [4, 5]
    assert len(cached.read(TableName("bronze", "other"), other)) == 1


@pytest.fixture
def long_from_30_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LONG_LEDGER_LINES", 30)


@pytest.mark.usefixtures("long_from_30_lines")
def test_a_long_ledger_is_added_to(store: LedgerStore, catalog: Any, tmp_path: Path, entry: Entry) -> None:
    names = [f"f{number}" for number in range(40)]
    pin = store.append(ORDERS, None, [entry(name) for name in names])
    whole = max(file.stat().st_size for file in (tmp_path / "cache").iterdir())
    for batch in range(2, 9):
        names.append(f"g{batch}")
        pin = store.append(ORDERS, pin, [entry(f"g{batch}", batch), entry("f1", batch)])
        ledger_cache._IN_MEMORY.clear()
        read = LedgerStore(NoCatalog(), tmp_path / "cache").read(ORDERS, pin)
        assert dict(read) == dict(LedgerStore(catalog, tmp_path / "elsewhere").read(ORDERS, pin))
        assert (set(read), read["f1"].batch) == (set(names), batch)
    sizes = sorted(file.stat().st_size for file in (tmp_path / "cache").iterdir())
    assert len(sizes) <= 3, "what is not needed any more goes"
    assert sizes[0] < whole / 8, "a batch writes what is new"


class NoCatalog:
    """Nothing but the cache may be read."""

    def reader(self) -> Any:
        raise AssertionError("the ledger was read from the lake")

    writer = reader


@pytest.mark.usefixtures("long_from_30_lines")
@pytest.mark.parametrize("gone", ["whole", "added"])
def test_a_long_ledger_with_a_file_that_is_gone_or_damaged_is_read_from_the_lake(
    store: LedgerStore, catalog: Any, tmp_path: Path, entry: Entry, gone: str
) -> None:
    first = store.append(ORDERS, None, [entry(f"f{number}") for number in range(40)])
    pin = store.append(ORDERS, first, [entry("new", 2)])
    ledger_cache._IN_MEMORY.clear()
    added, whole = sorted((tmp_path / "cache").iterdir(), key=lambda file: file.stat().st_size)
    if gone == "whole":
        whole.unlink()
    else:
        added.write_bytes(added.read_bytes()[:-2])
    assert "new" in LedgerStore(catalog, tmp_path / "cache").read(ORDERS, pin)
    assert len(LedgerStore(catalog, tmp_path / "cache").read(ORDERS, pin)) == 41


@pytest.mark.usefixtures("long_from_30_lines")
def test_a_long_ledger_is_kept_in_memory_by_what_it_is(
    store: LedgerStore, tmp_path: Path, entry: Entry
) -> None:
    first = store.append(ORDERS, None, [entry(f"f{number}") for number in range(40)])
    second = store.append(ORDERS, first, [entry("new", 2)])
    for file in (tmp_path / "cache").iterdir():
        file.unlink()
    asks_nobody = LedgerStore(NoCatalog(), tmp_path / "cache")
    assert (len(asks_nobody.read(ORDERS, first)), len(asks_nobody.read(ORDERS, second))) == (40, 41)
    store.append(ORDERS, second, [entry("newer", 3)])
    with pytest.raises(AssertionError, match="read from the lake"):
        asks_nobody.read(ORDERS, first)
