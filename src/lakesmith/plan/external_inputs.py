"""Decisions that need no planning, for external and frozen tables, and where external inputs begin. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from lakesmith.catalog.family import hold_of
from lakesmith.catalog.progress import Reason, append_only_since
from lakesmith.errors import Problem
from lakesmith.plan.facts import TableFacts
from lakesmith.plan.steps import Decision, InputRange, Refused, TableStep, UpToDate
from lakesmith.project.definitions import ExternalTable, TableDefinition, TableName


def of_others(table: TableDefinition, facts: TableFacts) -> Decision:
    """Returns the decision for an external table: it is never written."""
    if facts.problem is not None:
        return Refused(table, facts.problem)
    head = facts.state.head if facts.state else None
    at = f"now at snapshot {head.snapshot_id}" if head else "nothing was written to it yet"
    return UpToDate(table, f"it is a table of others, read as it is: {at}")


def from_begin(
    decision: Decision, others: Mapping[TableName, ExternalTable], inputs: Mapping[TableName, TableFacts]
) -> Decision:
    """Returns the decision with inputs read from their begin; refused if the rows since then are unknown."""
    if not isinstance(decision, TableStep):
        return decision
    ranges: list[InputRange] = []
    for item in decision.inputs:
        found = begun(item, inputs[item.table])
        if isinstance(found, Reason):
            return Refused(decision.table, no_such_begin(item.table, others[item.table], found.text))
        ranges.append(found)
    return replace(decision, inputs=tuple(ranges))


def begun(item: InputRange, facts: TableFacts) -> InputRange | Reason:
    """Returns a range over a whole table without the rows that do not count."""
    if facts.begin is None or facts.state is None or item.start is not None or item.end is None:
        return item
    found = append_only_since(facts.state, facts.begin, item.end)
    return found if isinstance(found, Reason) else replace(item, start=facts.begin, rows=found.added_records)


def no_such_begin(name: TableName, external: ExternalTable, found: str) -> Problem:
    """Returns LS515: the rows since ``begin`` are unknown."""
    return Problem(
        "LS515",
        f"{name} cannot be read from {external.begin} on",
        external.place,
        expected="a point of its past, since which it only gained rows",
        found=found,
        hint="name a later one, or none to read all rows; either way the tables that read it are refreshed"
        " in full",
    )


def stays_held(table: TableDefinition, facts: TableFacts, full: bool = False) -> Decision | None:
    """Returns the decision for a frozen table, None for others. A rebuild (``full``) of it is refused."""
    hold = hold_of(facts.state)
    if hold is None:
        return None
    since = datetime.fromtimestamp(hold.since_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    said, release = f"held at {hold.at} since {since}", f"lakesmith release {table.name}"
    if full:
        what = f"{table.name} is {said}"
        return Refused(table, Problem("LS517", what, table.place, "a table that runs refresh", hint=release))
    return UpToDate(table, f"{said}; {release} has runs bring it on again", held=True)
