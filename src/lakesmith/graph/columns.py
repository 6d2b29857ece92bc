"""The columns each table has, as far as the project's files alone make it certain."""

from __future__ import annotations

from collections.abc import Mapping

from lakesmith.graph.inputs import inputs_of
from lakesmith.project.definitions import OnNewColumn, Project, SqlQuery, TableDefinition, TableName
from lakesmith.sql.model import SqlAnalysis

Columns = dict[TableName, tuple[str, ...] | None]


def known_columns(project: Project, analyses: Mapping[TableName, SqlAnalysis]) -> Columns:
    """The columns of each table in order; None where only a run can tell.

    That is so for inferred or evolving sources, Python tables, expressions without a name, and stars over such tables.
    """
    tables = {table.name: table for table in project.tables}
    found: Columns = {}
    for name in tables:
        _visit(name, tables, analyses, found)
    return found


def _visit(
    name: TableName,
    tables: Mapping[TableName, TableDefinition],
    analyses: Mapping[TableName, SqlAnalysis],
    found: Columns,
) -> None:
    if name in found or name not in tables:
        return
    found[name] = None  # a circle leads back here: nothing is known then
    for upstream in inputs_of(tables[name], analyses):
        _visit(upstream, tables, analyses, found)
    found[name] = _columns(tables[name], analyses.get(name), found)


def _columns(table: TableDefinition, analysis: SqlAnalysis | None, found: Columns) -> tuple[str, ...] | None:
    if table.is_sourced:
        return _sourced_columns(table)
    if not isinstance(table.query, SqlQuery) or analysis is None:
        return None
    schemas = {str(name): columns for name, columns in found.items() if columns is not None}
    given = analysis.columns_given(schemas)
    return None if given is None else (*given, *table.added_columns)


def _sourced_columns(table: TableDefinition) -> tuple[str, ...] | None:
    evolves = any(source.on_new_column is OnNewColumn.EVOLVE for source in table.sources)
    if evolves or not table.columns:
        return None
    return (*(column.name for column in table.columns), *table.added_columns)
