"""The graph of a project's tables: what each reads, the order of refreshes, and the selection of tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from lakesmith.errors import Problem, ProjectError, UsageError
from lakesmith.graph.check_keys import column_problems, lookup_problems, taken_problems
from lakesmith.graph.check_references import cycle_problems, nearest_table, reference_problems
from lakesmith.graph.check_sql import Analysed, analyse_queries
from lakesmith.graph.inputs import inputs_of, named_by_rules
from lakesmith.graph.spellings import as_spelt
from lakesmith.project.definitions import Project, TableDefinition, TableName
from lakesmith.project.files import FolderFiles, ProjectFiles, scratch_folder
from lakesmith.project.loaded import LoadedProject, load_cached, sorted_problems
from lakesmith.sql.analysis import AnalysisCache
from lakesmith.sql.model import SqlAnalysis


@dataclass(frozen=True, slots=True)
class Node:
    """A table in the graph.

    ``inputs``: the tables it reads, each once, in the order of its query (of a Python table: of its
    parameters). ``analysis`` is None for sourced and Python tables. ``after``: the tables that its rules
    name, which are refreshed before it where that makes no circle.
    """

    definition: TableDefinition
    inputs: tuple[TableName, ...] = ()
    analysis: SqlAnalysis | None = None
    after: tuple[TableName, ...] = ()

    @property
    def name(self) -> TableName:
        return self.definition.name

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for ``explain``: what makes the table differ from run to run, or gives it a column that Spark
        names."""
        if self.analysis is None:
            return ()
        clocks = (f"{use} differs from run to run" for use in self.analysis.nondeterministic)
        unnamed = (
            f"{notice.text} at line {notice.line} has no name: Spark chooses one"
            for notice in self.analysis.notices
            if notice.kind == "unnamed_column"
        )
        return (*clocks, *unnamed)


@dataclass(frozen=True)
class Graph:
    """All tables. ``levels``: the tables of a level, sorted by name, read only tables of earlier levels."""

    levels: tuple[tuple[TableName, ...], ...]
    _nodes: Mapping[TableName, Node]
    _readers: Mapping[TableName, tuple[TableName, ...]] = field(repr=False)

    @cached_property
    def order(self) -> tuple[TableName, ...]:
        """All tables, each after the tables it reads."""
        return tuple(name for level in self.levels for name in level)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, in ``order``."""
        return tuple(self._nodes[name] for name in self.order)

    def node(self, name: TableName) -> Node:
        """Returns the node of a table. Raises KeyError if there is no such table."""
        return self._nodes[name]

    def readers(self, name: TableName) -> tuple[TableName, ...]:
        """Returns the tables whose queries name ``name``, sorted."""
        return self._readers.get(name, ())

    def upstream(self, name: TableName) -> tuple[TableName, ...]:
        """Returns every table that ``name`` depends on, directly or not, in ``order``, without itself."""
        return self._sorted(_reachable(name, lambda at: self._nodes[at].inputs))

    def downstream(self, name: TableName) -> tuple[TableName, ...]:
        """Returns every table that depends on ``name``, directly or not, in ``order``, without itself."""
        return self._sorted(_reachable(name, self.readers))

    def _sorted(self, names: set[TableName]) -> tuple[TableName, ...]:
        return tuple(sorted(names, key=self._places.__getitem__))

    @cached_property
    def _places(self) -> dict[TableName, int]:
        return {name: place for place, name in enumerate(self.order)}


def build_graph(project: Project, analyses: Mapping[TableName, SqlAnalysis]) -> Graph:
    """Returns the graph of a project whose references are valid (``check_references``).

    Args:
        project: the tables.
        analyses: of every table whose query is SQL.

    Raises:
        ProjectError: LS133, the tables read each other in a circle.
    """
    problems = cycle_problems(project, analyses)
    if problems:
        raise ProjectError(problems)
    names = [table.name for table in project.tables]
    nodes = {
        table.name: Node(
            table, inputs_of(table, analyses), analyses.get(table.name), named_by_rules(table, names)
        )
        for table in project.tables
    }
    readers = {
        name: tuple(sorted(node.name for node in nodes.values() if name in node.inputs)) for name in nodes
    }
    levels = _levels(nodes)
    at = {name: number for number, level in enumerate(levels) for name in level}
    earlier = {
        name: replace(node, after=tuple(other for other in node.after if at[other] < at[name]))
        for name, node in nodes.items()
    }
    return Graph(levels, earlier, readers)


def _levels(nodes: Mapping[TableName, Node]) -> tuple[tuple[TableName, ...], ...]:
    levels: list[tuple[TableName, ...]] = []
    waiting = dict(nodes)
    while waiting:
        free = [node for node in waiting.values() if not waiting.keys() & set(node.inputs)]
        chosen = [node for node in free if not waiting.keys() & set(node.after)] or free
        ready = tuple(sorted(node.name for node in chosen))
        levels.append(ready)
        for name in ready:
            del waiting[name]
    return tuple(levels)


def _reachable(start: TableName, step: Callable[[TableName], Iterable[TableName]]) -> set[TableName]:
    found: set[TableName] = set()
    open_names = list(step(start))
    while open_names:
        name = open_names.pop()
        if name not in found:
            found.add(name)
            open_names += step(name)
    return found


def select(graph: Graph, patterns: Sequence[str]) -> tuple[TableName, ...]:
    """Returns the tables that match any of the patterns, in the graph's order; without a pattern, all.

    A pattern is ``bronze.orders``, ``silver.*``, ``+gold.x`` (with upstream) or ``bronze.x+`` (with
    downstream).

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
    expected = (
        "layer.name, a pattern such as silver.*, +name with upstream tables, name+ with downstream tables"
    )
    return Problem(
        "LS201", f"no table is called {text}", None, expected, hint=nearest_table(text, set(graph.order))
    )


