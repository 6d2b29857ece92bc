"""Which tables a command means: ``bronze.orders``, ``silver.*``, ``+gold.x`` (with upstream), ``bronze.x+`` (with downstream)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from lakesmith.errors import Problem, UsageError
from lakesmith.graph.check_references import nearest_table
from lakesmith.graph.graph import Graph
from lakesmith.project.definitions import TableName


def select(graph: Graph, patterns: Sequence[str]) -> tuple[TableName, ...]:
    """The tables that any of the patterns means, in the graph's order; all of them without a pattern.

    Raises:
        UsageError: LS201 for every pattern that means no table.
    """
    if not patterns:
        return graph.order
    found: set[TableName] = set()
    problems: list[Problem] = []
    for pattern in patterns:
        names = set(_matching(graph, pattern))
        problems += [] if names else [_unknown(graph, pattern)]
        found |= names
    if problems:
        raise UsageError(problems)
    return tuple(name for name in graph.order if name in found)


def _matching(graph: Graph, pattern: str) -> Iterator[TableName]:
    text = pattern.removeprefix("+").removesuffix("+")
    for name in graph.order:
        if fnmatchcase(str(name), text):
            yield name
            yield from graph.upstream(name) if pattern.startswith("+") else ()
            yield from graph.downstream(name) if pattern.endswith("+") else ()


def _unknown(graph: Graph, pattern: str) -> Problem:
    text = pattern.strip("+")
    expected = "layer.name, a pattern such as silver.*, +name for what it is made from, name+ for what is made from it"
    return Problem(
        "LS201", f"no table is called {text}", None, expected, hint=nearest_table(text, set(graph.order))
    )
