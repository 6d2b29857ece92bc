"""The list of tables on the lake's page: the one state of each, which are shown, and in what order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lakesmith.execute.findings import Finding, Kind
from lakesmith.execute.status import Standing, TableStatus
from lakesmith.page.overview import Overview, TableOverview

LISTED: Final = 200
"""Tables in a part of the list."""
STATES: Final = ("refused", "failing", "stale", "behind", "held", "up_to_date", "absent")
"""The states of tables, worst first."""
_NUMBERS: Final = re.compile(r"([0-9]+)")

SORTS: Final[Mapping[str, Callable[[TableOverview], Any]]] = {
    "table": lambda table: by_numbers(table.name),
    "state": lambda table: None,
    "rows": lambda table: table.status.rows,
    "bad": lambda table: table.status.quarantined,
    "refresh": lambda table: table.refresh.strategy.value,
    "fresh": lambda table: table.changed_ms,
    "published": lambda table: table.status.published_ms,
    "next": lambda table: table.next_firing or table.schedule or None,
}
"""By what the list is sorted; None comes last, whatever the direction."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The tables of the list by their layers (sorted: in one group without a name), and how many are in each
    state. ``of``: the state of each table; ``sort``: by what, with a minus for the greatest first."""

    of: Mapping[str, str]
    states: Mapping[str, int]
    state: str
    sort: str
    groups: Mapping[str, Sequence[TableOverview]]
    part: int
    parts: int


def listing(found: Overview, asked: Mapping[str, str], is_past: bool) -> Listing:
    """Returns the list that an address asks for by its ``state``, ``sort`` and ``part``."""
    of = states_of(found, is_past)
    counted = Counter(of.values())
    states = {each: counted[each] for each in STATES if counted[each]}
    state, sort = asked.get("state", ""), asked.get("sort", "")
    state, sort = state if state in states else "", sort if sort.removeprefix("-") in SORTS else ""
    tables = [each for each in found.tables if not state or of[each.name] == state]
    if sort:
        ordered = _sorted(tables, sort.removeprefix("-"), sort.startswith("-"), of)
    else:
        ordered = [each for layer in layers_of(tables).values() for each in layer]
    parts, wanted = max(1, -(-len(ordered) // LISTED)), asked.get("part", "1")
    part = min(max(1, int(wanted)), parts) if re.fullmatch("[0-9]{1,8}", wanted) else 1
    listed = ordered[(part - 1) * LISTED : part * LISTED]
    return Listing(of, states, state, sort, {"": listed} if sort else layers_of(listed), part, parts)


def states_of(found: Overview, is_past: bool = False) -> dict[str, str]:
    """Returns the state of each table, by name."""
    wrong: dict[str | None, list[Finding]] = {}
    for each in found.findings:
        wrong.setdefault(each.table, []).append(each)
    return {
        each.name: "absent"
        if is_past and each.status.rows is None
        else state_of(each.status, wrong.get(each.name, ()))
        for each in found.tables
    }


def state_of(status: TableStatus, findings: Iterable[Finding]) -> str:
    """Returns the one state of a table, of whose findings an error comes before how far it is."""
    kinds = {each.kind for each in findings if each.level == "error"}
    if status.standing is Standing.REFUSED or not kinds:
        return status.standing.value
    return "stale" if kinds == {Kind.STALE} else "failing"


def _sorted(
    tables: Sequence[TableOverview], by: str, is_down: bool, of: Mapping[str, str]
) -> list[TableOverview]:
    values = {each.name: STATES.index(of[each.name]) if by == "state" else SORTS[by](each) for each in tables}
    known = [each for each in tables if values[each.name] is not None]
    known.sort(key=lambda each: by_numbers(each.name))
    known.sort(key=lambda each: values[each.name], reverse=is_down)
    return [*known, *(each for each in tables if values[each.name] is None)]


def layers_of(tables: Sequence[TableOverview]) -> dict[str, list[TableOverview]]:
    """Returns the tables by layer, layers in the order in which they come first; ``t_2`` before ``t_10``."""
    found: dict[str, list[TableOverview]] = {}
    for each in tables:
        found.setdefault(each.status.name.layer, []).append(each)
    for layer in found.values():
        layer.sort(key=lambda each: by_numbers(each.name))
    return found


def by_numbers(name: str) -> list[str | int]:
    """Returns a name's parts, of which numbers are compared as numbers."""
    return [int(part) if at % 2 else part for at, part in enumerate(_NUMBERS.split(name))]
