"""``lakesmith history``: the points of a table's past in words, newest first, without a JVM."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from lakesmith.api.words import count, iso, moment
from lakesmith.catalog.history import HistoryLine, describe_history
from lakesmith.catalog.record import Pin, Record
from lakesmith.cli.opening import open_project
from lakesmith.cli.options import HERE, JsonOption, ProjectOption, TableArgument, TargetOption, command_app
from lakesmith.cli.render.text import columns_aligned
from lakesmith.project.definitions import TableName

app = command_app()


@app.command()
def history(
    table: TableArgument,
    limit: Annotated[int, typer.Option(min=0, help="How many points, the newest; 0: all.")] = 20,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``history_command`` takes them."""
    raise typer.Exit(history_command(project, target, table, limit, json))


def history_command(root: Path, target: str | None, table: str, limit: int, as_json: bool) -> int:
    """Prints the newest ``limit`` points of the past of ``table`` (0: all); 0. Raises UsageError LS201, LS205."""
    opened = open_project(root, target)
    name = opened.one(table)
    state = opened.lake.catalog.table(name.layer, name.name)
    points = describe_history(state) if state else ()
    shown = tuple(reversed(points))[: limit or None]
    before = parents_of(points)
    if as_json:
        print(json.dumps([point_as_dict(point, before) for point in shown], indent=2))
    else:
        print("\n".join(history_lines(name, shown, before, len(points) - len(shown))))
    return 0


def parents_of(points: Sequence[HistoryLine]) -> Mapping[str, Record]:
    """The records among ``points`` by their attempts."""
    return {point.record.attempt: point.record for point in points if point.record}


def history_lines(
    name: TableName, shown: Sequence[HistoryLine], before: Mapping[str, Record], left_out: int
) -> list[str]:
    """The points as aligned lines; below a batch, what it read."""
    if not shown:
        return [f"{name} has never been written"]
    heads = columns_aligned(
        [(moment(point.published_ms), str(point.snapshot_id), _text(point)) for point in shown]
    )
    lines = [f"{name}, newest first: when, the snapshot (for query --as-of), what", ""]
    indent = " " * (heads[0].index(_text(shown[0])) if heads else 0)
    for head, point in zip(heads, shown, strict=True):
        lines += [head, *(f"{indent}  {read}" for read in _read(point, before))]
    return [*lines, *([f"({count(left_out, 'earlier point')}: --limit 0 shows all)"] if left_out else [])]


def _text(point: HistoryLine) -> str:
    refs = f" [{', '.join(point.refs)}]" if point.refs else ""
    return point.text + refs + (" (now)" if point.is_head else "")


def _read(point: HistoryLine, before: Mapping[str, Record]) -> Iterator[str]:
    """What the batch read: the files, or of each input the range of snapshots."""
    record = point.record
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
        return f"at snapshot {pin.snapshot}, what changed since {seen.snapshot} and the groups of which that does not tell all"
    return f"as a whole, at snapshot {pin.snapshot}"


def point_as_dict(point: HistoryLine, before: Mapping[str, Record]) -> dict[str, Any]:
    """A point of the past as JSON data."""
    return {
        "snapshot": point.snapshot_id,
        "published_at": iso(point.published_ms),
        "kind": point.kind.value,
        "what": point.text,
        "operation": point.operation,
        "batch": point.batch,
        "engine": point.engine,
        "refs": list(point.refs),
        "is_head": point.is_head,
        "read": list(_read(point, before)),
        "record": asdict(point.record) if point.record else None,
    }
