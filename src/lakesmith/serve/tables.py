"""The tables of a project as ``up`` sees them, and which of them it refreshes next: pure decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lakesmith.execute.opened import Opened
from lakesmith.project.definitions import Schedule, TableDefinition
from lakesmith.serve.retries import Failing, held_back, tried_again
from lakesmith.serve.schedule import Due


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables in dependency order, and the readers of each."""

    definitions: Mapping[str, TableDefinition]
    readers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def schedules(self) -> dict[str, Schedule]:
        """The schedules of tables that have one."""
        return {name: each.schedule for name, each in self.definitions.items() if each.schedule is not None}

    @property
    def maintenance(self) -> dict[str, Schedule]:
        """The schedules of maintenance of tables that have one."""
        found = {name: each.maintenance.schedule for name, each in self.definitions.items()}
        return {name: schedule for name, schedule in found.items() if schedule is not None}

    @property
    def on_arrival(self) -> frozenset[str]:
        """The tables without a schedule."""
        return frozenset(name for name, each in self.definitions.items() if each.schedule is None)

    def with_followers(self, names: Iterable[str]) -> frozenset[str]:
        """Returns the tables and all that are made from them, up to those with a schedule."""
        found: set[str] = set()
        left = list(names)
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left += (reader for reader in self.readers.get(name, ()) if reader in self.on_arrival)
        return frozenset(found)


def tables_of(opened: Opened) -> Tables:
    """Returns the tables of a project."""
    nodes = opened.graph.nodes
    readers = {str(node.name): tuple(map(str, opened.graph.readers(node.name))) for node in nodes}
    return Tables({str(node.name): node.definition for node in nodes}, readers)


@dataclass(frozen=True, slots=True)
class Work:
    """One run: its tables in dependency order, and the firings that it is for."""

    tables: tuple[str, ...]
    firings: Mapping[str, datetime] = field(default_factory=dict)


def next_work(
    tables: Tables,
    arrived: frozenset[str],
    due: Sequence[Due],
    failing: Mapping[str, Failing],
    now: float,
    *,
    everything: bool,
) -> Work | None:
    """Returns the next run, None if there is nothing to do.

    Its tables are those for which something ``arrived`` (with ``everything``, all without a schedule), those
    that are ``due``, and failed ones to be tried again, all with the tables made from them.
    """
    held = held_back(failing, now)
    new = tables.on_arrival if everything else arrived & tables.on_arrival
    begun = new | {each.table for each in due} | tried_again(failing, now)
    wanted = tables.with_followers(begun - held) - held
    chosen = tuple(name for name in tables.definitions if name in wanted)
    return Work(chosen, {each.table: each.at for each in due if each.table in wanted}) if chosen else None
