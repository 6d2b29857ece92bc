"""Avro files as Iceberg writes them, read into values and written back; PyIceberg's own reader is the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.manifest import read_manifest_list

from lakesmith.catalog.avro_container import NotAvro
from lakesmith.catalog.avro_values import read_records
from lakesmith.catalog.local import LocalCatalog

ROWS = pa.table(
    {
        "id": [1, 2, None],
        "name": ["Oslo", None, "Zürich"],
        "part": [1.5, -2.5, None],
        "yes": [True, False, None],
    }
)


@pytest.fixture
def table(tmp_path: Path) -> Any:
    """A table of format version 2 with two snapshots."""
    catalog: Any = LocalCatalog(tmp_path / "catalog.db", tmp_path / "warehouse").writer()
    catalog.create_namespace("bronze")
    table = catalog.create_table("bronze.orders", ROWS.schema)
    table.append(ROWS)
    table.append(ROWS.slice(1))
    return table


def test_what_is_read_and_written_back_is_what_it_was(table: Any, tmp_path: Path) -> None:
    files = sorted((tmp_path / "warehouse").rglob("*.avro"))
    before = [(m.manifest_path, m.added_rows_count) for m in _manifests(table)]
    entries = _entries(table)
    for file in files:
        content = read_records(file.read_bytes())
        assert content.records and content.kind in ("manifest_file", "manifest_entry")
        written = content.to_bytes()
        assert read_records(written) == content
        file.write_bytes(written)
    # Sizes that a list has of its manifests are checked by no reader of PyIceberg.
    assert [(m.manifest_path, m.added_rows_count) for m in _manifests(table)] == before
    assert _entries(table) == entries


def _entries(table: Any) -> list[Any]:
    files = [e.data_file for m in _manifests(table) for e in m.fetch_manifest_entry(table.io)]
    return [
        (f.file_path, f.record_count, f.file_size_in_bytes, dict(f.lower_bounds), dict(f.upper_bounds))
        for f in files
    ]


def _manifests(table: Any) -> list[Any]:
    return list(read_manifest_list(table.io.new_input(table.current_snapshot().manifest_list)))


def test_a_file_that_was_cut_is_none(tmp_path: Path, table: Any) -> None:
    data = next((tmp_path / "warehouse").rglob("snap-*.avro")).read_bytes()
    for size in (0, 3, 200, len(data) - 20, len(data) - 1):
        with pytest.raises((NotAvro, KeyError)):
            read_records(data[:size])
