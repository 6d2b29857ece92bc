"""Lakes of any number of tables for the web page, written by PyIceberg: quick, and with rows of no sense."""

import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.record import Account, Pin, Record
from lakesmith.execute.decide import around
from lakesmith.graph.graph import load
from lakesmith.plan.fingerprint import definition_fingerprint

HOSTILE = """<script>document.title = "taken"</script>'"><img src=x onerror=alert(1)>{{ 7 * 7 }}"""
QUARANTINE = pa.schema(
    [
        pa.field("batch", pa.int64()),
        pa.field("reasons", pa.list_(pa.string())),
        pa.field("source_file", pa.string()),
        pa.field("source_position", pa.int64()),
        pa.field("source_modified_at", pa.timestamp("us", tz="UTC")),
        pa.field("raw", pa.string()),
        pa.field("row", pa.string()),
        pa.field("quarantined_at", pa.timestamp("us", tz="UTC")),
    ]
)


class MadeLake:
    """A project in ``root``: thirds of sourced tables, of tables that copy them, and of joins."""

    def __init__(self, root: Path, tables: int, seed: int = 1) -> None:
        self.root, self.batches = root, dict[str, Record]()
        self._pins: dict[str, Pin] = {}
        files = {"lakesmith.yaml": "name: made\n", "tables/_defaults.yaml": "format_version: 2\n"}
        random, third = Random(seed), (tables + 2) // 3
        for number in range(tables):
            kind, at = divmod(number, third)
            if kind == 0:
                files[f"tables/bronze/source_{at}.yaml"] = (
                    f"source: {{files: {{path: landing/{at}/, format: csv}}}}\ncolumns: {{id: bigint}}\n"
                )
            elif kind == 1:
                files[f"tables/silver/part_{at}.yaml"] = "key: [id]\n"
                files[f"tables/silver/part_{at}.sql"] = f"SELECT id FROM bronze.source_{at}\n"
            else:
                one, two = random.randrange(third), random.randrange(third)
                files[f"tables/gold/result_{at}.sql"] = (
                    f"SELECT a.id, count(*) AS n\nFROM silver.part_{one} a JOIN bronze.source_{two} b"
                    " ON a.id = b.id GROUP BY a.id\n"
                )
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        for at in range(third if tables else 0):
            (root / f"landing/{at}").mkdir(parents=True, exist_ok=True)
        self.catalog = self._catalog()
        self._writer: Any = self.catalog.writer() if tables else None

    def _catalog(self) -> LocalCatalog:
        state_dir = self.root / ".lakesmith"
        return LocalCatalog(state_dir / "catalog.db", state_dir / "warehouse")

    def kept(self) -> Callable[[], None]:
        """Keeps a copy beside it; a call puts the lake back at its place, as it is now."""
        copy, batches, pins = self.root.with_name(f"{self.root.name}-kept"), self.batches, self._pins
        shutil.copytree(self.root, copy)

        def put_back() -> None:
            shutil.rmtree(self.root)
            shutil.copytree(copy, self.root)
            self.batches, self._pins, self.catalog = {**batches}, {**pins}, self._catalog()
            self._writer = self.catalog.writer()

        self.batches, self._pins = {**batches}, {**pins}
        return put_back

    def publish(self, *tables: str, rows: int = 5, bad: int = 0, raw: str = HOSTILE) -> None:
        """Publishes a batch of ``rows`` rows of each of the tables (none: all), in their order."""
        project, graph = load(self.root)
        for node in graph.nodes:
            name = str(node.name)
            if tables and name not in tables:
                continue
            before = self.batches.get(name)
            inputs = {str(each): self._pins[str(each)] for each in node.inputs}
            had = before.account.rows_after if before else 0
            sidecars = dict(before.sidecars) if before else {}
            if bad:
                sidecars["quarantine"] = self._quarantine(name, bad, raw)
            number = before.batch + 1 if before else 1
            record = Record(
                attempt=f"{name}-{number}",
                parent=before.attempt if before else None,
                batch=number,
                kind="full" if before is None and inputs else "append" if inputs else "files",
                started_ms=time.time_ns() // 1_000_000,
                fingerprint=definition_fingerprint(node.definition, around(node, project)),
                account=Account(rows + bad, rows, quarantined=bad, rows_before=had, rows_after=had + rows),
                inputs=inputs,
                sidecars=sidecars,
            )
            self.batches[name] = record
            data = pa.table({"id": pa.array(range(had, had + rows), pa.int64())})
            self._pins[name] = self._append(name, data, record.to_summary())

    def _quarantine(self, name: str, bad: int, raw: str) -> Pin:
        now = datetime.now(UTC)
        row = [1, [f"id: not a bigint: {raw!r}"], "landing/0/a.csv", 2, now, raw, None, now]
        columns = [pa.array([each] * bad, field.type) for each, field in zip(row, QUARANTINE, strict=True)]
        table = pa.table(columns, schema=QUARANTINE)
        return self._append(f"lakesmith.{name.replace('.', '__')}__quarantine", table, {})

    def _append(self, name: str, data: pa.Table, summary: dict[str, str]) -> Pin:
        self._writer.create_namespace_if_not_exists(name.partition(".")[0])
        properties = {"lakesmith.project": "made", "write.parquet.compression-codec": "snappy"}
        there = self._writer.create_table_if_not_exists(name, data.schema, properties=properties)
        there.append(data, snapshot_properties=summary)
        return Pin(str(there.metadata.table_uuid), there.current_snapshot().snapshot_id)
