"""Checks of the columns and lookups that tables declare.

A table must have the columns that its settings name, and must be able to have those of its query. A lookup as
of arrival must give each row at most one match, and the rest of its query must be row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakesmith.errors import Place, Problem, did_you_mean, listed
from lakesmith.graph.inputs import known_columns
from lakesmith.project.definitions import Project, SqlQuery, TableDefinition, TableName, is_taken
from lakesmith.project.table_parts import partition_field
from lakesmith.quoting import told_apart
from lakesmith.sql.model import Driven, SqlAnalysis

_OF_THE_TABLE: Final = frozenset({"partition_by", "columns"})
"""Settings that may also name a column that the query does not give. The others check or order its rows."""


def column_problems(project: Project, analyses: Mapping[TableName, SqlAnalysis]) -> tuple[Problem, ...]:
    """Returns LS134: a column of key, latest_by, track, partition_by, rules or columns that the table lacks.

    Tables are checked only if the project's files alone determine their columns. Names are compared without
    case, as Spark does.
    """
    columns = known_columns(project, analyses)
    return tuple(
        problem
        for table in project.tables
        if (known := columns[table.name]) is not None
        for problem in _problems(table, known)
    )


def taken_problems(project: Project, analyses: Mapping[TableName, SqlAnalysis]) -> tuple[Problem, ...]:
    """Returns LS105: a query gives a column with a name that Iceberg or lakesmith reserves.

    Only a run knows the names that a star, a Python table or an expression without a name gives.
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
            named, shown = repr(told_apart(column, there)), [told_apart(name, (column,)) for name in there]
            what = f"{setting} names the column {named}, which {lacking}"
            yield Problem("LS134", what, place, f"one of {listed(shown)}", hint=did_you_mean(column, shown))


def _named(table: TableDefinition) -> Iterator[tuple[str, str, Place]]:
    """Every column that a setting names: the setting, the column, the place."""
    places = dict(table.settings_from)
    for setting, columns in (("key", table.key), ("latest_by", table.latest_by), ("track", table.track)):
        yield from ((setting, column, places.get(setting, table.place)) for column in columns)
    for text in table.partition_by:
        yield "partition_by", partition_field(text)[1], places.get("partition_by", table.place)
    for rule in table.rules:
        yield from (("a rule", column, rule.place) for column in rule.columns)
    if not table.is_sourced:
        yield from (("columns", column.name, column.place or table.place) for column in table.columns)


def lookup_problems(project: Project, analyses: Mapping[TableName, SqlAnalysis]) -> tuple[Problem, ...]:
    """Returns LS137: a lookup as of arrival that is not an input, has no key, or is not joined by its whole
    key."""
    tables = {table.name: table for table in project.tables}
    return tuple(
        problem
        for table in project.tables
        if table.lookups
        for problem in _of_lookups(table, tables, analyses.get(table.name))
    )


def _of_lookups(
    table: TableDefinition, tables: Mapping[TableName, TableDefinition], analysis: SqlAnalysis | None
) -> Iterator[Problem]:
    place = dict(table.settings_from).get("lookups", table.place)
    if analysis is None:
        yield _problem(f"{table.name} is no SQL query", place, "a SELECT that joins the lookups")
        return
    if table.keeps_versions:
        yield _problem(f"{table.name} keeps versions", place, "history: type1, or a lookup as_of: now")
    read = {reference.name.lower() for reference in analysis.references}
    for name in [name for name in table.lookups if str(name) not in read]:
        yield _problem(f"the query of {table.name} does not read {name}", place, "a table that it joins")
        return
    if analysis.driven is None:
        expected = (
            "rows of one table, to which the lookups are joined by JOIN or LEFT JOIN ... ON, and nothing else"
        )
        found = analysis.shape.reason or "no join"
        yield _problem(
            f"{table.name} is more than rows with what is looked up for them", place, expected, found
        )
        return
    yield from _of_joins(table, tables, analysis.driven, place)


def _of_joins(
    table: TableDefinition, tables: Mapping[TableName, TableDefinition], driven: Driven, place: Place
) -> Iterator[Problem]:
    lookups = set(map(str, table.lookups))
    for joined in driven.joined:
        name = joined.table.lower()
        if name not in lookups:
            expected = "a lookup as_of: arrival, or no lookup that is"
            yield _problem(f"{table.name} joins {name}, which is none of its lookups", place, expected)
            continue
        looked_up = tables.get(TableName.parse(name))
        if looked_up is None:
            continue
        key = [column.lower() for column in looked_up.key]
        if not key or looked_up.keeps_versions:
            why = "keeps versions" if looked_up.keeps_versions else "has no key"
            yield _problem(f"{name} is looked up and {why}", place, "one row a key: key: [column, ...]")
        elif not set(key) <= set(joined.columns):
            expected = f"ON with each of {', '.join(key)}, qualified, equal to something of the other table"
            found = ", ".join(joined.columns) or "none of them"
            yield _problem(f"{name} is not joined by the whole of its key", place, expected, found)


def _problem(what: str, place: Place, expected: str, found: str | None = None) -> Problem:
    return Problem("LS137", what, place, expected, found, "as_of: now allows any query")
