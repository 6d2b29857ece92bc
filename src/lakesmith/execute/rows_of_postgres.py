"""The rows of a table in PostgreSQL, as a lake has them: read without a JVM."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, cast

from lakesmith.catalog.family import sidecar_of
from lakesmith.execute.lake import Lake
from lakesmith.plan.facts import TableFacts
from lakesmith.project.definitions import READ_COLUMNS, PostgresSource, TableDefinition, TableName

_COLUMNS: Final = tuple(column for column, _ in READ_COLUMNS)


def known_keys(
    lake: Lake, table: TableDefinition, source: PostgresSource, facts: TableFacts
) -> dict[str, str | None]:
    """Returns the keys of the rows that were read last, each with its hash, from table and quarantine."""
    if facts.state is None or facts.state.head is None:
        return {}
    rows = _scanned(lake, table.name, facts.state.head.snapshot_id, "_source_file", *_COLUMNS)
    if (pinned := facts.base.pin("quarantine")) is not None and pinned.snapshot is not None:
        kept = _scanned(
            lake, sidecar_of(table.name, "quarantine"), pinned.snapshot, "source_file", "row", "raw"
        )
        rows += filter(None, map(_in_quarantine, kept))
    own = [row for row in rows if row["_row_key"] and _is_of(table, source, row)]
    newest: dict[str, str | None] = {}
    for row in sorted(own, key=lambda row: row["_read_at"]):
        if row["_change"] == "delete":
            newest.pop(row["_row_key"], None)
        else:
            newest[row["_row_key"]] = row.get("_row_hash")
    return newest


@dataclass(frozen=True, slots=True)
class WrongRows:
    """Rows that earlier versions of lakesmith made or deleted wrongly, and the landing files that have them.

    ``pieces``: the rows that are lines of a document in another row. ``lost``: keys whose row was deleted
    because PostgreSQL wrote the key in another way. Forgetting the files makes the next run read them again.
    """

    pieces: int = 0
    lost: int = 0
    files: tuple[str, ...] = ()


def wrong_rows(lake: Lake, table: TableDefinition, source: PostgresSource, facts: TableFacts) -> WrongRows:
    """Returns what is wrong in the rows of a source, by the table alone."""
    if facts.state is None or facts.state.head is None:
        return WrongRows()
    snapshot = facts.state.head.snapshot_id
    found = _scanned(lake, table.name, snapshot, "_source_file", where="_row_key IS NULL")
    pieces = [row["_source_file"] for row in found if f"/{source.path}/" in f"/{row['_source_file']}"]
    lost = {} if source.is_growing else _lost(lake, table, source, snapshot)
    return WrongRows(len(pieces), len(lost), tuple(sorted({*pieces, *lost.values()})))


_Place = tuple[datetime, int]


def _lost(lake: Lake, table: TableDefinition, source: PostgresSource, snapshot: int) -> dict[Any, str]:
    """Returns the keys that were deleted, although a row is there whose key has another text, each with the
    landing file of the delete."""
    deleted = "_change = 'delete'"
    if not _scanned(lake, table.name, snapshot, "_row_key", where=deleted):
        return {}
    columns = ("_source_file", "_source_position", *_COLUMNS, *source.key)
    newest: dict[str, tuple[_Place, dict[str, Any]]] = {}
    for row in _scanned(lake, table.name, snapshot, *columns):
        if row["_row_key"] and _is_of(table, source, row):
            place = (row["_read_at"], row["_source_position"])
            newest[row["_row_key"]] = max(newest.get(row["_row_key"], (place, row)), (place, row), key=_place)
    by_value = defaultdict(list)
    for place, row in newest.values():
        by_value[repr([row[name] for name in source.key])].append((place, row))
    return {
        value: last[1]["_source_file"]
        for value, rows in by_value.items()
        if (last := max(rows, key=_place))[1]["_change"] == "delete"
        and any(row["_change"] != "delete" for _, row in rows)
    }


def _place(found: tuple[_Place, dict[str, Any]]) -> _Place:
    return found[0]


def _is_of(table: TableDefinition, source: PostgresSource, row: Mapping[str, Any]) -> bool:
    """Whether a row with a key is of this source. Other sources have rows without a key, or elsewhere."""
    is_only = len(table.sources_of(PostgresSource)) == 1
    return is_only or f"/{source.path}/" in f"/{row['_source_file']}"


def _scanned(
    lake: Lake, name: TableName, snapshot: int, *fields: str, where: str = ""
) -> list[dict[str, Any]]:
    table = lake.catalog.reader().load_table((name.layer, name.name))
    # A table of an earlier version of lakesmith has no hashes.
    there = {each.name for each in table.schema().fields}.intersection(fields)
    scan = table.scan(where or "TRUE", snapshot_id=snapshot, selected_fields=tuple(there))
    return cast("list[dict[str, Any]]", scan.to_arrow().to_pylist())


def _in_quarantine(kept: Mapping[str, str | None]) -> dict[str, Any] | None:
    """Returns what a row in quarantine says of its reading; None if it says nothing."""
    try:
        row = json.loads(kept["row"] or kept["raw"] or "")
        found = {column: row[column] for column in _COLUMNS}
        read = datetime.fromisoformat(found["_read_at"]).astimezone(UTC)
    except (ValueError, TypeError, KeyError):
        return None
    return {**found, "_read_at": read, "_source_file": kept["source_file"]}
