"""What a project declares, as far as ``up`` has to know it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lakesmith.execute.opened import Opened
from lakesmith.project.definitions import Schedule, TableDefinition


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables by their names, each behind those it reads, and for each the tables that read it."""

    definitions: Mapping[str, TableDefinition]
    readers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def schedules(self) -> dict[str, Schedule]:
        """The schedules of the tables that have one."""
        return {name: each.schedule for name, each in self.definitions.items() if each.schedule is not None}

    @property
    def maintenance(self) -> dict[str, Schedule]:
        """When tables are maintained, of those that have times for it."""
        found = {name: each.maintenance.schedule for name, each in self.definitions.items()}
        return {name: schedule for name, schedule in found.items() if schedule is not None}

    @property
    def on_arrival(self) -> frozenset[str]:
        """The tables without a schedule."""
        return frozenset(name for name, each in self.definitions.items() if each.schedule is None)

    def with_followers(self, names: Iterable[str]) -> frozenset[str]:
        """The tables and all that are made from them, up to those with a schedule of their own."""
        found: set[str] = set()
        left = list(names)
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left += (reader for reader in self.readers.get(name, ()) if reader in self.on_arrival)
        return frozenset(found)


def tables_of(opened: Opened) -> Tables:
    """The tables of a project."""
    nodes = opened.graph.nodes
    readers = {str(node.name): tuple(map(str, opened.graph.readers(node.name))) for node in nodes}
    return Tables({str(node.name): node.definition for node in nodes}, readers)
