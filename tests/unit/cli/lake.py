"""A lake of real Iceberg tables, written by PyIceberg: what needs no Spark and no rows of sense."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.record import Account, Pin, Record
from lakesmith.execute.lake import Lake
from lakesmith.graph.graph import load
from lakesmith.project.definitions import TableName
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry

FILES = {
    "lakesmith.yaml": "name: shop\n",
    # As PyIceberg makes them.
    "tables/_defaults.yaml": "format_version: 2\n",
    "tables/bronze/orders.yaml": "source: {files: {path: landing/, format: csv}}\ncolumns: {id: bigint}\n",
    "tables/silver/orders.yaml": "from: bronze.orders\nkey: [id]\n",
    "tables/gold/number.sql": "SELECT count(*) AS n\nFROM silver.orders\n",
}
ROWS = pa.table({"id": pa.array([1], pa.int64())})


class IcebergLake:
    """The project in ``root``, with its tables as batches would have left them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        (root / "landing").mkdir()

    @property
    def catalog(self) -> LocalCatalog:
        """The catalog, opened anew."""
        state_dir = self.root / ".lakesmith"
        return LocalCatalog(state_dir / "catalog.db", state_dir / "warehouse")

    def take(self, number: int) -> None:
        """Lands a file and takes it: a batch of bronze.orders with its ledger and a row in quarantine."""
        file = self.root / f"landing/{number}.csv"
        file.write_text(f"id\n{number}\n")
        stat = file.stat()
        identity = FileIdentity(
            f"landing/{number}.csv", stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_ctime_ns
        )
        lake = Lake.open(load(self.root)[0])
        name = TableName("bronze", "orders")
        record = lake.facts(name).base.record
        entry = LedgerEntry(identity, "files", FileAction.TAKEN, f"attempt-{number}", number, 0)
        pin = lake.ledgers.append(name, record.sidecars["files"] if record else None, [entry])
        self.batch(
            "bronze.orders", number, files=pin, quarantine=self.write("lakesmith.bronze__orders__quarantine")
        )

    def batch(self, table: str, number: int, inputs: dict[str, Pin] | None = None, **sidecars: Pin) -> Pin:
        """Publishes a row of a table, with its record."""
        record = Record(
            attempt=f"{table}-{number}",
            parent=f"{table}-{number - 1}" if number > 1 else None,
            batch=number,
            kind="files" if table.startswith("bronze") else "full",
            started_ms=0,
            fingerprint="f",
            account=Account(read=1, inserted=1, rows_before=number - 1, rows_after=number),
            sidecars=sidecars,
            inputs=inputs or {},
        )
        return self.write(table, record.to_summary())

    def write(self, table: str, summary: dict[str, str] | None = None) -> Pin:
        """Appends a row to a table, which is made if need be."""
        iceberg: Any = self.catalog.writer()
        layer = table.partition(".")[0]
        iceberg.create_namespace_if_not_exists(layer)
        there = iceberg.create_table_if_not_exists(
            table, ROWS.schema, properties={"lakesmith.project": "shop"}
        )
        there.append(ROWS, snapshot_properties=summary or {})
        return Pin(str(there.metadata.table_uuid), there.current_snapshot().snapshot_id)

    def entries(self) -> dict[str, str]:
        """The metadata file of each table, as the catalog has it."""
        with closing(sqlite3.connect(self.root / ".lakesmith/catalog.db")) as db:
            sql = "SELECT table_namespace || '.' || table_name, metadata_location FROM iceberg_tables"
            return {name: location.removeprefix("file://") for name, location in db.execute(sql)}

    def forget(self, *names: str) -> None:
        """Takes entries out of the catalog, as nothing of ours does."""
        with closing(sqlite3.connect(self.root / ".lakesmith/catalog.db")) as db, db:
            for name in names:
                db.execute(
                    "DELETE FROM iceberg_tables WHERE table_namespace || '.' || table_name = ?", (name,)
                )
