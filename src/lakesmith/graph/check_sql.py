"""Checks that every SQL text of a project can be parsed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lakesmith.errors import Place, Problem
from lakesmith.graph.inputs import line_of
from lakesmith.project.definitions import Project, SqlQuery, TableDefinition, TableName
from lakesmith.sql.functions import of_several_rows
from lakesmith.sql.model import SqlAnalysis
from lakesmith.sql.tokens import SqlParseError, tokenize

_CONDITION = "SELECT 1 FROM its_own WHERE\n"


@dataclass(frozen=True, slots=True)
class Analysed:
    """The analyses of the valid queries, and the problems of all others."""

    analyses: dict[TableName, SqlAnalysis]
    problems: tuple[Problem, ...]


def analyse_queries(project: Project, analyse: Callable[[str], SqlAnalysis]) -> Analysed:
    """Analyses every query, ``delete_when`` and ``where`` of a rule.

    Args:
        project: the tables.
        analyse: ``sql_analysis.analyse``, or that of an AnalysisCache.

    Returns:
        Problems: LS130 SQL that cannot be read, at its line; LS136 SQL that has no place in a definition.
    """
    analyses: dict[TableName, SqlAnalysis] = {}
    problems: list[Problem] = []
    for table in project.tables:
        problems += _condition_problems(table, analyse)
        if isinstance(table.query, SqlQuery):
            try:
                analyses[table.name] = analyse(table.query.text)
            except SqlParseError as error:
                problems.append(_unreadable(error, f"the query of {table.name}", table.query))
            else:
                problems += _time_travel(table.query, analyses[table.name])
    return Analysed(analyses, tuple(problems))


def _condition_problems(table: TableDefinition, analyse: Callable[[str], SqlAnalysis]) -> Iterator[Problem]:
    for what, condition in _conditions(table):
        try:
            found = analyse(_CONDITION + condition.text)
        except SqlParseError as error:
            yield _unreadable(error, f"{what} of {table.name}", condition, lines_before=1)
            continue
        if against := _not_of_the_row(condition.text, found):
            yield Problem(
                "LS136",
                f"{what} of {table.name} is not decided by the row alone",
                condition.place,
                "a condition that is the same whenever the row is checked",
                against,
                "compute it in the query, and check its result",
            )
        for reference in found.references[1:]:
            expected = "a condition over the row's own columns"
            yield Problem(
                "LS136",
                f"{what} of {table.name} reads another table",
                condition.place,
                expected,
                reference.name,
            )


def _not_of_the_row(condition: str, found: SqlAnalysis) -> str | None:
    """The part of a condition that depends on the clock, on chance, or on other rows."""
    if found.nondeterministic:
        return found.nondeterministic[0].name
    return of_several_rows(tokenize(condition))


def _conditions(table: TableDefinition) -> Iterator[tuple[str, SqlQuery]]:
    if table.delete_when is not None:
        place = dict(table.settings_from).get("delete_when", table.place)
        yield "delete_when", SqlQuery(table.delete_when, place)
    for rule in table.rules:
        for where in rule.wheres:
            yield "where in a rule", SqlQuery(where, rule.place)


def _unreadable(error: SqlParseError, what: str, query: SqlQuery, lines_before: int = 0) -> Problem:
    place = line_of(query, max(1, error.line - lines_before))
    near = f"{error.message}, near {error.near!r}" if error.near else error.message
    return Problem("LS130", f"{what} cannot be read", place, found=near, hint=error.hint)


def _time_travel(query: SqlQuery, analysis: SqlAnalysis) -> Iterator[Problem]:
    for notice in analysis.notices:
        if notice.kind == "time_travel":
            place: Place = line_of(query, notice.line)
            hint = "remove it: each run reads its inputs at exactly the snapshots it planned and records"
            yield Problem("LS136", "a definition cannot travel in time", place, found=notice.text, hint=hint)
