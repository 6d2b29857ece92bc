"""What every command begins with: the project, its graph and its lake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lakesmith.cli.guard import remember
from lakesmith.errors import Problem, UsageError
from lakesmith.execute.decide import Decider
from lakesmith.execute.lake import Lake
from lakesmith.graph.graph import Graph
from lakesmith.graph.load import load
from lakesmith.graph.selection import select
from lakesmith.project.definitions import Project, TableName
from lakesmith.project.nearest import listed


@dataclass(frozen=True)
class Opened:
    """A project that was read without a problem."""

    project: Project
    graph: Graph
    lake: Lake

    def names(self, patterns: Sequence[str]) -> tuple[TableName, ...]:
        """The selected tables in the graph's order, all of them without a pattern. Raises UsageError for unknown ones."""
        return tuple(select(self.graph, patterns)) if patterns else self.graph.order

    def one(self, text: str) -> TableName:
        """The one table that ``text`` names. Raises UsageError LS201 for an unknown one, LS205 for several."""
        found = select(self.graph, [text])
        if len(found) == 1:
            return found[0]
        names = listed(map(str, found))
        raise UsageError(Problem("LS205", f"{text} is more than one table", None, "one table", names))

    def decider(self, full: Sequence[TableName] = ()) -> Decider:
        """Decides on this project's tables."""
        return Decider(self.graph, self.lake, frozenset(full))


def open_project(root: Path, target: str | None) -> Opened:
    """Reads the project. Raises ProjectError with every problem found."""
    project, graph = load(root.resolve(), target)
    remember(project)
    return Opened(project, graph, Lake.open(project))
