"""Calls that read metadata and start no Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lakesmith.api.access import Access
from lakesmith.api.words import count, iso
from lakesmith.catalog.history import HistoryLine, describe_history
from lakesmith.catalog.record import Pin, Record
from lakesmith.execute.erase import Receipts
from lakesmith.execute.status import InputPosition, Standing, TableStatus, statuses
from lakesmith.journal.reading import with_failures
from lakesmith.project.definitions import TableName
from lakesmith.serve.state import UpState, is_alive, is_here, read_state


@dataclass(frozen=True, slots=True)
class Status:
    """The selected tables, the process of ``up`` (None: none runs), and the unfinished erasures."""

    tables: tuple[TableStatus, ...]
    up: UpState | None
    erasures_begun: int

    @property
    def has_refused(self) -> bool:
        """Whether a table cannot be refreshed until somebody does something."""
        return any(each.standing is Standing.REFUSED for each in self.tables)

    def to_dict(self) -> dict[str, Any]:
        return {"tables": [table_to_dict(each) for each in self.tables], "up": up_to_dict(self.up)}


def status(access: Access, select: Sequence[str]) -> Status:
    opened = access.opened()
    state_dir = opened.project.state_dir
    found = with_failures(statuses(opened.decider(), opened.names(select)), state_dir)
    return Status(found, read_state(state_dir), Receipts(state_dir).begun())


def table_to_dict(status: TableStatus) -> dict[str, Any]:
    return {
        "table": str(status.name),
        "status": status.standing.value,
        "why": status.why,
        "batch": status.record.batch if status.record else None,
        "published_at": None if status.published_ms is None else iso(status.published_ms),
        "rows": status.rows,
        "quarantined": status.quarantined,
        "files_waiting": status.files_waiting,
        "inputs": [input_to_dict(position) for position in status.inputs],
        "notes": list(status.notes),
        "health": asdict(status.health) if status.health else None,
        "export_behind": status.export or None,
        "problem": status.problem.as_dict() if status.problem else None,
    }


def input_to_dict(position: InputPosition) -> dict[str, Any]:
    """A position in an input as JSON data."""
    return {**asdict(position), "table": str(position.table), "change": position.change.value}


def up_to_dict(state: UpState | None) -> dict[str, Any] | None:
    """``is_alive`` is None for a process of another machine, of which that cannot be known."""
    if state is None:
        return None
    return {"is_alive": is_alive(state) if is_here(state) else None, **asdict(state)}


@dataclass(frozen=True, slots=True)
class History:
    """The newest points of a table's past, newest first, and how many earlier ones there are."""

    table: TableName
    points: tuple[HistoryLine, ...]
    left_out: int

    def to_dict(self) -> list[dict[str, Any]]:
        return list(map(_line_to_dict, self.points))


def _line_to_dict(line: HistoryLine) -> dict[str, Any]:
    return {
        "snapshot": line.snapshot_id,
        "published_at": iso(line.published_ms),
        "kind": line.kind.value,
        "what": line.text,
        "operation": line.operation,
        "batch": line.batch,
        "engine": line.engine,
        "refs": list(line.refs),
        "is_head": line.is_head,
        "read": list(line.read),
        "record": asdict(line.record) if line.record else None,
    }


def history(access: Access, table: str, limit: int | None) -> History:
    opened = access.opened()
    name = opened.one(table)
    state = opened.lake.catalog.table(name.layer, name.name)
    lines = describe_history(state) if state else ()
    before = {line.record.attempt: line.record for line in lines if line.record}
    shown = tuple(reversed(lines))[:limit]
    points = tuple(replace(line, read=tuple(_read(line, before))) for line in shown)
    return History(name, points, len(lines) - len(points))


def _read(line: HistoryLine, before: Mapping[str, Record]) -> Iterator[str]:
    """What the batch read: the files, or of each input the range of snapshots."""
    record = line.record
    if record is None:
        return
    if record.files:
        yield f"took {count(record.files, 'file')}"
    parent = before.get(record.parent or "")
    for table, pin in record.inputs.items():
        yield f"read {table} {_range(record, pin, parent.inputs.get(table) if parent else None)}"
    if record.idle:
        yield f"{' and '.join(record.idle)} had gone quiet"


def _range(record: Record, pin: Pin, seen: Pin | None) -> str:
    if record.kind in ("append", "upsert", "advance") and seen is not None:
        if seen.snapshot == pin.snapshot:
            return f"at snapshot {pin.snapshot}, nothing new"
        return f"after snapshot {seen.snapshot}, up to {pin.snapshot}"
    if record.kind == "keys" and seen is not None:
        if seen.snapshot == pin.snapshot:
            return f"at snapshot {pin.snapshot}, the rows of its keys"
        return f"at snapshot {pin.snapshot}, what changed since {seen.snapshot} and the rows of its keys"
    if record.kind == "sums" and seen is not None:
        if seen.snapshot == pin.snapshot:
            return f"at snapshot {pin.snapshot}, to join with what changed"
        since = f"what changed since {seen.snapshot} and the groups of which that does not tell all"
        return f"at snapshot {pin.snapshot}, {since}"
    return f"in full, at snapshot {pin.snapshot}"
