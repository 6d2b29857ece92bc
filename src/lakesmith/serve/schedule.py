"""When tables are due: from their schedules, their last firings and the time. Pure decisions.

All times are in UTC, so that a clock which is set back or forward repeats and loses no firing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim

from lakesmith import limits
from lakesmith.project.definitions import Schedule
from lakesmith.whole_file import write_whole

MAINTAINED: Final = "maintenance.json"
"""Where the last times of maintenance are kept, in ``.lakesmith/``."""

FILE: Final = "schedule.json"
"""Where the last firings are kept, in ``.lakesmith/``."""

MOST_PASSED: Final = 1000
"""Firings that passed are counted up to here."""

_SET_BACK: Final = timedelta(hours=1)
"""A last firing further in the future was noted by a clock that was wrong."""


@dataclass(frozen=True, slots=True)
class Firing:
    """When a schedule fired last, or was first seen; ``schedule`` is its text."""

    schedule: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Due:
    """A table that is due: the latest firing, and how many ``passed`` since the last run."""

    table: str
    at: datetime
    passed: int = 1


@lru_cache(maxsize=4096)
def next_firing(schedule: Schedule, after: datetime) -> datetime:
    """Returns the first firing after a time."""
    if schedule.cron is None:
        return after + _every(schedule)
    return next(_firings(schedule, after))


def known_firings(
    schedules: Mapping[str, Schedule], last: Mapping[str, Firing], now: datetime
) -> dict[str, Firing]:
    """Returns the last firings of exactly these schedules.

    A new or changed cron expression counts from now: it has missed nothing. A new interval is due.
    """
    return {table: _known(schedule, last.get(table), now) for table, schedule in schedules.items()}


def due(schedules: Mapping[str, Schedule], last: Mapping[str, Firing], now: datetime) -> tuple[Due, ...]:
    """Returns the tables that are due, each once; ``last`` is the result of ``known_firings``."""
    found = (_due(table, schedule, last[table].at, now) for table, schedule in schedules.items())
    return tuple(each for each in found if each is not None)


def fired(last: Mapping[str, Firing], done: Mapping[str, datetime]) -> dict[str, Firing]:
    """Returns the last firings after runs for those of ``done``."""
    return {table: Firing(each.schedule, done.get(table, each.at)) for table, each in last.items()}


def read_firings(path: Path) -> dict[str, Firing]:
    """Returns the firings in a file; none if it is missing or invalid."""
    try:
        kept = json.loads(path.read_bytes())
        return {
            table: Firing(each["schedule"], datetime.fromisoformat(each["at"]).astimezone(UTC))
            for table, each in kept.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def write_firings(path: Path, last: Mapping[str, Firing]) -> None:
    """Writes the firings to a file. Raises OSError."""
    kept = {table: {"schedule": each.schedule, "at": each.at.isoformat()} for table, each in last.items()}
    write_whole(path, json.dumps(kept, indent=1) + "\n")


def _known(schedule: Schedule, last: Firing | None, now: datetime) -> Firing:
    if schedule.cron is None:
        return Firing(str(schedule), now - _every(schedule) if last is None else min(last.at, now))
    if last is None or last.schedule != str(schedule) or last.at > now + _SET_BACK:
        return Firing(str(schedule), now)
    return last


def _due(table: str, schedule: Schedule, last: datetime, now: datetime) -> Due | None:
    if next_firing(schedule, last) > now:
        return None
    if schedule.cron is None:
        return Due(table, now)
    passed = list(islice(_until(schedule, last, now), MOST_PASSED))
    if len(passed) == MOST_PASSED:
        return Due(table, _latest(schedule, now), MOST_PASSED)
    return Due(table, passed[-1], len(passed))


def _every(schedule: Schedule) -> timedelta:
    return timedelta(seconds=schedule.every or 0.0)


def _until(schedule: Schedule, after: datetime, now: datetime) -> Iterator[datetime]:
    for at in _firings(schedule, after):
        if at > now:
            return
        yield at


def _firings(schedule: Schedule, after: datetime) -> Iterator[datetime]:
    """Yields the firings after a time, without end."""
    latest = after
    for local in CronSim(schedule.cron or "", after.astimezone(ZoneInfo(schedule.time_zone))):
        at = local.astimezone(UTC)
        # In the hour that comes twice an expression means the first of the two, which may be over.
        if at > latest:
            latest = at
            yield at


def _latest(schedule: Schedule, now: datetime) -> datetime:
    """Returns the latest firing up to ``now``, without those before it."""
    local = (now + timedelta(seconds=1)).astimezone(ZoneInfo(schedule.time_zone))
    found = (each.astimezone(UTC) for each in CronSim(schedule.cron or "", local, reverse=True))
    return next(at for at in found if at <= now)


@dataclass
class Rounds:
    """Counts the batches of each table, to do a slice of maintenance after many of them."""

    _since: dict[str, int] = field(default_factory=dict)

    def count(self, published: Iterable[str]) -> None:
        """Counts a batch of each table. A new table is due sooner, as its earlier batches are unknown."""
        for name in published:
            first = limits.BATCHES_BETWEEN_SLICES // 2 + 5 * len(self._since)
            self._since[name] = self._since.get(name, first % limits.BATCHES_BETWEEN_SLICES) + 1

    def due(self) -> str | None:
        """Returns the table that is due, if any, and resets its count."""
        name = max(self._since, key=lambda each: self._since[each], default=None)
        if name is None or self._since[name] < limits.BATCHES_BETWEEN_SLICES:
            return None
        self._since[name] = 0
        return name
