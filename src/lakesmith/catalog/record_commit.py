"""A record's snapshot without rows, committed without a JVM: a manifest list and a metadata file, for the
catalog to swap in. PyIceberg cannot write v3 tables. The specification
(https://iceberg.apache.org/spec/#table-metadata) needs little: the parent's manifests, the record, main and
the tag. All other metadata stays."""

from __future__ import annotations

import json
import os
import random
import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lakesmith.catalog.avro_container import with_entries
from lakesmith.catalog.metadata import local_path, read_metadata
from lakesmith.catalog.state import BRANCH_PREFIX, DELETES_OLD_METADATA, MAIN, RECORD_TAG, TableState

_FILE: Final = re.compile(r"(?P<folder>.*/)(?P<version>\d+)-[0-9a-f-]+\.metadata\.json")
_PREVIOUS_MAX: Final = "write.metadata.previous-versions-max"


@dataclass(frozen=True, slots=True)
class RecordCommit:
    """A commit that is written; swapping ``base`` for ``location`` in the catalog makes it. ``dropped``:
    older metadata files to delete then."""

    base: str
    location: str
    snapshot: int
    manifest_list: str
    dropped: tuple[str, ...] = ()

    def undo(self) -> None:
        _remove(self.location, self.manifest_list)

    def tidy(self) -> None:
        """Removes the metadata files that are not needed any more."""
        _remove(*self.dropped)


def can_be_written(state: TableState) -> bool:
    """Returns whether the commit can be written exactly: the table has had rows, and all metadata is
    known."""
    head = state.head
    if head is None or state.format_version not in (2, 3) or not _FILE.fullmatch(state.metadata_location):
        return False
    if "write.metadata.path" in state.properties or not head.manifest_list:
        return False
    entry = _snapshot(read_metadata(state.metadata_location), head.snapshot_id)
    # In a table that came from format 2, the next commit gives the manifests their first row ids.
    return "key-id" not in entry and (state.format_version == 2 or entry.get("first-row-id") is not None)


def write_commit(state: TableState, summary: Mapping[str, str]) -> RecordCommit:
    """Writes the files of the commit; the catalog knows nothing of them yet. Raises OSError."""
    data, match, head = (
        read_metadata(state.metadata_location),
        _FILE.fullmatch(state.metadata_location),
        state.head,
    )
    if match is None or head is None:
        raise ValueError(f"a record cannot be committed so to {state.name}")
    number, unique = random.getrandbits(62) + 1, uuid.uuid4()
    manifest_list = f"{match['folder']}snap-{number}-1-{unique}.avro"
    after, dropped = _after(
        data, state.metadata_location, _new_snapshot(data, number, manifest_list, summary)
    )
    location = f"{match['folder']}{int(match['version']) + 1:05}-{unique}.metadata.json"
    commit = RecordCommit(state.metadata_location, location, number, manifest_list, dropped)
    try:
        ids = {
            "snapshot-id": str(number),
            "parent-snapshot-id": str(head.snapshot_id),
            "sequence-number": str(after["last-sequence-number"]),
        }
        _write(manifest_list, with_entries(local_path(head.manifest_list).read_bytes(), ids))
        _write(location, json.dumps(after).encode())
    except OSError:
        commit.undo()
        raise
    return commit


def _snapshot(data: Mapping[str, Any], number: int) -> dict[str, Any]:
    return next(entry for entry in data["snapshots"] if entry["snapshot-id"] == number)


def _new_snapshot(
    data: Mapping[str, Any], number: int, manifest_list: str, summary: Mapping[str, str]
) -> dict[str, Any]:
    parent = _snapshot(data, data["refs"][MAIN]["snapshot-id"])
    totals = {key: value for key, value in parent["summary"].items() if key.startswith("total-")}
    lineage = {"first-row-id": data["next-row-id"], "added-rows": 0} if data["format-version"] >= 3 else {}
    return {
        "sequence-number": data["last-sequence-number"] + 1,
        "snapshot-id": number,
        "parent-snapshot-id": parent["snapshot-id"],
        # Never before the last change: Iceberg refuses metadata whose clock runs backwards.
        "timestamp-ms": max(time.time_ns() // 1_000_000, data["last-updated-ms"]),
        "summary": {"operation": "append", "changed-partition-count": "0", **totals, **summary},
        "manifest-list": manifest_list,
        "schema-id": data["current-schema-id"],
        **lineage,
    }


def _after(
    data: Mapping[str, Any], location: str, snapshot: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns the metadata with the snapshot as main's head, and the metadata files to delete."""
    number, now = snapshot["snapshot-id"], snapshot["timestamp-ms"]
    refs = {name: ref for name, ref in data["refs"].items() if not name.startswith(BRANCH_PREFIX)}
    refs |= {
        MAIN: {**data["refs"][MAIN], "snapshot-id": number},
        RECORD_TAG: {"snapshot-id": number, "type": "tag"},
    }
    log = [
        *data.get("metadata-log", ()),
        {"timestamp-ms": data["last-updated-ms"], "metadata-file": location},
    ]
    keep = max(1, int(data["properties"].get(_PREVIOUS_MAX, "100")))
    dropped = log[:-keep] if data["properties"].get(DELETES_OLD_METADATA, "false") == "true" else []
    after = {
        **data,
        "last-sequence-number": snapshot["sequence-number"],
        "last-updated-ms": now,
        "current-snapshot-id": number,
        "refs": refs,
        "snapshots": [*data["snapshots"], snapshot],
        "snapshot-log": [*data.get("snapshot-log", ()), {"snapshot-id": number, "timestamp-ms": now}],
        "metadata-log": log[-keep:],
    }
    return after, tuple(entry["metadata-file"] for entry in dropped)


def _remove(*locations: str) -> None:
    """Deletes a file and the checksum that Hadoop puts beside it."""
    for path in map(local_path, locations):
        for file in (path, path.with_name(f".{path.name}.crc")):
            file.unlink(missing_ok=True)


def _write(location: str, content: bytes) -> None:
    """Writes a new file to the disk itself: the catalog is about to name it."""
    path: Path = local_path(location)
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
