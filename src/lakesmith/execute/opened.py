"""What every call begins with: the project, its graph and its lake, as they are now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lakesmith.errors import UsageError, listed
from lakesmith.execute.decide import Decider
from lakesmith.execute.lake import Lake
from lakesmith.graph.graph import Graph, load, select
from lakesmith.project.definitions import Project, TableName


@dataclass(frozen=True)
class Opened:
    """A project that was read without a problem."""

    project: Project
    graph: Graph
    lake: Lake

    def names(self, patterns: Sequence[str]) -> tuple[TableName, ...]:
        """Returns the selected tables in the graph's order, all without a pattern. Raises UsageError."""
        return tuple(select(self.graph, patterns)) if patterns else self.graph.order

    def one(self, text: str) -> TableName:
        """Returns the table that ``text`` names. Raises UsageError LS201, LS205."""
        found = select(self.graph, [text])
        if len(found) == 1:
            return found[0]
        names = listed(map(str, found))
        raise UsageError.of("LS205", f"{text} is more than one table", None, "one table", names)

    def one_of_ours(self, text: str) -> TableName:
        """As ``one``. Raises UsageError LS221 for a table of others, which is only read."""
        name = self.one(text)
        definition = self.graph.node(name).definition
        if definition.external is not None:
            what = f"{name} is a table of others: it is read, and left as it is"
            raise UsageError.of("LS221", what, definition.place, "a table of this project")
        return name

    def decider(
        self, full: Sequence[TableName] = (), warm: bool = False, approved: Sequence[TableName] = ()
    ) -> Decider:
        """Decides on this project's tables. ``warm``: for a session that has worked already, and stays."""
        return Decider(self.graph, self.lake, frozenset(full), frozenset(approved), warm=warm)

    def to_run(
        self,
        select: Sequence[str],
        full_refresh: Sequence[str],
        warm: bool = False,
        approve: Sequence[str] = (),
    ) -> tuple[tuple[TableName, ...], Decider]:
        """Returns the tables of a run and their decider: the selected ones, else all, or those of
        ``full_refresh`` with their readers. ``approve``: tables that may lose something. Raises UsageError
        LS220."""
        full = self.names(full_refresh) if full_refresh else ()
        for name in full:
            self._require_derived(name)
        names = self.names((*select, *full_refresh) if select else ())
        if full and not select:
            names = tuple(
                name
                for name in self.graph.order
                if name in full or any(up in full for up in self.graph.upstream(name))
            )
        return names, self.decider(full, warm, self.names(approve) if approve else ())

    def _require_derived(self, name: TableName) -> None:
        definition = self.graph.node(name).definition
        if definition.external is not None:
            what = f"{name} cannot be rebuilt: it is a table of others"
            raise UsageError.of("LS220", what, definition.place, "a derived table", "a table of others")
        if definition.is_sourced:
            of_topic = definition.has_topics
            origin = "records of a topic, and they" if of_topic else "files, and files"
            again = f"to take files again, forget them: lakesmith files {name} --forget FILE"
            afresh = f"lakesmith drop {name} has the next run take what the topic still has"
            raise UsageError.of(
                "LS220",
                f"{name} cannot be rebuilt: its rows came from {origin} may be gone by now",
                place=definition.place,
                expected="a derived table",
                found="a table with a source",
                hint=afresh if of_topic else again,
            )


def read_project(root: Path, target: str | None) -> Opened:
    """Reads the project. Raises ProjectError with every problem found."""
    project, graph = load(root.resolve(), target)
    return Opened(project, graph, Lake.open(project))
