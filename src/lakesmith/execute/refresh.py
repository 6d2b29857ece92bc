"""How a table is refreshed, and why not more cheaply, in words. Pure, from the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lakesmith.catalog.record import Record
from lakesmith.execute.decide import query_of
from lakesmith.graph.graph import Graph, Node
from lakesmith.plan.cost import whole_below_bytes
from lakesmith.plan.facts import Query, remembered
from lakesmith.plan.fingerprint import NOTHING, Around
from lakesmith.plan.steps import Strategy
from lakesmith.project.definitions import OnChangedFile, TableName


@dataclass(frozen=True, slots=True)
class Refresh:
    """The strategy that a built table's definition allows: ``how`` a run refreshes it, ``why`` not with less,
    and what would be ``better`` (None: nothing)."""

    strategy: Strategy
    how: str
    why: str | None = None
    better: str | None = None


def refresh_of(
    graph: Graph, name: TableName, record: Record | None = None, besides: Around = NOTHING
) -> Refresh:
    """Returns how a table is refreshed; ``record``: its last batch's; ``besides``: what decides its rows
    besides its files."""
    node = graph.node(name)
    if node.definition.external is not None:
        return Refresh(Strategy.EXTERNAL, "it is a table of others, which is read as it is and never written")
    if node.definition.is_sourced:
        of_topic = node.definition.has_topics
        of_files = "each new file is read once and its rows are appended"
        return Refresh(Strategy.FILES, "each new record is read once and appended" if of_topic else of_files)
    query = query_of(node, besides)
    if not query.inputs:
        return Refresh(
            Strategy.FULL, "the query reads no table, so it runs once, and again when its definition changes"
        )
    if node.definition.exports is not None:
        (source,) = query.inputs
        how = (
            f"whenever an export comes, all that {source} has are compared, each with the one before it, "
            "and the result is swapped in"
        )
        return Refresh(Strategy.FULL, how, "an export that comes late changes what the one after it deletes")
    if record is not None:
        query = remembered(query, record)
    if query.row_wise is False:
        return _by_keys(query, query.why_not) or Refresh(
            Strategy.FULL,
            "the query runs over its whole inputs whenever one of them changed, and the result is swapped in",
            _both(query.why_not, query),
            _better(node, query),
        )
    return _incremental(graph, node, query)


def _incremental(graph: Graph, node: Node, query: Query) -> Refresh:
    (source,) = (name for name in query.inputs if name not in query.lookups)
    if not appends_only(graph, source):
        changes = f"rows of {source} are updated, deleted or recomputed, not only added"
        return _by_keys(query, changes) or Refresh(
            Strategy.FULL,
            f"the query runs over all of {source} whenever it changed, and the result is swapped "
            f"in{_looked_up_again(query)}",
            _both(changes, query),
            f"read what {source} is made from instead, if that only grows",
        )
    if node.definition.key:
        how = f"the query runs over the rows that are new in {source}; of each key the newest version wins"
        if node.definition.keeps_versions:
            how = (
                f"the query runs over the rows that are new in {source}; their versions follow the "
                "current row of their key,"
                f" and a key to which a late one comes is computed from all of {source}"
            )
        return Refresh(Strategy.UPSERT, how + _looked_up(query), *_python(query))
    how = f"the query runs over the rows that are new in {source}, and its result is appended"
    return Refresh(Strategy.APPEND, how + _looked_up(query), *_python(query))


def _looked_up_again(query: Query) -> str:
    names = " and ".join(map(str, query.lookups))
    return f"; all rows get what {names} say then" if names else ""


def _looked_up(query: Query) -> str:
    if not query.lookups:
        return ""
    names = " and ".join(map(str, query.lookups))
    return (
        f"; {names} as of their arrival: rows keep what they got, and only a full refresh looks it up again"
    )


def _by_keys(query: Query, why: str) -> Refresh | None:
    if query.not_by_keys is not None or query.lookups:
        return None
    inputs = " and ".join(map(str, query.inputs))
    return Refresh(
        Strategy.KEYS,
        f"the rows that changed in {inputs} tell which keys they can reach; those are recomputed, and "
        "rows that"
        " differ are replaced; sums, counts and extremes that follow from the changed rows alone are "
        "updated by"
        f" them; {_while_small()}",
        why,
    )


def _while_small() -> str:
    cold, warm = (whole_below_bytes(is_warm) // 1_000_000 for is_warm in (False, True))
    sizes = f"{cold} MB, or {warm} MB in a session that stays (up),"
    return f"while its inputs hold less than {sizes} it is refreshed in full"


def _both(why: str, query: Query) -> str:
    against = query.not_by_keys
    return why if against is None or against == why else f"{why}; not incremental by key: {against}"


def _python(query: Query) -> tuple[str | None, str | None]:
    if query.row_wise is not None:
        return None, None
    return (
        "it is Python: whether each row is computed by itself is only known once Spark has planned it; "
        "where it is"
        " not, the table is refreshed in full",
        "write it as SQL, which can be read beforehand",
    )


_BETTER: Final = {
    "deterministic: true": "deterministic: true, if its rows depend on its inputs alone",
    "emit: closed": "a table of the same windows without emit, which this one reads",
    "one row for all rows": "group by something, if only by day, and add up in the query that reads it",
    "LIMIT": "rank by key instead: row_number() OVER (PARTITION BY ... ORDER BY ...) and a condition on it",
    "without PARTITION BY": "a PARTITION BY, so that a change reaches one partition and not every row",
    "subquery in an expression": "a join (LEFT SEMI JOIN for EXISTS and IN) in place of the subquery",
    "with itself": "a window function over the table in place of the join, or another table for one side",
    "column of its key": "a key that the query takes from what it groups by, joins on, or reads as it is",
    "tells which rows": "the columns that it groups by, or is joined by, in its result",
}
"""By a part of the reason against it: what would allow an incremental refresh by key."""


def _better(node: Node, query: Query) -> str | None:
    if node.notes and node.analysis and node.analysis.nondeterministic:
        return "leave out what differs from run to run"
    against = query.not_by_keys or ""
    known = next((better for part, better in _BETTER.items() if part in against), None)
    return (
        known or "a query that groups, joins, ranks by key or computes each row by itself, without the rest"
    )


def appends_only(graph: Graph, name: TableName) -> bool:
    """Whether a table, as it is declared, only ever gains rows (as long as nobody deletes any)."""
    definition = graph.node(name).definition
    if definition.external is not None:
        # Nothing is declared of it: what its snapshots did, each plan sees.
        return True
    if definition.is_sourced:
        return all(source.on_changed_file is not OnChangedFile.REPLACE for source in definition.sources)
    if definition.key:
        return False
    return refresh_of(graph, name).strategy is Strategy.APPEND
