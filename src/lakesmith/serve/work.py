"""What ``up`` does next: a pure decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lakesmith.serve.retries import Failing, held_back, tried_again
from lakesmith.serve.schedule import Due
from lakesmith.serve.tables import Tables


@dataclass(frozen=True, slots=True)
class Work:
    """One run: its tables, each behind those it reads, and the firings that it answers."""

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
    """The tables that have something to do, None where none has.

    Those for which something ``arrived`` and those that follow them; tables with a schedule only when they are ``due``; what
    failed when it is tried again, and not before. ``everything``: all tables without a schedule are looked at.
    """
    held = held_back(failing, now)
    new = tables.on_arrival if everything else arrived & tables.on_arrival
    begun = new | {each.table for each in due} | tried_again(failing, now)
    wanted = tables.with_followers(begun - held) - held
    chosen = tuple(name for name in tables.definitions if name in wanted)
    return Work(chosen, {each.table: each.at for each in due if each.table in wanted}) if chosen else None
