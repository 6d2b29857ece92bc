"""Tables that are held where they are: no run brings them on. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from lakesmith.catalog.family import hold_of
from lakesmith.errors import Problem
from lakesmith.plan.facts import TableFacts
from lakesmith.plan.steps import Decision, Refused, UpToDate
from lakesmith.project.definitions import TableDefinition


def stays_held(table: TableDefinition, facts: TableFacts, full: bool = False) -> Decision | None:
    """The decision for a table that is held where it is; None: it is not. A rebuild (``full``) of it is refused."""
    hold = hold_of(facts.state)
    if hold is None:
        return None
    since = datetime.fromtimestamp(hold.since_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    said, release = f"held at {hold.at} since {since}", f"lakesmith release {table.name}"
    if full:
        what = f"{table.name} is {said}"
        return Refused(table, Problem("LS517", what, table.place, "a table that runs bring on", hint=release))
    return UpToDate(table, f"{said}; {release} has runs bring it on again", held=True)
