"""Will a refresh by keys bring sums forward? As far as that is known before Spark has planned the query. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from lakesmith.catalog.record import Record
from lakesmith.plan.query import Query
from lakesmith.plan.steps import Strategy
from lakesmith.project.definitions import TableDefinition, TableName
from lakesmith.sql.exact_types import has_exact_mean, is_exact, places
from lakesmith.sql.model import SqlSums

ColumnTypes = Mapping[TableName, Mapping[str, str]]
"""Of tables the types of their columns, as far as they are known, by their names in lower case."""


def why_not_sums(
    table: TableDefinition,
    query: Query,
    moved: Sequence[TableName],
    types: ColumnTypes,
    record: Record | None,
) -> str | None:
    """What stands against it where rows of ``moved`` changed, or why that is not known; None where sums are brought forward.

    ``record``: of the table's last batch. It says for a query of one input what was done, whatever its text says. Nothing
    but what is shown depends on the answer: the batch asks Spark's plan (``spark.catalyst.summable``).
    """
    if table.key or table.checks:
        return "it has a key" if table.key else "it has rules"
    if len(moved) != 1:
        return f"rows of {' and '.join(map(str, moved))} changed"
    done = _done(query, record)
    if done is Strategy.SUMS:
        return None
    by_text = _by_text(query, moved[0], types)
    if by_text is None and record is not None and done is Strategy.KEYS:
        return f"its last refresh, batch {record.batch}, was by keys"
    return by_text


def _done(query: Query, record: Record | None) -> Strategy | None:
    """How the last batch refreshed the same query, where any change of its inputs is one of the same input."""
    if record is None or record.fingerprint != query.fingerprint or len(query.inputs) != 1:
        return None
    return next((each for each in (Strategy.SUMS, Strategy.KEYS) if each.value == record.kind), None)


def _by_text(query: Query, moved: TableName, types: ColumnTypes) -> str | None:
    if query.sums is None:
        return "it does not group rows" if query.row_wise is not None else "it is Python"
    if query.sums.against is not None:
        return query.sums.against
    if str(moved) not in query.sums.tables:
        return f"a row of {moved} may reach several rows that are added up, or fill up what is missing"
    return next(_inexact(query.sums, types), None)


def _inexact(sums: SqlSums, types: ColumnTypes) -> Iterator[str]:
    """What is not exact, or not known to be."""
    for name in sums.columns:
        yield from _unless(is_exact, f"sum({name})", "is not exact", _kinds(name, types))
    for name in sums.means:
        yield from _unless(has_exact_mean, f"avg({name})", "does not follow from a sum", _kinds(name, types))
    for kept, _, name in (cast.partition(" ") for cast in sums.casts):
        rounded = f"is rounded where it is cast to {kept} places"
        yield from _unless(partial(_fits, int(kept)), f"sum({name})", rounded, _kinds(name, types))


def _unless(is_right: Callable[[str], bool], what: str, wrong: str, kinds: Sequence[str]) -> Iterator[str]:
    if not kinds:
        yield f"{what}, whose type only Spark's plan tells"
    yield from (f"{what} of {kind} {wrong}" for kind in kinds if not is_right(kind))


def _kinds(name: str, types: ColumnTypes) -> list[str]:
    return [columns[name] for columns in types.values() if name in columns]


def _fits(kept: int, kind: str) -> bool:
    has = places(kind)
    return has is not None and has <= kept
