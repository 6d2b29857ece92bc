"""Schedules: when `lakesmith up` refreshes or maintains a table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from lakesmith.errors import did_you_mean
from lakesmith.project.declaring import WrongValue, seconds, setting, short_or_long

ON_ARRIVAL: Final = "on arrival"

_FIELDS: Final = "five fields: minute hour day month weekday, such as 0 6 * * *"
_FORMS: Final = "a cron expression, {cron: …, time_zone: …}, {every: …} or on arrival"
_SOME_DAY: Final = datetime(2024, 1, 1, tzinfo=UTC)
_SHORTEST_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Schedule:
    """When `lakesmith up` refreshes a table: by a cron expression, or at an interval.

    One of ``cron`` and ``every`` (in seconds) is set.
    """

    cron: str | None = setting(None)
    """Five fields, minute, hour, day of the month, month, day of the week: `0 6 * * *` is each morning at
    six."""
    time_zone: str = setting("UTC")
    """With `cron`: its time zone, such as `Europe/Amsterdam`. A time that a clock change skips comes right
    after it; one that is repeated counts once. Default: `UTC`."""
    every: float | None = setting(None, form=str)
    """In place of `cron`: how long after the last time, such as `30s` or `5 minutes`."""

    def __str__(self) -> str:
        if self.cron is None:
            return f"every {self.every:g} s"
        return f"{self.cron} {self.time_zone}"


SCHEDULE_FORMS: Final = short_or_long(str, Schedule)
"""``schedule``: a text, or a mapping."""


def schedule_of(written: Any) -> Schedule | None:
    """Reads a schedule from a text or a mapping; None: ``on arrival``. Raises WrongValue."""
    if isinstance(written, str):
        if " ".join(written.lower().split()) == ON_ARRIVAL:
            return None
        return Schedule(_cron(written, key=""))
    if (written.cron is None) == (written.every is None):
        found = "both" if written.cron else "neither"
        raise WrongValue("a schedule has either cron or every", _FORMS, found)
    if written.cron is not None:
        return Schedule(_cron(written.cron, "cron"), zone_key(written.time_zone))
    if written.time_zone is not None:
        what = "time_zone has no meaning for every"
        raise WrongValue(what, "cron: … beside it", hint="remove time_zone", key="time_zone")
    return Schedule(every=_every(written.every or ""))


def _cron(text: str, key: str) -> str:
    # Idle commands know schedules, and read none.
    from cronsim import CronSim, CronSimError

    fields = text.split()
    expected = _FIELDS if key else f"{_FIELDS}; {{every: 30s}}; or on arrival"
    if len(fields) != 5:
        raise WrongValue("schedule is not a cron expression", expected, repr(text), key=key)
    try:
        next(CronSim(" ".join(fields), _SOME_DAY))
    except CronSimError as error:
        found = f"{text!r}: {str(error).lower()}"
        raise WrongValue("schedule is not a cron expression", expected, found, key=key) from None
    except StopIteration:
        what = "schedule names a day that never comes"
        raise WrongValue(what, "a day that some month has", repr(text), key=key) from None
    return " ".join(fields)


def zone_key(name: str | None) -> str:
    """Returns the name of a time zone; None: UTC. Raises WrongValue for an unknown one."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

    try:
        return ZoneInfo("UTC" if name is None else name).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        hint = did_you_mean(name or "", sorted(available_timezones()))
        expected = "a name of the IANA time zones, such as Europe/Amsterdam"
        raise WrongValue("unknown time zone", expected, repr(name), hint, "time_zone") from None


def _every(text: str) -> float:
    try:
        found = seconds(text)
    except ValueError:
        found = 0.0
    if found < _SHORTEST_SECONDS:
        expected = "a duration of a second or more, such as 30s or 5 minutes"
        raise WrongValue("every is not a valid duration", expected, repr(text), key="every")
    return found
