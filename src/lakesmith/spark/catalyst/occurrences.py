"""The inputs as a query reads them: a table named twice occurs twice, each with rows of its own.

So a table can be joined with itself: its changed rows on one side, all its rows on the other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from lakesmith.plan.steps import TableStep
from lakesmith.project.definitions import PythonQuery, SqlQuery, TableName
from lakesmith.sql.analysis import analyse


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One of the times that a query names ``table``, counted from 0 in its text or parameters."""

    table: TableName
    number: int = 0


Occurrences = Mapping[str, Occurrence]
"""The occurrences by the aliases under which a query's plan reads them."""


def occurrences_of(step: TableStep) -> tuple[Occurrence, ...]:
    """The occurrences of a step's inputs in its query, in the order of the inputs."""
    named = Counter(_named(step.table.query))
    return tuple(
        Occurrence(item.table, number)
        for item in step.inputs
        for number in range(named[str(item.table).lower()])
    )


def as_arguments(query: PythonQuery) -> dict[str, Occurrence]:
    """Which occurrence each parameter of a Python table is."""
    seen: defaultdict[TableName, Iterator[int]] = defaultdict(count)
    return {parameter: Occurrence(table, next(seen[table])) for parameter, table in query.arguments}


def _named(query: SqlQuery | PythonQuery | None) -> list[str]:
    if isinstance(query, SqlQuery):
        return [reference.name.lower() for reference in analyse(query.text).references]
    return [str(table).lower() for _, table in query.arguments] if query else []
