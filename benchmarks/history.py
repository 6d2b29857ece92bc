"""A project with a long past, made in seconds: published batches and ledger lines without running anything.

Used by ``idle.py``. The ledger's lines are written by lakesmith's own store. Batches are written into the
Iceberg metadata of each table: snapshots that repeat the newest one's data, each second one with a progress
record, as a batch leaves them.
"""

from __future__ import annotations

import json
import random
import sqlite3
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from lakesmith.catalog.record import SUMMARY_KEY, Pin
from lakesmith.catalog.state import MAIN, RECORD_TAG
from lakesmith.execute.lake import LEDGER_PIN
from lakesmith.execute.opened import read_project
from lakesmith.project.definitions import TableName
from lakesmith.sources.ledger import hash_entries
from lakesmith.sources.listing import list_files
from lakesmith.sources.model import FileAction, LedgerEntry

APPENDS = 20
Json = dict[str, Any]


class PastMaker:
    """Gives a project's tables a past."""

    def __init__(self, project: Path) -> None:
        self.root = project
        self.state = project / ".lakesmith"

    def grow(self, tables: Sequence[str], batches: int) -> int:
        """Gives every table ``batches`` more batches, and the first one all files of its landing folder.

        ``tables`` in order: each reads the one before. Returns the number of ledger lines.
        """
        pin, ledger_hash, lines = self._take_files(TableName.parse(tables[0]))
        inputs: dict[str, Pin] = {}
        for name in tables:
            table = MetadataFile(self._location(name))
            changes: Json = {} if inputs else {"ledger_hash": ledger_hash}
            head = table.add_batches(batches, changes, inputs, pin)
            self._swap(name, table.write())
            inputs[name] = Pin(table.data["table-uuid"], head)
        return lines

    def _take_files(self, name: TableName) -> tuple[Pin, str, int]:
        """Writes a ledger line for each file that has none; the pin, and the hash of the last batch's
        lines.
        """
        lake = read_project(self.root, None).lake
        (source,) = lake.project.table(name).sources
        facts = lake.facts(name)
        known, pin = lake.ledger(name, facts), facts.base.pin(LEDGER_PIN)
        found = [
            file for file in list_files(source, self.root, time.time_ns()).found if file.path not in known
        ]
        step = -(-len(found) // APPENDS)
        for number, begin in enumerate(range(0, len(found), step), start=2):
            attempt, now = str(uuid.uuid4()), time.time_ns() // 10**6
            files = found[begin : begin + step]
            entries = [
                LedgerEntry(file, source.name, FileAction.TAKEN, attempt, number, now) for file in files
            ]
            pin = lake.ledgers.append(name, pin, entries)
        if pin is None or not found:
            raise ValueError(f"no new files for {name}")
        return pin, hash_entries(entries), len(known) + len(found)

    def _location(self, name: str) -> str:
        namespace, _, table = name.partition(".")
        query = "SELECT metadata_location FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?"
        with sqlite3.connect(self.state / "catalog.db") as database:
            return str(database.execute(query, (namespace, table)).fetchone()[0])

    def _swap(self, name: str, location: str) -> None:
        namespace, _, table = name.partition(".")
        update = (
            "UPDATE iceberg_tables SET metadata_location = ? WHERE table_namespace = ? AND table_name = ?"
        )
        with sqlite3.connect(self.state / "catalog.db") as database:
            database.execute(update, (location, namespace, table))


class MetadataFile:
    """The metadata of one Iceberg table, as JSON."""

    def __init__(self, location: str) -> None:
        self.path = Path(unquote(urlparse(location).path))
        self.data: Json = json.loads(self.path.read_text())
        self.rng = random.Random(str(self.data["table-uuid"]))

    @property
    def head(self) -> Json:
        """Main's newest snapshot."""
        head = self.data["refs"][MAIN]["snapshot-id"]
        return next(each for each in self.data["snapshots"] if each["snapshot-id"] == head)

    def record(self) -> Json:
        """The progress record of main's newest snapshot."""
        record: Json = json.loads(self.head["summary"][SUMMARY_KEY])
        return record

    def add_batches(self, count: int, changes: Json, inputs: dict[str, Pin], ledger: Pin) -> int:
        """Adds batches whose records have ``changes``, the inputs at ``inputs`` and the ledger at ``ledger``;
        the head.
        """
        for _ in range(count):
            self._add_batch(changes, inputs, ledger)
        return int(self.head["snapshot-id"])

    def _add_batch(self, changes: Json, inputs: dict[str, Pin], ledger: Pin) -> None:
        record = {**self.record(), **changes}
        record |= {"parent": record["attempt"], "attempt": str(uuid.uuid4()), "batch": record["batch"] + 1}
        record["inputs"] |= {name: _as_json(pin) for name, pin in inputs.items() if name in record["inputs"]}
        for pin in record["sidecars"].values():
            if pin["uuid"] == ledger.uuid:
                pin["snapshot"] = ledger.snapshot
        totals = {key: value for key, value in self.head["summary"].items() if key.startswith("total-")}
        self._add_snapshot(totals)
        self._add_snapshot({**totals, SUMMARY_KEY: json.dumps(record, separators=(",", ":"))})

    def _add_snapshot(self, summary: dict[str, str]) -> None:
        snapshot = {**self.head, "parent-snapshot-id": self.head["snapshot-id"]}
        snapshot["snapshot-id"] = self.rng.getrandbits(62)
        snapshot["sequence-number"] = self.data["last-sequence-number"] + 1
        snapshot["timestamp-ms"] = self.data["last-updated-ms"] + 1
        snapshot["summary"] = {"operation": "append", **summary}
        if "next-row-id" in self.data:
            snapshot |= {"first-row-id": self.data["next-row-id"], "added-rows": 0}
        self.data["snapshots"].append(snapshot)
        self._move_to(snapshot, published=SUMMARY_KEY in summary)

    def _move_to(self, snapshot: Json, published: bool) -> None:
        self.data["last-sequence-number"] = snapshot["sequence-number"]
        self.data["last-updated-ms"] = snapshot["timestamp-ms"]
        self.data["current-snapshot-id"] = snapshot["snapshot-id"]
        for ref in (MAIN, RECORD_TAG):
            self.data["refs"][ref]["snapshot-id"] = snapshot["snapshot-id"]
        if published:
            entry = {"snapshot-id": snapshot["snapshot-id"], "timestamp-ms": snapshot["timestamp-ms"]}
            self.data.setdefault("snapshot-log", []).append(entry)

    def write(self) -> str:
        """Writes the metadata as a new file; its location."""
        path = self.path.with_name(f"90000-{uuid.uuid4()}.metadata.json")
        path.write_text(json.dumps(self.data))
        return f"file://{path}"


def _as_json(pin: Pin) -> Json:
    return {"uuid": pin.uuid, "snapshot": pin.snapshot}
