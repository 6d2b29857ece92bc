"""Checks that lookups whose values stay as they were give each row at most one match, and that the rest of the query is row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lakesmith.errors import Place, Problem
from lakesmith.project.definitions import Project, TableDefinition, TableName
from lakesmith.sql.model import Driven, SqlAnalysis


def lookup_problems(project: Project, analyses: Mapping[TableName, SqlAnalysis]) -> tuple[Problem, ...]:
    """LS137: a lookup as of arrival that is no input, has no key, or is not joined by the whole of it."""
    tables = {table.name: table for table in project.tables}
    return tuple(
        problem
        for table in project.tables
        if table.lookups
        for problem in _problems(table, tables, analyses.get(table.name))
    )


def _problems(
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
