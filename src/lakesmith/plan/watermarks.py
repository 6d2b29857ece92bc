"""What moves watermarks besides rows: idle inputs, and when the rows of each input last changed. Pure.

It is decided when a batch is planned, and kept in its record, so the same rows can be computed again later.
"""

from collections.abc import Mapping

from lakesmith.catalog.progress import last_change_ms
from lakesmith.catalog.record import Record
from lakesmith.plan.facts import TableFacts
from lakesmith.project.definitions import TableDefinition, TableName


def idle_inputs(
    table: TableDefinition, inputs: Mapping[TableName, TableFacts], now_ms: int
) -> tuple[TableName, ...]:
    """Returns the inputs with watermarks that had no new rows for as long as the table waits."""
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
    """Returns why a table has work although its inputs did not change; None if it has none."""
    names = [str(name) for name in idle if str(name) not in record.idle]
    return f"{' and '.join(names)} went quiet, and holds no window open" if names else None


def arrivals_of(table: TableDefinition, inputs: Mapping[TableName, TableFacts]) -> dict[str, int]:
    """Returns when rows of inputs with watermarks last changed, in ms since the epoch."""
    names = dict.fromkeys(mark.table for mark in table.emit.watermarks) if table.emit else {}
    states = {name: inputs[name].state for name in names}
    found = {str(name): last_change_ms(state) for name, state in states.items() if state}
    return {name: at for name, at in found.items() if at is not None}


def ahead_in_words(ahead: Mapping[str, tuple[int, str]]) -> tuple[str, ...]:
    """Describes rows that move no watermark, as the record has them."""
    return tuple(
        f"{'1 row' if count == 1 else f'{count:,} rows'} of {mark.rpartition('.')[0]} with a time further"
        " ahead of arrival than max_ahead:"
        f" {mark.rpartition('.')[2]} is up to {latest}, and moves no watermark"
        for mark, (count, latest) in ahead.items()
    )
