"""How a table is kept up to date in the long run, and why not more cheaply: for people. Pure, from the graph alone."""

from __future__ import annotations

from dataclasses import dataclass

from lakesmith.execute.decide import query_of
from lakesmith.graph.graph import Graph, Node
from lakesmith.plan.planner import WORTH_KEYS_BYTES, Query
from lakesmith.plan.steps import Strategy
from lakesmith.project.definitions import OnChangedFile, TableName


@dataclass(frozen=True, slots=True)
class Refresh:
    """The strategy a table's definition allows once it has been built.

    ``how`` says what a run does; ``why`` why it does not do with less, and ``better`` what would allow that: both None
    where nothing cheaper is to be had.
    """

    strategy: Strategy
    how: str
    why: str | None = None
    better: str | None = None


def refresh_of(graph: Graph, name: TableName) -> Refresh:
    """How the table ``name`` is refreshed."""
    node = graph.node(name)
    if node.definition.is_sourced:
        return Refresh(Strategy.FILES, "each new file is read once and its rows are appended")
    query = query_of(node)
    if query.row_wise is False:
        return _by_keys(node, query, query.why_not) or Refresh(
            Strategy.FULL,
            "the query runs over its whole inputs whenever one of them changed, and the result is swapped in",
            query.why_not,
            _better(node, query),
        )
    return _incremental(graph, node, query)


def _incremental(graph: Graph, node: Node, query: Query) -> Refresh:
    (source,) = query.inputs
    if not appends_only(graph, source):
        changes = f"rows of {source} are updated, deleted or recomputed, not only added"
        return _by_keys(node, query, changes) or Refresh(
            Strategy.FULL,
            f"the query runs over all of {source} whenever it changed, and the result is swapped in",
            changes,
            f"read what {source} is made from instead, if that only grows",
        )
    if node.definition.key:
        how = f"the query runs over the rows that are new in {source}; of each key the newest version wins"
        if node.definition.keeps_versions:
            how = (
                f"the query runs over the rows that are new in {source}; their versions follow the current row of their key,"
                f" and a key to which a late one comes is computed from all of {source}"
            )
        return Refresh(Strategy.UPSERT, how, *_python(query))
    how = f"the query runs over the rows that are new in {source}, and its result is appended"
    return Refresh(Strategy.APPEND, how, *_python(query))


def _by_keys(node: Node, query: Query, why: str) -> Refresh | None:
    """Refreshing by keys, where the definition allows it."""
    if not query.by_keys or node.definition.key or node.definition.checks:
        return None
    inputs = " and ".join(map(str, query.inputs))
    return Refresh(
        Strategy.KEYS,
        f"the rows that changed in {inputs} tell which keys they can reach; those are computed anew, and rows that"
        f" differ are replaced; while its inputs hold less than {WORTH_KEYS_BYTES // 1_000_000} MB it is computed as a whole",
        why,
    )


def _python(query: Query) -> tuple[str | None, str | None]:
    if query.row_wise is not None:
        return None, None
    return (
        "it is Python: whether each row is computed by itself is only known once Spark has planned it; where it is"
        " not, the table is recomputed as a whole",
        "write it as SQL, which can be read beforehand",
    )


def _better(node: Node, query: Query) -> str | None:
    if len(query.inputs) != 1:
        return (
            "what looks at each row of one table by itself, in a table of its own above this one, is done once a row;"
            " what is joined is recomputed"
        )
    if node.notes and node.analysis and node.analysis.nondeterministic:
        return "leave out what differs from run to run"
    return (
        "a query that computes each row by itself; group, sort and count in a table of its own, further down"
    )


def appends_only(graph: Graph, name: TableName) -> bool:
    """Whether a table, as it is declared, only ever gains rows (as long as nobody deletes any)."""
    definition = graph.node(name).definition
    if definition.is_sourced:
        return all(source.on_changed_file is not OnChangedFile.REPLACE for source in definition.sources)
    if definition.key:
        return False
    return refresh_of(graph, name).strategy is Strategy.APPEND
