"""What a table reads, with the places in its files that say so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lakesmith.errors import Place
from lakesmith.project.definitions import PythonQuery, SqlQuery, TableDefinition, TableName
from lakesmith.sql.model import SqlAnalysis


@dataclass(frozen=True, slots=True)
class Input:
    """One reference: the name's parts as written, and where."""

    parts: tuple[str, ...]
    place: Place

    @property
    def name(self) -> TableName | None:
        """The table; None when the reference does not have two parts."""
        return TableName(*self.parts) if len(self.parts) == 2 else None


def references_of(table: TableDefinition, analyses: Mapping[TableName, SqlAnalysis]) -> Iterator[Input]:
    """Every reference in the table's query, in its order, repeated ones too; none when its SQL could not be analysed."""
    query = table.query
    if isinstance(query, PythonQuery):
        yield from (Input((name.layer, name.name), query.place) for _, name in query.arguments)
    elif isinstance(query, SqlQuery) and table.name in analyses:
        for reference in analyses[table.name].references:
            yield Input(reference.parts, line_of(query, reference.line))


def inputs_of(table: TableDefinition, analyses: Mapping[TableName, SqlAnalysis]) -> tuple[TableName, ...]:
    """The tables a query names, each once, in its order."""
    names = (reference.name for reference in references_of(table, analyses))
    return tuple(dict.fromkeys(name for name in names if name is not None))


def line_of(query: SqlQuery, line: int) -> Place:
    """The place of a line of the query's text, counted from 1."""
    start = query.place
    return start if start.line is None else Place(start.file, start.line + line - 1)
