"""The cache of the file ledger, on disk: it can be lost or damaged without harm, and does not grow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakesmith.project.definitions import TableName
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
    names = sorted(file.name.split(".")[0] for file in (tmp_path / "cache").iterdir())
    assert names == sorted(f"{kept.uuid}-{kept.snapshot}" for kept in (other, before, pin))
