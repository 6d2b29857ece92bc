"""Whether a table got new rows as often as its ``freshness`` says. Pure."""

from __future__ import annotations

from lakesmith.catalog.progress import last_change_ms
from lakesmith.catalog.state import TableState
from lakesmith.project.definitions import TableDefinition


def stale_in_words(table: TableDefinition, state: TableState | None, now_ms: int) -> str | None:
    """Returns how long a table got no new rows; None if that is within its ``freshness``."""
    if table.freshness_seconds is None:
        return None
    changed = last_change_ms(state) if state is not None else None
    allowed = _duration(table.freshness_seconds)
    if changed is None:
        return f"it has never got rows, and is to get some every {allowed}"
    age = (now_ms - changed) / 1000
    if age <= table.freshness_seconds:
        return None
    return f"its rows have not changed for {_duration(age)}, and are to change every {allowed}"


def _duration(seconds: float) -> str:
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * size or seconds == size:
            number = int(seconds // size)
            return f"{number} {unit}{'' if number == 1 else 's'}"
    return f"{int(seconds)} seconds"
