"""A record's snapshot written without a JVM, on a catalog made by hand; what Iceberg makes of it is tested
with Spark.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lakesmith.catalog.avro_container import with_entries
from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.metadata import local_path
from lakesmith.catalog.record_commit import can_be_written, write_commit
from lakesmith.catalog.state import TableState
from lakesmith.errors import LockedError

LIST = b"Obj\x01" + bytes([2, 22]) + b"snapshot-id" + bytes([2]) + b"7" + bytes([0]) + b"S" * 16 + b"data"


def metadata(folder: Path, **other: Any) -> dict[str, Any]:
    snapshot = {
        "snapshot-id": 7, "sequence-number": 3, "timestamp-ms": 5000,
        "manifest-list": f"file:{folder}/list.avro",
        "summary": {"operation": "append", "total-records": "4", "added-records": "4"}, "schema-id": 0,
        "first-row-id": 0, "added-rows": 4,
    }  # fmt: skip
    return {
        "format-version": 3,
        "table-uuid": "u",
        "location": str(folder.parent),
        "last-sequence-number": 3,
        "last-updated-ms": 4_000_000_000_000,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": []}],
        "current-schema-id": 0,
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "properties": {},
        "next-row-id": 4,
        "current-snapshot-id": 7,
        "refs": {
            "main": {"snapshot-id": 7, "type": "branch", "max-ref-age-ms": 9},
            "lakesmith_work_dead": {"snapshot-id": 7, "type": "branch"},
            "theirs": {"snapshot-id": 7, "type": "tag"},
        },
        "snapshots": [snapshot],
        "snapshot-log": [{"snapshot-id": 7, "timestamp-ms": 5000}],
        "metadata-log": [],
        "something-new": {"kept": True},
        **other,
    }


def lake(root: Path, file: str = "00009-0a1b.metadata.json", **other: Any) -> tuple[LocalCatalog, TableState]:
    """A catalog with one table, and its state."""
    folder = root / "w" / "metadata"
    folder.mkdir(parents=True)
    (folder / "list.avro").write_bytes(LIST)
    (folder / file).write_text(json.dumps(metadata(folder, **other)))
    with closing(sqlite3.connect(root / "catalog.db")) as db, db:
        db.execute(
            "CREATE TABLE iceberg_tables (catalog_name, table_namespace, table_name, metadata_location,"
            " previous_metadata_location, iceberg_type)"
        )
        values = ("lake", "bronze", "orders", f"file:{folder / file}", None, "TABLE")
        db.execute("INSERT INTO iceberg_tables VALUES (?, ?, ?, ?, ?, ?)", values)
    catalog = LocalCatalog(root / "catalog.db", root / "w", busy_seconds=0.1)
    state = catalog.table("bronze", "orders")
    assert state is not None
    return catalog, state


def test_a_commit_is_main_with_the_record_and_nothing_else(tmp_path: Path) -> None:
    catalog, state = lake(tmp_path)
    assert can_be_written(state)
    commit = write_commit(state, {"lakesmith.record": "{}"})
    assert catalog.table("bronze", "orders") == state
    assert catalog.swap("bronze", "orders", commit)
    before, after = (json.loads(local_path(at).read_text()) for at in (commit.base, commit.location))
    assert Path(commit.location).name.startswith("00010-")
    new = after["snapshots"].pop()
    now = new.pop("timestamp-ms")
    assert now == before["last-updated-ms"], "the clock stands before the table's last change"
    assert new == {
        "sequence-number": 4,
        "snapshot-id": commit.snapshot,
        "parent-snapshot-id": 7,
        "summary": {
            "operation": "append",
            "changed-partition-count": "0",
            "total-records": "4",
            "lakesmith.record": "{}",
        },
        "manifest-list": commit.manifest_list,
        "schema-id": 0,
        "first-row-id": 4,
        "added-rows": 0,
    }
    changed = {key for key in after if after[key] != before[key]}
    logs = {"snapshot-log", "metadata-log"}
    assert changed == {"last-sequence-number", "current-snapshot-id", "refs"} | logs
    assert after["refs"] == {
        "main": {**before["refs"]["main"], "snapshot-id": commit.snapshot},
        "lakesmith_record": {"snapshot-id": commit.snapshot, "type": "tag"},
        "theirs": before["refs"]["theirs"],
    }
    assert after["metadata-log"] == [{"timestamp-ms": now, "metadata-file": commit.base}]
    listed = local_path(commit.manifest_list).read_bytes()
    assert listed.endswith(b"S" * 16 + b"data")
    assert str(commit.snapshot).encode() in listed


def test_a_table_that_moved_is_left_alone_and_nothing_is_left_behind(tmp_path: Path) -> None:
    catalog, state = lake(tmp_path)
    first, second = write_commit(state, {}), write_commit(state, {})
    assert catalog.swap("bronze", "orders", first)
    assert not catalog.swap("bronze", "orders", second)
    moved = catalog.table("bronze", "orders")
    assert moved is not None
    assert moved.metadata_location == first.location
    names = {
        Path(first.location).name, Path(first.manifest_list).name, "list.avro", "00009-0a1b.metadata.json",
    }  # fmt: skip
    assert {path.name for path in (tmp_path / "w/metadata").iterdir()} == names


def test_a_locked_catalog_is_told_and_the_commit_not_made(tmp_path: Path) -> None:
    catalog, state = lake(tmp_path)
    commit = write_commit(state, {})
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as db:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(LockedError, match="LS702"):
            catalog.swap("bronze", "orders", commit)
    assert catalog.table("bronze", "orders") == state
    assert not local_path(commit.location).exists()


def test_older_metadata_goes_as_the_table_has_it(tmp_path: Path) -> None:
    properties = {
        "write.metadata.previous-versions-max": "1",
        "write.metadata.delete-after-commit.enabled": "true",
    }
    catalog, state = lake(tmp_path, properties=properties)
    for _ in range(3):
        commit = write_commit(state, {})
        assert catalog.swap("bronze", "orders", commit)
        found = catalog.table("bronze", "orders")
        assert found is not None
        state = found
    left = {path.name for path in (tmp_path / "w/metadata").glob("*.metadata.json")}
    assert left == {Path(commit.base).name, Path(commit.location).name}


@pytest.mark.parametrize(
    "other",
    [
        {"file": "00009-0a1b.gz.metadata.json"},
        {"properties": {"write.metadata.path": "s3://elsewhere"}},
        {"snapshots": [], "refs": {}, "current-snapshot-id": None},
        {"format-version": 1},
    ],
)
def test_what_is_unusual_is_left_to_iceberg(tmp_path: Path, other: dict[str, Any]) -> None:
    _, state = lake(tmp_path, **other)
    assert not can_be_written(state)


@pytest.mark.parametrize("unusual", [{"first-row-id": None}, {"key-id": "k"}])
def test_a_snapshot_that_is_unusual_is_left_to_iceberg(tmp_path: Path, unusual: dict[str, Any]) -> None:
    folder = tmp_path / "w" / "metadata"
    snapshot = {**metadata(folder)["snapshots"][0], **unusual}
    _, state = lake(tmp_path, snapshots=[snapshot])
    assert not can_be_written(state)


@pytest.mark.parametrize("data", [b"PAR1", LIST[:8], b"Obj\x01" + bytes([2, 200])])
def test_what_is_no_manifest_list_is_not_copied(data: bytes) -> None:
    with pytest.raises(ValueError, match="Avro"):
        with_entries(data, {})


def test_a_header_of_several_blocks_is_read() -> None:
    first, second = bytes([1, 8, 2]) + b"a" + bytes([2]) + b"1", bytes([2, 2]) + b"b" + bytes([2]) + b"2"
    written = with_entries(b"Obj\x01" + first + second + b"\0end", {"b": "x" * 70})
    a, b = bytes([2]) + b"a" + bytes([2]) + b"1", bytes([2]) + b"b" + bytes([140, 1]) + b"x" * 70
    assert written == b"Obj\x01" + bytes([4]) + a + b + b"\0end"
