"""Declared types that a table of files cannot get: its rows are there as they were taken, and no query makes them anew."""

from __future__ import annotations

from collections.abc import Iterator

from lakesmith.catalog.state import TableState
from lakesmith.errors import Problem
from lakesmith.plan.settings import with_renamings
from lakesmith.project.definitions import Column, TableDefinition, TableName
from lakesmith.sources.columns.types import remembered, type_changes


def type_problem(table: TableDefinition, state: TableState | None) -> Problem | None:
    """LS507 for the first column whose declared type is none that the table's widens to without new data."""
    return next((_problem(table.name, *change) for change in _changed(table, state)), None) if state else None


def _changed(table: TableDefinition, state: TableState) -> Iterator[tuple[Column, str]]:
    there = {column.name.lower(): column.type for column in with_renamings(table, state).columns}
    for column in table.columns:
        old = there.get(column.name.lower())
        if None not in (old, column.type) and old != column.type and not _widens(old or "", column):
            yield column, old or ""


def _widens(old: str, column: Column) -> bool:
    new = column.type or ""
    return type_changes(old, remembered(new, old) if "<" in new else new, column.name) is not None


def _problem(table: TableName, column: Column, old: str) -> Problem:
    return Problem(
        "LS507",
        f"column {column.name} of {table} cannot change its type in place",
        place=column.place,
        expected=f"{old}, or a type it widens to without new data",
        found=column.type,
        hint=f"declare {old} again and CAST it in a query that reads {table}; or have the files taken anew:"
        f" `lakesmith drop {table}`, then `lakesmith run` (files that are not in their folder any more do not come back)",
    )
