"""What a table reads, with the places in its files, and the columns that it is certain to have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lakesmith.errors import Place
from lakesmith.project.definitions import (
    OnNewColumn,
    Project,
    PythonQuery,
    SqlQuery,
    TableDefinition,
    TableName,
)
from lakesmith.quality.model import leaves
from lakesmith.sql.model import SqlAnalysis


@dataclass(frozen=True, slots=True)
class Input:
    """One reference: the parts of the name as written, and its place."""

    parts: tuple[str, ...]
    place: Place

    @property
    def name(self) -> TableName | None:
        """The table; None if the reference does not have two parts."""
        return TableName(*self.parts) if len(self.parts) == 2 else None


def references_of(table: TableDefinition, analyses: Mapping[TableName, SqlAnalysis]) -> Iterator[Input]:
    """Yields every reference in the table's query, in order and with repetitions. SQL without an analysis has
    none."""
    query = table.query
    if isinstance(query, PythonQuery):
        yield from (Input((name.layer, name.name), query.place) for _, name in query.arguments)
    elif isinstance(query, SqlQuery) and table.name in analyses:
        for reference in analyses[table.name].references:
            yield Input(reference.parts, line_of(query, reference.line))


def inputs_of(table: TableDefinition, analyses: Mapping[TableName, SqlAnalysis]) -> tuple[TableName, ...]:
    """Returns the tables that a query names, each once, in order."""
    names = (reference.name for reference in references_of(table, analyses))
    return tuple(dict.fromkeys(name for name in names if name is not None))


def named_by_rules(table: TableDefinition, names: Iterable[TableName]) -> tuple[TableName, ...]:
    """Returns the other tables whose names are in the parameters of a table's rules."""
    checks = (rule.check for rule in table.gates if rule.check is not None)
    every = {text.lower() for check in checks for leaf in leaves(check) for text in leaf.parameters}
    texts = {text for text in every if "." in text}
    others = (name for name in names if name != table.name) if texts else ()
    return tuple(name for name in others if any(str(name).lower() in text for text in texts))


def line_of(query: SqlQuery, line: int) -> Place:
    """Returns the place of a line of the query's text, counted from 1."""
    start = query.place
    return start if start.line is None else Place(start.file, start.line + line - 1)


Columns = dict[TableName, tuple[str, ...] | None]


def known_columns(project: Project, analyses: Mapping[TableName, SqlAnalysis]) -> Columns:
    """Returns the columns of each table in order; None if only a run can know them.

    That is so for inferred or evolving sources, Python tables, expressions without a name, and stars over
    such tables.
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
