"""Names of columns in settings, spelt as the tables have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lakesmith.graph.inputs import known_columns
from lakesmith.project.definitions import Project, TableDefinition, TableName
from lakesmith.quoting import composed
from lakesmith.sql.model import SqlAnalysis


def as_spelt(project: Project, analyses: Mapping[TableName, SqlAnalysis]) -> Project:
    """Returns the project with ``key``, ``latest_by`` and ``track`` as their tables spell the columns.

    A name that a table has in any case stays. Only its composition may differ: ``ö`` as one character, or as
    an o with an accent behind it.
    """
    odd = {table.name for table in project.tables if not all(map(str.isascii, _named(table)))}
    if not odd:
        return project
    columns = known_columns(project, analyses)
    tables = (
        _respelt(table, columns[table.name] or ()) if table.name in odd else table for table in project.tables
    )
    return replace(project, tables=tuple(tables))


def _named(table: TableDefinition) -> tuple[str, ...]:
    return (*table.key, *table.latest_by, *table.track)


def _respelt(table: TableDefinition, there: tuple[str, ...]) -> TableDefinition:
    known, by_composition = set(map(str.lower, there)), {composed(name).lower(): name for name in there}

    def spelt(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(
            name if name.lower() in known else by_composition.get(composed(name).lower(), name)
            for name in names
        )

    return replace(table, key=spelt(table.key), latest_by=spelt(table.latest_by), track=spelt(table.track))
