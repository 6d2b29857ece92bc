"""Everything about one table, and the meaning of an error code; without a JVM."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from lakesmith.api.access import Access
from lakesmith.api.reading import input_to_dict, table_to_dict
from lakesmith.api.words import count
from lakesmith.catalog.history import account_in_words
from lakesmith.catalog.state import TableState
from lakesmith.errors import ErrorCode, UsageError, error_codes
from lakesmith.execute.decide import around
from lakesmith.execute.refresh import Refresh, refresh_of
from lakesmith.execute.status import TableStatus, statuses
from lakesmith.graph.graph import Node, ties_note
from lakesmith.journal.reading import with_failures
from lakesmith.project.declaring import value_of
from lakesmith.project.definitions import PythonQuery, SqlQuery, TableDefinition


def explain_code(code: str) -> ErrorCode:
    """Returns what an error code means. Raises UsageError LS201 for an unknown one."""
    if (entry := error_codes().get(code)) is None:
        hint = "see docs/reference/errors.md for all codes"
        raise UsageError.of("LS201", f"there is no error code {code}", hint=hint)
    return entry


@dataclass(frozen=True, slots=True)
class Explained:
    """One table: its definition, its status, its state in the lake (None: not built), and its refresh."""

    node: Node
    status: TableStatus
    state: TableState | None
    refresh: Refresh
    readers: tuple[str, ...]
    ties: str | None = None

    @property
    def table(self) -> TableDefinition:
        return self.node.definition

    @property
    def format_version(self) -> int:
        """The Iceberg format version of the table; before it is built, the declared one."""
        return self.state.format_version if self.state else self.table.format_version

    @property
    def columns(self) -> list[tuple[str, str, str]]:
        """Name, type and description of each column."""
        return _columns(self)

    @property
    def settings(self) -> list[tuple[str, str, str]]:
        """Name, value in short and place (file:line) of each setting."""
        return settings_of(self.table)

    @property
    def notes(self) -> list[str]:
        """What else is worth knowing, and what is wrong."""
        return list(_notes(self))

    def to_dict(self) -> dict[str, Any]:
        """Everything about the table as JSON data."""
        table, refresh, record = self.table, self.refresh, self.status.record
        return {
            **table_to_dict(self.status),
            "description": table.description,
            "place": str(table.place),
            "refresh": {**asdict(refresh), "strategy": refresh.strategy.value},
            "inputs": [input_to_dict(position) for position in self.status.inputs],
            "format_version": self.format_version,
            "read_by": list(self.readers),
            "settings": [{"name": n, "value": v, "place": p} for n, v, p in self.settings],
            "columns": [{"name": n, "type": t, "doc": d or None} for n, t, d in self.columns],
            "rules": [rule.text for rule in table.rules],
            "gate": table.gate_in_words or None,
            "worth_knowing": self.notes,
            "last_batch": asdict(record) if record else None,
            "last_batch_in_words": account_in_words(record.account) if record else None,
        }


def explain(access: Access, table: str) -> Explained:
    opened = access.opened()
    name = opened.one(table)
    (status,) = with_failures(statuses(opened.decider(), (name,)), opened.project.state_dir)
    state = opened.lake.catalog.table(name.layer, name.name)
    readers = tuple(map(str, opened.graph.readers(name)))
    node = opened.graph.node(name)
    refresh = refresh_of(opened.graph, name, status.record, around(node, opened.lake.project))
    return Explained(node, status, state, refresh, readers, ties_note(opened.graph, node))


def settings_of(table: TableDefinition) -> list[tuple[str, str, str]]:
    """What was set: the name, the value in short, and the place (file:line) it was written at."""
    return [(name, _value(table, name), str(place)) for name, place in table.settings_from]


def _value(table: TableDefinition, name: str) -> str:
    match name:
        case "rules":
            return count(len(table.rules), "rule")
        case "columns":
            return count(len(table.columns), "column")
        case "source":
            return ", ".join(source.name for source in table.sources)
        case "query" | "from" | "function":
            return _query(table)
        case "schedule":
            return str(table.schedule or "on arrival")
        case "inputs" if isinstance(table.query, PythonQuery):
            return _short(tuple(f"{name}: {at}" for name, at in table.query.arguments))
    if name.startswith("source."):
        _, source, option = name.split(".", 2)
        return _short(next((value_of(at, option) for at in table.sources if at.name == source), None))
    return _short(value_of(table, name))


def _short(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return textwrap.shorten(str(value), 60, placeholder=" …") if value is not None else ""


def _query(table: TableDefinition) -> str:
    match table.query:
        case SqlQuery(_, place):
            return f"SQL in {place}"
        case PythonQuery():
            return f"{table.query.function} in {table.query.place}"
    return ""


def _columns(explained: Explained) -> list[tuple[str, str, str]]:
    """The columns the table has; before it is built, those declared or given by its query."""
    declared = {column.name.lower(): column for column in explained.table.columns}
    if explained.state is not None:
        docs = {key: column.doc for key, column in declared.items()}
        return [(c.name, c.type, c.doc or docs.get(c.name.lower()) or "") for c in explained.state.columns]
    given = explained.node.analysis.output_columns if explained.node.analysis else None
    names = given or tuple(column.name for column in explained.table.columns)
    if names and not explained.table.is_sourced:
        names = (*names, *explained.table.added_columns)
    found = [(name, declared.get(name.lower())) for name in names]
    return [(name, (c.type if c else None) or "?", (c.doc if c else None) or "") for name, c in found]


def _notes(explained: Explained) -> Iterator[str]:
    yield from explained.node.notes
    yield from explained.status.notes
    if explained.ties is not None and explained.ties not in explained.status.notes:
        yield explained.ties
    if explained.status.problem is not None:
        yield from explained.status.problem.lines()
