"""A trace as text: a paragraph for each table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakesmith.api.tracing.work import Stop, Trace


def report(found: Trace) -> Iterator[str]:
    """A paragraph for each table."""
    for stop in found.stops:
        outcomes = ", ".join(
            f"{number:,} {name}" if number > 1 else name for name, number in stop.outcomes.items()
        )
        yield f"{stop.table}: {outcomes}: {stop.why}"
        yield from (f"    {line}" for line in _lines(stop))
    yield from (f"note: {note}" for note in found.notes)


def _lines(stop: Stop) -> Iterator[str]:
    for each in stop.changes:
        if each.before is not None and each.after is not None:
            same = {name: value for name, value in each.after.items() if name not in each.columns}
            moved = (
                f"{name}: {_short(each.before[name])} -> {_short(each.after[name])}" for name in each.columns
            )
            yield f"~ {_row(same)}  {', '.join(moved)}".rstrip()
        else:
            sign, row = ("+", each.after) if each.before is None else ("-", each.before)
            yield f"{sign} {_row(row or {})}"
    yield from (f"{stop.more:,} more",) if stop.more else ()
    yield from (f"newer: {_row(row)}" for row in stop.current)
    yield from (f"{'; '.join(bad.reasons)}: {bad.row.rstrip()}" for bad in stop.bad)
    yield from (f"note: {note}" for note in stop.notes)
    yield from (line for problem in stop.problems for line in problem.lines())


def _row(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_short(value)}" for name, value in row.items())


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
