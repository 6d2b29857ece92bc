"""What tables with versions must hold, in plain Python: independent of lakesmith and Spark.

A key's past is told from its beginning, one version after the other, as a person would.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from oracle import Arrival, Keyed, Row, standing


@dataclass(frozen=True)
class Kept:
    """A row: its newest version, and when it holds. A closed row whose ``until`` is None has no known end."""

    row: Row
    since: Any
    until: Any = None
    is_current: bool = True

    def values(self, columns: Sequence[str]) -> tuple[Any, ...]:
        """The row as it is stored: these columns and the three that say when it holds."""
        return (*(self.row[name] for name in columns), self.since, self.until, self.is_current)


def history_of(arrivals: Iterable[Arrival], table: Keyed, track: Sequence[str]) -> list[Kept]:
    """All rows of ``table`` after ``arrivals``, in whatever order those are given."""
    keys: dict[tuple[Any, ...], list[Arrival]] = {}
    for arrival in arrivals:
        key = tuple(arrival.row[name] for name in table.key)
        if table.keep(arrival.row) and None not in key and table.counts(arrival.row):
            keys.setdefault(key, []).append(arrival)
    return [kept for versions in keys.values() for kept in _past(_that_count(versions, table), table, track)]


def _that_count(versions: Iterable[Arrival], table: Keyed) -> list[Row]:
    """Oldest first; of several at one place the one that came last, or that values put last."""
    last: dict[tuple[Any, ...], Arrival] = {}
    for version in versions:
        at = table.version(version.row)
        if at not in last or standing(version, table) > standing(last[at], table):
            last[at] = version
    return [last[at].row for at in sorted(last)]


def _past(versions: Sequence[Row], table: Keyed, track: Sequence[str]) -> list[Kept]:
    done: list[Kept] = []
    now: Kept | None = None
    for row in versions:
        time = row[table.latest_by[0]]
        if now is not None and not table.deletes(row) and _alike(now.row, row, track):
            now = replace(now, row=row)
            continue
        if now is not None:
            done.append(replace(now, until=time, is_current=False))
        now = None if table.deletes(row) else Kept(row, time)
    return [*done, *([now] if now is not None else [])]


def _alike(one: Row, other: Row, track: Sequence[str]) -> bool:
    return all(one[name] == other[name] for name in track)


def current_rows(rows: Iterable[Kept]) -> list[Mapping[str, Any]]:
    """What a table of newest versions has of the same arrivals."""
    return [kept.row for kept in rows if kept.is_current]
