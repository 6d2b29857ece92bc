"""What decides, beside rows, how far watermarks are: which inputs have gone quiet, and when the rows of each last changed. Pure.

It is decided when a batch is planned, and kept in its record: so the same rows can be computed again at any time.
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


def arrivals_of(table: TableDefinition, inputs: Mapping[TableName, TableFacts]) -> dict[str, int]:
    """When the rows of the inputs with watermarks last changed, in milliseconds since the epoch: no row of them arrived later."""
    names = dict.fromkeys(mark.table for mark in table.emit.watermarks) if table.emit else {}
    states = {name: inputs[name].state for name in names}
    found = {str(name): last_change_ms(state) for name, state in states.items() if state}
    return {name: at for name, at in found.items() if at is not None}


def ahead_in_words(ahead: Mapping[str, tuple[int, str]]) -> tuple[str, ...]:
    """Rows that move no watermark, as a table's record has them."""
    return tuple(
        f"{'1 row' if count == 1 else f'{count:,} rows'} of {mark.rpartition('.')[0]} with a time further ahead of arrival than max_ahead:"
        f" {mark.rpartition('.')[2]} is up to {latest}, and moves no watermark"
        for mark, (count, latest) in ahead.items()
    )
