"""Closed windows: the condition that ``emit`` adds to a table's query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from lakesmith.errors import Problem
from lakesmith.project.definitions import Emit, SqlQuery, TableDefinition, TableName, Watermark
from lakesmith.quoting import literal, quoted

if TYPE_CHECKING:
    # Idle commands import this module, and no models.
    from lakesmith.project.written import Level


def emit_of(query: SqlQuery, own: Level, problems: list[Problem]) -> Emit | None:
    """Reads ``emit``. None: it is ``live``, or wrong; problems are appended."""
    from lakesmith.project.written import values_of

    level = own.below("emit")
    if level is None or level.model == "live":
        return None
    wrong: list[Problem] = []
    values = values_of(Emit, [level], wrong)
    problems += wrong
    return None if wrong else Emit(query, **values)


@dataclass(frozen=True, slots=True)
class Marks:
    """What decides, in addition to the rows of the inputs, which windows a batch publishes. It is kept in the
    batch's record.

    ``idle``: inputs whose watermarks do not count. ``arrived``: by input, when its rows last changed
    (milliseconds since the epoch); no watermark is further ahead of that than ``max_ahead``. ``until``:
    windows that end by then were published and stay, as do those that end at ``later``.
    """

    idle: frozenset[TableName] = frozenset()
    arrived: Mapping[str, int] = field(default_factory=dict)
    until: str | None = None
    later: tuple[str, ...] = ()


NO_MARKS: Final = Marks()
"""Of a table that has not been planned."""


def closed_windows(emit: Emit, marks: Marks = NO_MARKS) -> SqlQuery:
    """Returns a query of the rows of windows that the watermarks have passed, late rows included.

    The text begins on the line on which the author's begins, so that messages name its lines.
    """
    closed = quoted(emit.closed)
    passed = [
        f"{closed} <= ({_watermark(emit, mark, marks)})"
        for mark in emit.watermarks
        if mark.table not in marks.idle
    ]
    inner = f"SELECT * FROM ({emit.query.text.rstrip().rstrip(';')}\n)"
    if not passed:
        return replace(emit.query, text=inner)
    kept = [f"{closed} <= {literal(marks.until)}"] if marks.until is not None else []
    if marks.later:
        kept.append(f"CAST({closed} AS STRING) IN ({', '.join(map(literal, marks.later))})")
    return replace(emit.query, text=f"{inner} WHERE {' OR '.join([*kept, ' AND '.join(passed)])}")


def with_windows(table: TableDefinition, marks: Marks) -> TableDefinition:
    """Returns the table with the query of a batch."""
    return replace(table, query=closed_windows(table.emit, marks)) if table.emit is not None else table


def latest_time(emit: Emit, column: str, arrived_ms: int) -> str:
    """Returns the greatest value of a column that counts, in SQL: ``max_ahead`` after rows arrived.

    If the column has no zone, its times may be in any: up to 14 hours ahead of UTC.
    """
    zones = f"IF(typeof({column}) = 'timestamp', INTERVAL '0' SECOND, INTERVAL '{14 * 3600}' SECOND)"
    ahead = f"INTERVAL '{emit.max_ahead_seconds:.6f}' SECOND"
    return f"timestamp_millis({arrived_ms}L) + {ahead} + {zones}"


def _watermark(emit: Emit, mark: Watermark, marks: Marks) -> str:
    table, column = f"{quoted(mark.table.layer)}.{quoted(mark.table.name)}", quoted(mark.column)
    arrived = marks.arrived.get(str(mark.table))
    counted = "" if arrived is None else f" WHERE {column} <= {latest_time(emit, column, arrived)}"
    return f"SELECT max({column}) - INTERVAL '{emit.delay_seconds:.6f}' SECOND FROM {table}{counted}"
