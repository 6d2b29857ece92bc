"""``emit``: the condition that has a table show whole windows only, put into its query."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from lakesmith.errors import Place, Problem
from lakesmith.project.definitions import Emit, SqlQuery, TableDefinition, TableName, Watermark
from lakesmith.project.durations import seconds
from lakesmith.quoting import literal, quoted

if TYPE_CHECKING:
    # What is asked of a table's windows when it is planned needs no models.
    from lakesmith.project.models import EmitSettings, TableFile
    from lakesmith.project.settings import Level


def emit_of(query: SqlQuery, own: Level[TableFile], problems: list[Problem]) -> Emit | None:
    """What ``emit`` says, None where nothing or nothing right is said; what is wrong is added to ``problems``."""
    settings = own.model.emit
    if settings is None or settings == "live":
        return None
    found = len(problems)
    problems += _wrong(settings, own)
    if len(problems) > found:
        return None
    marks = [settings.watermark] if isinstance(settings.watermark, str) else settings.watermark
    parts = (mark.rpartition(".") for mark in marks)
    watermarks = tuple(Watermark(TableName.parse(table), column) for table, _, column in parts)
    idle_after = seconds(settings.idle_after) if settings.idle_after else None
    return Emit(query, settings.closed, watermarks, seconds(settings.delay), idle_after)


def _wrong(settings: EmitSettings, own: Level[TableFile]) -> Iterator[Problem]:
    for name in ("delay", "idle_after"):
        text, place = getattr(settings, name), own.document.place("emit", name)
        try:
            given = seconds(text) if text is not None else 1
        except ValueError:
            yield _no_duration(name, text, place)
        else:
            if name == "idle_after" and given <= 0:
                yield Problem("LS105", "idle_after is no time", place, "more than 0 seconds", repr(text))


def _no_duration(name: str, text: str, place: Place) -> Problem:
    expected = "a number and a unit: 30 seconds, 5 minutes, 2 hours, 1 day"
    return Problem("LS105", f"{name} is no duration", place, expected, repr(text))


def closed_windows(emit: Emit, idle: Collection[TableName] = (), until: str | None = None) -> SqlQuery:
    """The rows of windows that the watermarks have passed: in SQL, so that they are what any query gives, late rows and all.

    ``idle``: inputs whose watermarks do not count. ``until``: windows that end by then were published, and stay. The text begins on the line on which the author's
    does, so that messages name its lines.
    """
    closed = quoted(emit.closed)
    passed = [f"{closed} <= ({_watermark(emit, mark)})" for mark in emit.watermarks if mark.table not in idle]
    inner = f"SELECT * FROM ({emit.query.text.rstrip().rstrip(';')}\n)"
    if not passed:
        return replace(emit.query, text=inner)
    kept = f"{closed} <= {literal(until)} OR " if until is not None else ""
    return replace(emit.query, text=f"{inner} WHERE {kept}{' AND '.join(passed)}")


def with_windows(table: TableDefinition, idle: Collection[TableName], until: str | None) -> TableDefinition:
    """The table with the query of a batch."""
    if table.emit is None or not (idle or until):
        return table
    return replace(table, query=closed_windows(table.emit, idle, until))


def _watermark(emit: Emit, mark: Watermark) -> str:
    table = f"{quoted(mark.table.layer)}.{quoted(mark.table.name)}"
    return f"SELECT max({quoted(mark.column)}) - INTERVAL '{emit.delay_seconds:.6f}' SECOND FROM {table}"
