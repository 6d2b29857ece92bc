"""How much data a plan touches: what the engine is set up for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lakesmith import limits
from lakesmith.execute.lake import Lake
from lakesmith.plan.steps import Decision, InputRange, Strategy, TableStep, Waiting
from lakesmith.project.definitions import TableName


def planned_bytes(lake: Lake, decisions: Sequence[Decision]) -> int:
    """The bytes to be looked at: files to be taken, inputs that are read as a whole, and a part of all other tables.

    A table that waits for others is taken for one that is refreshed incrementally, if it was ever built.
    """
    busy = [decision for decision in decisions if isinstance(decision, TableStep | Waiting)]
    whole = {name for decision in busy for name in _read_whole(lake, decision)}
    part = {name for decision in busy for name in (decision.name, *_read(decision))} - whole
    files = sum(_file_bytes(decision) for decision in busy)
    return files + table_bytes(lake, whole) + table_bytes(lake, part) // limits.INCREMENTAL_ONE_BYTE_IN


def _read(decision: TableStep | Waiting) -> Iterable[TableName]:
    if isinstance(decision, Waiting):
        return decision.upstream
    return (item.table for item in decision.inputs)


def _read_whole(lake: Lake, decision: TableStep | Waiting) -> Iterable[TableName]:
    if isinstance(decision, Waiting):
        built = lake.catalog.table(decision.name.layer, decision.name.name)
        return () if built else decision.upstream
    if decision.strategy is Strategy.REPLAY:
        return (decision.name,)
    return (item.table for item in decision.inputs if item.start is None or _is_large_part(lake, item))


def _is_large_part(lake: Lake, item: InputRange) -> bool:
    """Whether more rows came than the part stands for that is counted of a table."""
    state = lake.catalog.table(item.table.layer, item.table.name)
    rows = state.head.count("total-records") if state and state.head else 0
    return (item.rows or 0) * limits.INCREMENTAL_ONE_BYTE_IN > rows


def _file_bytes(decision: TableStep | Waiting) -> int:
    if isinstance(decision, Waiting):
        return 0
    return sum(intake.size for intake in decision.intakes)


def table_bytes(lake: Lake, names: Iterable[TableName]) -> int:
    """The bytes of the tables' data files, deleted rows included; of a table that does not exist: 0."""
    states = (lake.catalog.table(name.layer, name.name) for name in names)
    return sum(state.head.count("total-files-size") for state in states if state and state.head)
