"""The tables of a project as ``up`` sees them, and which of them it refreshes next: pure decisions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from lakesmith.execute.opened import Opened
from lakesmith.graph.graph import Node
from lakesmith.project.definitions import Schedule, TableDefinition
from lakesmith.serve.retries import Failing, held_back, tried_again
from lakesmith.serve.schedule import Due
from lakesmith.sql.model import ShapeKind

PUT_OFF_RUNS: Final = 3
"""Under load a slow table is refreshed in one of so many runs, which then has the rows of all of them."""

CHECKS: Final = "checks of rules"
"""What is due if the rules of all tables are to be checked."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables in dependency order, and the readers of each. ``slow``: those that read more than what is
    new, such as aggregates and joins, with all tables made from them."""

    definitions: Mapping[str, TableDefinition]
    readers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    slow: frozenset[str] = frozenset()
    checks: Schedule | None = None

    @property
    def schedules(self) -> dict[str, Schedule]:
        return {name: each.schedule for name, each in self.definitions.items() if each.schedule is not None}

    @property
    def maintenance(self) -> dict[str, Schedule]:
        """The schedules of maintenance of tables that have one, and that of ``CHECKS``."""
        found = {name: each.maintenance.schedule for name, each in self.definitions.items()}
        every = {**found, CHECKS: self.checks}
        return {name: schedule for name, schedule in every.items() if schedule is not None}

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
    nodes = opened.graph.nodes
    readers = {str(node.name): tuple(map(str, opened.graph.readers(node.name))) for node in nodes}
    slow: set[str] = set()
    for node in nodes:
        if _is_slow(node) or not slow.isdisjoint(map(str, node.inputs)):
            slow.add(str(node.name))
    definitions = {str(node.name): node.definition for node in nodes}
    return Tables(definitions, readers, frozenset(slow), opened.project.checks)


def _is_slow(node: Node) -> bool:
    if node.analysis is None:
        return len(node.inputs) > 1
    follows = bool(node.definition.lookups) and node.analysis.driven is not None
    return node.analysis.shape.kind is ShapeKind.OTHER and not follows


def _waits(failing: Mapping[str, Failing], name: str) -> bool:
    return name in failing and failing[name].waits_for_input


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
    left: tuple[Sequence[str], frozenset[str]] = ((), frozenset()),
) -> Work | None:
    """Returns the next run, None if there is nothing to do.

    Its tables are those for which something ``arrived`` (with ``everything``, all without a schedule), those
    that are ``due``, and failed ones to be tried again, all with the tables made from them. Of what was
    ``left``, tables that were put off are among them, those that are paused are not.
    """
    put_off, paused = left
    followers = tables.with_followers(arrived)
    held = held_back(failing, now) - {name for name in followers if _waits(failing, name)} | paused
    new = tables.on_arrival if everything else arrived & tables.on_arrival
    begun = new | {each.table for each in due} | tried_again(failing, now) | {*put_off}
    wanted = tables.with_followers(begun - held) - held
    chosen = tuple(name for name in tables.definitions if name in wanted)
    return Work(chosen, {each.table: each.at for each in due if each.table in wanted}) if chosen else None


def eased(
    tables: Tables, work: Work, put_off: Sequence[str], due: Sequence[Due], failing: Mapping[str, Failing]
) -> tuple[Work, tuple[str, ...]]:
    """Returns a run under load without most of its slow tables, and these: what arrives comes first.

    Of the slow tables, those that were ``put_off`` longest are in the run. Tables that are ``due`` or were
    ``failing`` are never put off, nor are the tables made from them.
    """
    pressing = tables.with_followers({*(each.table for each in due), *failing})
    slow = [name for name in work.tables if name in tables.slow and name not in pressing]
    queue = [*(name for name in put_off if name in slow), *(name for name in slow if name not in put_off)]
    now = math.ceil(len(queue) / PUT_OFF_RUNS)
    later = frozenset(queue[now:])
    chosen = tuple(name for name in work.tables if name not in later)
    return Work(chosen, work.firings), tuple(queue[now:])