_SAYS: frozenset[str] = frozenset({"_batch", "_source_file", "_source_position"})


def ties_note(graph: Graph, node: Node) -> str | None:
    """Returns a note on how ties of ``latest_by`` are settled, unless it is by arrival in one input alone."""
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
    """Whether the table has the columns with the arrival of a row."""
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


CACHE = "cache"
"""The folder inside ``.lakesmith/`` (see ``scratch_folder``) for what can be made again at any time."""


def load(
    root: Path,
    target: str | None = None,
    environ: Mapping[str, str] = os.environ,
    files: ProjectFiles | None = None,
) -> tuple[Project, Graph]:
    """Returns the project in the folder ``root``, for ``target`` or its default one, and the graph of its
    tables. ``files``: how its files are read, by default as they are.

    Raises:
        ProjectError: with every problem, sorted by place: those of ``parse_project``, LS130 to LS136.
    """
    loaded = load_project(root, target, environ, files)
    cache = AnalysisCache(scratch_folder(root.absolute()) / CACHE)
    analysed = analyse_queries(loaded.project, cache.analyse)
    loaded = replace(loaded, project=as_spelt(loaded.project, analysed.analyses))
    problems = (*loaded.problems, *graph_problems(loaded, analysed))
    if problems:
        raise ProjectError(sorted_problems(problems))
    cache.save()
    return loaded.project, build_graph(loaded.project, analysed.analyses)


def load_project(
    root: Path,
    target: str | None = None,
    environ: Mapping[str, str] = os.environ,
    files: ProjectFiles | None = None,
) -> LoadedProject:
    """Returns the project without the graph of its tables; a broken one as far as it can be read."""
    folder = scratch_folder(root.absolute()) / CACHE
    return load_cached(files or FolderFiles(root.absolute()), target, environ, folder)


def graph_problems(loaded: LoadedProject, analysed: Analysed) -> tuple[Problem, ...]:
    """Returns every problem between the tables, and of their SQL."""
    project, analyses = loaded.project, analysed.analyses
    return (
        *analysed.problems,
        *reference_problems(project, analyses, loaded.declared),
        *cycle_problems(project, analyses),
        *column_problems(project, analyses),
        *taken_problems(project, analyses),
        *lookup_problems(project, analyses),
    )
