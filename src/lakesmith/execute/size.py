"""How much data a plan touches: what the engine is set up for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lakesmith.execute.observe import Lake
from lakesmith.plan.steps import Decision, TableStep, Waiting
from lakesmith.project.definitions import TableName

LITTLE_BYTES = 16 * 1024 * 1024
"""Up to this much, starting up costs more than the work itself."""


def planned_bytes(lake: Lake, decisions: Sequence[Decision]) -> int:
    """The bytes of the files to be taken and of the tables that are read or merged into, at most."""
    busy = [decision for decision in decisions if isinstance(decision, TableStep | Waiting)]
    names = {decision.name for decision in busy} | {name for decision in busy for name in _read(decision)}
    return sum(_file_bytes(decision) for decision in busy) + table_bytes(lake, names)


def _read(decision: TableStep | Waiting) -> Iterable[TableName]:
    if isinstance(decision, Waiting):
        return decision.upstream
    return (item.table for item in decision.inputs)


def _file_bytes(decision: TableStep | Waiting) -> int:
    if isinstance(decision, Waiting):
        return 0
    return sum(file.size for intake in decision.intakes for file in intake.files)


def table_bytes(lake: Lake, names: Iterable[TableName]) -> int:
    """The bytes of the tables' data files, deleted rows included; of a table that does not exist: 0."""
    states = (lake.catalog.table(name.layer, name.name) for name in names)
    return sum(state.head.count("total-files-size") for state in states if state and state.head)
