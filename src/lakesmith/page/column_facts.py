"""The columns of a table: what they mean, how they came to be as they are, and what they are made from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lakesmith.catalog.state import ColumnState, TableState
from lakesmith.errors import LakesmithError
from lakesmith.execute.opened import Opened
from lakesmith.graph.graph import Node
from lakesmith.project.definitions import SqlQuery, TableName
from lakesmith.sql.origins import Schema, origins


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to a column, in words; ``at_ms``: the first snapshot that has it, None: not written yet,
    or expired."""

    text: str
    at_ms: int | None


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column. ``sources``: the columns that it is made from, each with its table; ``origin``: that in
    words, where there are none."""

    name: str
    type: str
    doc: str
    is_key: bool
    history: tuple[Change, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    origin: str = ""


def columns_of_table(opened: Opened, explained: Any) -> tuple[tuple[ColumnFacts, ...], tuple[Change, ...]]:
    """Returns the columns of a table, and those that were dropped; ``explained``: what ``explain`` has."""
    state: TableState | None = explained.state
    changes, dropped = history_of(state) if state else ({}, ())
    ids = {each.name: each.field_id for each in state.columns} if state else {}
    made = _made_from(opened, explained.node)
    added = {name.lower() for name in explained.table.added_columns}
    found = []
    for name, kind, doc in explained.columns:
        sources, origin = made[name.lower()]
        if name.lower() in added:
            sources, origin = (), "lakesmith"
        history = changes.get(ids.get(name, -1), ())
        found.append(ColumnFacts(name, kind, doc, name in explained.table.key, history, sources, origin))
    return tuple(found), dropped


Made = tuple[tuple[tuple[str, str], ...], str]
"""The columns that a column is made from, or words for what is not known."""


def _made_from(opened: Opened, node: Node) -> Mapping[str, Made]:
    """Returns by column, in lower case, the columns that it is made from, or words for what is not known."""
    query = node.definition.query
    if query is None:
        return defaultdict(lambda: ((), "its source"))
    inputs = ", ".join(map(str, node.inputs))
    if not isinstance(query, SqlQuery):
        return defaultdict(lambda: ((), f"Python, which reads {inputs}"))
    found = origins(query.text, tuple(_schemas(opened, node.inputs)))
    made = {
        name: ((), "unknown") if each is None else (each, "" if each else "no column: computed")
        for name, each in found.items()
    }
    return defaultdict(lambda: ((), "unknown"), made)


def _schemas(opened: Opened, names: tuple[TableName, ...]) -> Iterator[Schema]:
    for name in names:
        try:
            state = opened.lake.catalog.table(name.layer, name.name)
        except LakesmithError:
            state = None
        columns = [(each.name, each.type) for each in state.columns] if state else []
        if not columns:
            declared = opened.graph.node(name).definition.columns
            columns = [(each.name, each.type or "string") for each in declared]
        yield str(name), tuple(columns)


def history_of(state: TableState) -> tuple[dict[int, tuple[Change, ...]], tuple[Change, ...]]:
    """Returns what happened to each present column, by its id, and the columns that were dropped.

    Columns are known by their ids: a renamed column is the same one.
    """
    found: dict[int, list[Change]] = {}
    dropped: dict[int, Change] = {}
    before: dict[int, ColumnState] | None = None
    for schema, at_ms in _in_time(state):
        now = {each.field_id: each for each in state.schemas[schema]}
        for each in now.values():
            text = _change(before, each)
            if text:
                found.setdefault(each.field_id, []).append(Change(text, at_ms))
        for gone in (before or {}).keys() - now.keys():
            dropped[gone] = Change(f"{before[gone].name} {before[gone].type}", at_ms)  # type: ignore[index]
        before = now
    present = {each.field_id for each in state.columns}
    kept = {column: tuple(changes) for column, changes in found.items() if column in present}
    return kept, tuple(each for column, each in dropped.items() if column not in present)


def _change(before: Mapping[int, ColumnState] | None, now: ColumnState) -> str:
    if before is None:
        return ""
    then = before.get(now.field_id)
    if then is None:
        return "added"
    changes = [f"renamed from {then.name}"] if then.name != now.name else []
    changes += [f"was {then.type}"] if then.type != now.type else []
    changes += (
        ["required since" if now.required else "may be NULL since"] if then.required != now.required else []
    )
    return ", ".join(changes)


def _in_time(state: TableState) -> Iterator[tuple[int, int | None]]:
    """Yields the schemas in the order of their use, with the time of the first snapshot of each."""
    used: list[tuple[int, int | None]] = []
    for snapshot in sorted(state.snapshots.values(), key=lambda each: each.sequence_number):
        schema = snapshot.schema_id
        if schema is not None and schema in state.schemas and (not used or used[-1][0] != schema):
            used.append((schema, snapshot.committed_ms))
    seen = {schema for schema, _ in used}
    first = min(seen, default=-1)
    # Of schemas before the oldest snapshot no time is known.
    yield from ((schema, None) for schema in sorted(state.schemas) if schema < first and schema not in seen)
    yield from used
    last = state.schema_id
    if last is not None and last in state.schemas and (not used or used[-1][0] != last):
        yield last, None
