"""What of a project no story meets: tables, columns, rules, and ways in which tables are refreshed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lakesmith.graph.graph import Graph
from lakesmith.project.definitions import ADDED_COLUMNS, TableName
from lakesmith.stories.model import Story
from lakesmith.stories.staging import asked_tables


@dataclass
class Met:
    """What stories came by. ``columns``: of each table that was there; ``reasons``: why rows were put aside;
    ``strategies``: how batches refreshed each table, in their order."""

    columns: dict[TableName, tuple[str, ...]] = field(default_factory=dict)
    reasons: dict[TableName, set[str]] = field(default_factory=dict)
    strategies: dict[TableName, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gaps:
    """What no story meets.

    Attributes:
        tables: no story runs them.
        columns: by table those that no expected row names.
        rules: by table those that no row of a story breaks.
        unchanged: tables that no story changes once they are there.
    """

    tables: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]
    rules: Mapping[str, tuple[str, ...]]
    unchanged: tuple[str, ...]


def gaps(graph: Graph, stories: Sequence[Story], met: Met) -> Gaps:
    """Returns what of the project's own tables no story meets."""
    own = [name for name in graph.order if graph.node(name).definition.external is None]
    expected = {name for story in stories for name in story.expected}
    run = {name for story in stories for name in asked_tables(story, graph)}
    named = {name: set(_named(stories, name)) for name in own}
    columns = {
        str(name): tuple(
            column
            for column in met.columns.get(name, ())
            if column not in ADDED_COLUMNS and column.lower() not in named[name]
        )
        for name in own
        if name in expected
    }
    rules = {str(name): tuple(_unbroken(graph, name, met)) for name in own}
    return Gaps(
        tuple(str(name) for name in own if name not in run),
        {name: found for name, found in columns.items() if found},
        {name: found for name, found in rules.items() if found},
        tuple(str(name) for name in own if name in expected and len(met.strategies.get(name, ())) < 2),
    )


def _named(stories: Sequence[Story], table: TableName) -> Iterator[str]:
    for story in stories:
        for batch in story.batches:
            for each in batch.expected:
                if each.table == table and each.rows is not None:
                    yield from map(str.lower, each.rows.columns)


def _unbroken(graph: Graph, name: TableName, met: Met) -> Iterator[str]:
    reasons = "\n".join(met.reasons.get(name, ()))
    return (rule.text for rule in graph.node(name).definition.rules if rule.text not in reasons)


def lines_of_gaps(found: Gaps) -> Iterator[str]:
    """The gaps as lines for a person."""
    if not any((found.tables, found.columns, found.rules, found.unchanged)):
        yield "stories meet every table, column and rule"
        return
    yield "no story meets:"
    for name in found.tables:
        yield f"  {name}: it runs in none"
    for name in found.unchanged:
        yield f"  {name}: a change of it once it is there"
    for name, columns in found.columns.items():
        yield f"  {name}: columns {', '.join(columns)}"
    for name, rules in found.rules.items():
        yield from (f"  {name}: a row that breaks {rule}" for rule in rules)
