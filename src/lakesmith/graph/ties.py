"""What settles ties of a keyed table's ``latest_by``, as far as its text tells (see ``spark.catalyst.arrival``)."""

from __future__ import annotations

from lakesmith.graph.graph import Graph, Node
from lakesmith.project.definitions import TableName

_SAYS: frozenset[str] = frozenset({"_batch", "_source_file", "_source_position"})


def ties_note(graph: Graph, node: Node) -> str | None:
    """What to say of ties, where it is not just arrival in one input that settles them."""
    table = node.definition
    driving = [name for name in node.inputs if name not in table.lookups]
    if not table.key or not driving:
        return None
    values = "ties of latest_by go by the values (a delete before a row, then the greatest)"
    if not any(_says_arrival(graph, name) for name in driving):
        verb = "does not say when its rows" if len(driving) == 1 else "do not say when their rows"
        return f"{values}: {' and '.join(map(str, driving))} {verb} arrived"
    if node.analysis is not None and node.analysis.merges is not None:
        return f"{values}: {node.analysis.merges} makes one row of several, which has no arrival of its own"
    if len(driving) > 1:
        inputs = ", ".join(map(str, driving))
        return f"ties of latest_by go by arrival; of two inputs by _ingested_at, then in the order {inputs}"
    return None


def _says_arrival(graph: Graph, name: TableName) -> bool:
    """Whether the table has the columns that say when a row arrived."""
    node = graph.node(name)
    if node.definition.is_sourced:
        return True
    if node.analysis is None:
        return False
    given = set[str]()
    for output in node.analysis.outputs:
        if output.name:
            given.add(output.name.lower())
        passing = next((each for each in node.inputs if str(each) == (output.star_of or "").lower()), None)
        if passing is not None and _says_arrival(graph, passing):
            given |= _SAYS - set(output.excluded)
    return given >= _SAYS
