"""Projects whose lake is made of real files: metadata, catalog and ledger cache."""

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakesmith.catalog.record import Account, Pin, Record
from lakesmith.sources.ledger_cache import LedgerCache
from lakesmith.sources.ledger_view import EMPTY
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry

T0 = 1_780_000_000_000
"""Milliseconds since the epoch: the first snapshot of every table. 2026-05-28 20:26:40 UTC."""


@dataclass(frozen=True)
class Said:
    """What a command did: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The output as JSON."""
        return json.loads(self.out)


Cli = Callable[..., Said]


@dataclass
class Shop:
    """The project ``customer-orders`` with a lake of metadata files, written commit by commit."""

    root: Path
    format_version: int = 3
    _snapshots: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _refs: dict[str, dict[str, int]] = field(default_factory=dict)

    def commit(
        self, table: str, operation: str = "append", record: Record | None = None, **summary: object
    ) -> int:
        """Adds a snapshot to main and returns its id; ``total_records=3`` becomes ``total-records``."""
        snapshots = self._snapshots.setdefault(table, [])
        number = 1000 * (len(self._snapshots)) + len(snapshots) + 1
        texts = {key.replace("_", "-"): str(value) for key, value in summary.items()}
        snapshots.append(
            {
                "snapshot-id": number,
                **({"parent-snapshot-id": snapshots[-1]["snapshot-id"]} if snapshots else {}),
                "sequence-number": len(snapshots) + 1,
                "timestamp-ms": T0 + 60_000 * len(snapshots),
                "manifest-list": "none",
                "summary": {"operation": operation, **texts, **(record.to_summary() if record else {})},
            }
        )
        self.refer(table, "main", number)
        if record:
            self.refer(table, "lakesmith_record", number)
        return number

    def refer(self, table: str, ref: str, snapshot: int) -> None:
        """Moves a branch or tag, and writes the table down."""
        self._refs.setdefault(table, {})[ref] = snapshot
        self._write(table)

    def batch(self, table: str, number: int, rows: int, **facts: Any) -> int:
        """A batch of ``rows`` appended rows: its data, and its record. Returns the snapshot of the record."""
        counts = {"total_records": number * rows, "total_data_files": number}
        self.commit(table, added_records=rows, added_data_files=1, **counts)
        account = Account(read=rows, inserted=rows, rows_before=(number - 1) * rows, rows_after=number * rows)
        record = Record(
            attempt=f"{table}-{number}",
            parent=f"{table}-{number - 1}" if number > 1 else None,
            batch=number,
            kind=facts.pop("kind", "files" if table.startswith("bronze.") else "full"),
            started_ms=T0,
            fingerprint=facts.pop("fingerprint", "f"),
            account=facts.pop("account", account),
            **facts,
        )
        return self.commit(table, record=record, **counts)

    def ledger(self, table: str, *lines: tuple[Path, FileAction, int]) -> Pin:
        """A ledger in the cache: path, action, batch. Returns the pin that a record needs to find it."""
        entries = [
            LedgerEntry(_identity(path, self.root), "files", action, "attempt", batch, T0 + batch)
            for path, action, batch in lines
        ]
        pin = Pin(f"ledger-of-{table}", len(lines))
        LedgerCache(self.root / ".lakesmith" / "cache").save(pin, EMPTY.plus(entries))
        return pin

    def land(self, name: str, content: str = "customer_id\n1\n") -> Path:
        """A landing file of bronze.orders."""
        path = self.root / "landing" / "orders" / name
        path.write_text(content)
        return path

    def _write(self, table: str) -> None:
        layer, name = table.split(".")
        file = self.root / ".lakesmith" / "warehouse" / f"{table}-{len(self._snapshots[table])}.metadata.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        said = _metadata(table, self._snapshots[table], self._refs[table])
        said["format-version"] = self.format_version
        if description := self._description(layer, name):
            said["properties"]["comment"] = description
        file.write_text(json.dumps(said))
        with closing(sqlite3.connect(self.root / ".lakesmith" / "catalog.db")) as db, db:
            db.execute(
                "CREATE TABLE IF NOT EXISTS iceberg_tables (catalog_name TEXT, table_namespace TEXT,"
                " table_name TEXT,"
                " metadata_location TEXT, previous_metadata_location TEXT, iceberg_type TEXT,"
                " PRIMARY KEY (catalog_name, table_namespace, table_name))"
            )
            values = ("lake", layer, name, str(file), None, "TABLE")
            db.execute("INSERT OR REPLACE INTO iceberg_tables VALUES (?, ?, ?, ?, ?, ?)", values)

    def _description(self, layer: str, name: str) -> str | None:
        """What the table's file begins with, in the words that the table has as well."""
        file = self.root / "tables" / layer / f"{name}.yaml"
        first = file.read_text().partition("\n")[0] if file.exists() else ""
        return first.removeprefix("description: ") if first.startswith("description: ") else None


def _identity(path: Path, root: Path) -> FileIdentity:
    shown = path.relative_to(root).as_posix()
    if not path.exists():
        return FileIdentity(shown, 10, 10)
    stat = path.stat()
    return FileIdentity(shown, stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_ctime_ns)


def _metadata(table: str, snapshots: Sequence[Mapping[str, Any]], refs: Mapping[str, int]) -> dict[str, Any]:
    """Table metadata of format 3, as https://iceberg.apache.org/spec/#table-metadata has it."""
    types = {
        "customer_id": "long", "name": "string", "email": "string", "city": "string",
        "processed_time": "timestamptz",
    }  # fmt: skip
    fields = [
        {"id": number, "name": name, "required": False, "type": kind}
        for number, (name, kind) in enumerate(types.items(), 1)
    ]
    return {
        "format-version": 3,
        "table-uuid": f"uuid-of-{table}",
        "location": "nowhere",
        "last-updated-ms": T0,
        "properties": {"lakesmith.project": "customer_orders"},
        "schemas": [{"schema-id": 0, "type": "struct", "fields": fields}],
        "current-schema-id": 0,
        "current-snapshot-id": refs["main"],
        "refs": {
            ref: {"snapshot-id": at, "type": "tag" if ref == "lakesmith_record" else "branch"}
            for ref, at in refs.items()
        },
        "snapshots": list(snapshots),
        "snapshot-log": [
            {"snapshot-id": s["snapshot-id"], "timestamp-ms": s["timestamp-ms"]}
            for s in snapshots
            if "lakesmith.record" in s["summary"] or s["summary"]["operation"] != "append"
        ],
    }
