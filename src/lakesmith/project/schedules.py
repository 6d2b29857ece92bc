"""``schedule:`` as it is written, to a Schedule."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from cronsim import CronSim, CronSimError

from lakesmith.errors import Problem
from lakesmith.project.definitions import Schedule
from lakesmith.project.durations import seconds
from lakesmith.project.models import ScheduleSettings
from lakesmith.project.nearest import did_you_mean
from lakesmith.project.settings import Setting

ON_ARRIVAL: Final = "on arrival"

_FIELDS: Final = "five fields: minute hour day month weekday, such as 0 6 * * *"
_FORMS: Final = "a cron expression, {cron: …, time_zone: …}, {every: …} or on arrival"
_SOME_DAY: Final = datetime(2024, 1, 1, tzinfo=UTC)
_SHORTEST_SECONDS: Final = 1.0


class ScheduleProblem(ValueError):
    """What is wrong with a schedule. ``key``: which of its settings it is."""

    def __init__(
        self, what: str, expected: str, found: str | None = None, hint: str | None = None, key: str = ""
    ) -> None:
        super().__init__(what)
        self.expected, self.found, self.hint, self.key = expected, found, hint, key


def schedule_of(written: str | ScheduleSettings) -> Schedule | None:
    """The schedule, None for ``on arrival``. Raises ScheduleProblem."""
    if isinstance(written, str):
        if " ".join(written.lower().split()) == ON_ARRIVAL:
            return None
        return Schedule(_cron(written, key=""))
    if (written.cron is None) == (written.every is None):
        found = "both" if written.cron else "neither"
        raise ScheduleProblem("a schedule has either cron or every", _FORMS, found)
    if written.cron is not None:
        return Schedule(_cron(written.cron, "cron"), zone_key(written.time_zone))
    if written.time_zone is not None:
        what = "time_zone has no meaning for every"
        raise ScheduleProblem(what, "cron: … beside it", hint="remove time_zone", key="time_zone")
    return Schedule(every=_every(written.every or ""))


def read_schedule(setting: Setting, problems: list[Problem]) -> Schedule | None:
    """The schedule that a setting has, None for ``on arrival``; where it is not right, LS105 goes to ``problems``."""
    try:
        return schedule_of(setting.value)
    except ScheduleProblem as error:
        place = setting.item_place(error.key) if error.key else setting.place
        problems.append(Problem("LS105", str(error), place, error.expected, error.found, error.hint))
        return None


def _cron(text: str, key: str) -> str:
    fields = text.split()
    expected = _FIELDS if key else f"{_FIELDS}; {{every: 30s}}; or on arrival"
    if len(fields) != 5:
        raise ScheduleProblem("schedule is no cron expression", expected, repr(text), key=key)
    try:
        next(CronSim(" ".join(fields), _SOME_DAY))
    except CronSimError as error:
        found = f"{text!r}: {str(error).lower()}"
        raise ScheduleProblem("schedule is no cron expression", expected, found, key=key) from None
    except StopIteration:
        what = "schedule names a day that never comes"
        raise ScheduleProblem(what, "a day that some month has", repr(text), key=key) from None
    return " ".join(fields)


def zone_key(name: str | None) -> str:
    """The name of a time zone; None: UTC. Raises ScheduleProblem for one that is not known."""
    try:
        return ZoneInfo("UTC" if name is None else name).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        hint = did_you_mean(name or "", sorted(available_timezones()))
        expected = "a name of the IANA time zones, such as Europe/Amsterdam"
        raise ScheduleProblem("unknown time zone", expected, repr(name), hint, "time_zone") from None


def _every(text: str) -> float:
    try:
        found = seconds(text)
    except ValueError:
        found = 0.0
    if found < _SHORTEST_SECONDS:
        expected = "a duration of a second or more, such as 30s or 5 minutes"
        raise ScheduleProblem("every is no duration", expected, repr(text), key="every")
    return found
