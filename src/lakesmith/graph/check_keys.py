"""Checks that the columns a table's settings name are columns the table has, and that it can have those its query gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakesmith.errors import Place, Problem
from lakesmith.graph.columns import known_columns
from lakesmith.project.definitions import Project, SqlQuery, TableDefinition, TableName, is_taken
from lakesmith.project.nearest import did_you_mean, listed
from lakesmith.project.partitions import partition_field
from lakesmith.sql.model import SqlAnalysis

_OF_THE_TABLE: Final = frozenset({"partition_by", "columns"})
"""Settings that may also name a column which the table has besides those of its query. The others judge or order its rows."""


def column_problems(project: Project, analyses: Mapping[TableName, SqlAnalysis]) -> tuple[Problem, ...]:
    """LS134: a column of key, latest_by, track, partition_by, rules or columns that the table does not have.

    Only tables whose columns are known from the project's files are checked; names are compared as Spark does, without case.
    """
    columns = known_columns(project, analyses)
    return tuple(
        problem
        for table in project.tables
        if (known := columns[table.name]) is not None
        for problem in _problems(table, known)
    )


def taken_problems(project: Project, analyses: Mapping[TableName, SqlAnalysis]) -> tuple[Problem, ...]:
    """LS105: a query gives a column whose name Iceberg or lakesmith itself uses, so that the table cannot have it.

    What a star, a Python table or an expression without a name gives only a run can tell.
    """
    return tuple(
        problem
        for table in project.tables
        if isinstance(table.query, SqlQuery) and table.name in analyses
        for output in analyses[table.name].outputs
        if output.name is not None and (problem := _taken(table, table.query, output.name))
    )


def _taken(table: TableDefinition, query: SqlQuery, name: str) -> Problem | None:
    what = f"the query of {table.name} gives the column {name!r}, which"
    if name.lower() in table.added_columns:
        what = f"{what} a table that keeps versions has besides"
        return Problem("LS105", what, query.place, hint=f"give it another name: AS source_{name.lower()}")
    if is_taken(name):
        hint = f"give it another name: AS {name.strip('_') or 'name'}"
        return Problem("LS105", f"{what} is lakesmith's or Iceberg's own", query.place, hint=hint)
    return None


def _problems(table: TableDefinition, known: tuple[str, ...]) -> Iterator[Problem]:
    given = known if table.is_sourced else known[: len(known) - len(table.added_columns)]
    lacking = (
        f"{table.name} does not have" if table.is_sourced else f"the query of {table.name} does not give"
    )
    for setting, column, place in _named(table):
        there = known if setting in _OF_THE_TABLE else given
        if column.lower() not in map(str.lower, there):
            what = f"{setting} names the column {column!r}, which {lacking}"
            yield Problem("LS134", what, place, f"one of {listed(there)}", hint=did_you_mean(column, there))


def _named(table: TableDefinition) -> Iterator[tuple[str, str, Place]]:
    """Every column that a setting names: the setting, the column, where."""
    places = dict(table.settings_from)
    for setting, columns in (("key", table.key), ("latest_by", table.latest_by), ("track", table.track)):
        yield from ((setting, column, places.get(setting, table.place)) for column in columns)
    for text in table.partition_by:
        yield "partition_by", partition_field(text)[1], places.get("partition_by", table.place)
    for rule in table.rules:
        yield from (("a rule", column, rule.place) for column in rule.columns)
    if not table.is_sourced:
        yield from (("columns", column.name, column.place or table.place) for column in table.columns)
