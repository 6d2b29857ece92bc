"""Inputs that have gone quiet: their watermarks hold no windows open any more. Pure.

Which they are is decided when a batch is planned, and kept in its record: so the same rows can be computed again at any time.
"""

from __future__ import annotations

from collections.abc import Mapping

from lakesmith.catalog.progress import last_change_ms
from lakesmith.catalog.record import Record
from lakesmith.plan.facts import TableFacts
from lakesmith.project.definitions import TableDefinition, TableName


def idle_inputs(
    table: TableDefinition, inputs: Mapping[TableName, TableFacts], now_ms: int
) -> tuple[TableName, ...]:
    """The inputs with watermarks to which nothing came for as long as the table waits for that."""
    emit = table.emit
    if emit is None or emit.idle_after_seconds is None:
        return ()
    names = dict.fromkeys(mark.table for mark in emit.watermarks)
    since = now_ms - round(emit.idle_after_seconds * 1000)
    return tuple(name for name in names if _last(inputs[name]) <= since)


def _last(facts: TableFacts) -> float:
    found = last_change_ms(facts.state) if facts.state else None
    return float("inf") if found is None else found


def newly_idle(record: Record, idle: tuple[TableName, ...]) -> str | None:
    """Why a table whose inputs have not changed has work all the same; None: it has none."""
    names = [str(name) for name in idle if str(name) not in record.idle]
    return f"{' and '.join(names)} went quiet, and holds no window open" if names else None
