"""Translates schedules to expressions of EventBridge Scheduler.

AWS documents the syntax under "Schedule types in EventBridge Scheduler". It differs from cron: a sixth field
is for the year, Sunday is 1, and one of the two fields for days has to be ``?``. So a day of the month *or*
of the week needs two expressions, and a day of the month *and* of the week cannot be expressed. Names and
most steps are written as numbers, so that an expression means the same in both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lakesmith.project.schedules import Schedule

MAX_LENGTH: Final = 256
"""The length of an expression that AWS accepts."""

_MINUTE_SECONDS: Final = 60
_UNITS: Final = (("day", 1440), ("hour", 60), ("minute", 1))
_WEEK: Final = 7


class Untranslatable(ValueError):
    """A schedule that EventBridge Scheduler cannot have. ``hint`` says what to declare instead."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


def expressions(schedule: Schedule) -> tuple[str, ...]:
    """Returns the expressions that together fire whenever the schedule does. Raises Untranslatable.

    >>> expressions(Schedule("0 6 * * MON-FRI"))
    ('cron(0 6 ? * 2-6 *)',)
    >>> expressions(Schedule("0 0 13 * FRI"))
    ('cron(0 0 13 * ? *)', 'cron(0 0 ? * 6 *)')
    >>> expressions(Schedule(every=7200.0))
    ('rate(2 hours)',)
    """
    if schedule.cron is None:
        return (_rate(schedule.every or 0.0),)
    found = tuple(f"cron({each})" for each in _fields(schedule.cron))
    if longest := max((each for each in found if len(each) > MAX_LENGTH), key=len, default=None):
        what = f"the expression has {len(longest)} characters for AWS, more than {MAX_LENGTH}"
        raise Untranslatable(what, "declare a schedule with fewer single values")
    return found


def _rate(seconds: float) -> str:
    minutes, rest = divmod(seconds, _MINUTE_SECONDS)
    if rest or minutes < 1:
        what = f"EventBridge Scheduler fires each minute at most, at whole minutes: every {seconds:g} s"
        hint = "declare whole minutes, such as {every: 1 minute}; `lakesmith up` keeps shorter intervals"
        raise Untranslatable(what, hint)
    unit, size = next(each for each in _UNITS if minutes % each[1] == 0)
    number = int(minutes // size)
    return f"rate({number} {unit}{'' if number == 1 else 's'})"


def _fields(cron: str) -> Iterable[str]:
    from datetime import UTC, datetime

    from cronsim import CronSim

    parsed = CronSim(cron, datetime(2024, 1, 1, tzinfo=UTC))
    minute, hour = _values(parsed.minutes, 0, 59), _values(parsed.hours, 0, 23)
    month = _values(parsed.months, 1, 12)
    for day, weekday in _days(parsed.days, parsed.weekdays, parsed.day_and, parsed.LAST):
        yield f"{minute} {hour} {day} {month} {weekday} *"


def _days(
    days: Iterable[int], weekdays: Iterable[int | tuple[int, int]], both: bool, last: int
) -> list[tuple[str, str]]:
    """Returns the pairs of day of the month and day of the week. ``both``: a day must match both fields."""
    numbers = {day for day in days if day > 0}
    plain = {day % _WEEK + 1 for day in weekdays if isinstance(day, int)}
    if len(days := {*days} - numbers) and days != {last}:
        what = "AWS has no expression for the last working day of a month (LW)"
        raise Untranslatable(what, "declare the last day (L), or a day of the week such as 5L")
    of_month = ([_values(numbers, 1, 31)] if numbers else []) + ["L" for _ in days]
    of_week = [_values(plain, 1, _WEEK)] if plain else []
    for day, number in sorted(each for each in weekdays if isinstance(each, tuple)):
        of_week.append(f"{day % _WEEK + 1}{'L' if number == last else f'#{number}'}")
    every = ("*" in of_month, "*" in of_week)
    if both and not any(every):
        what = "AWS has no expression for days that match both the day of the month and the day of the week"
        raise Untranslatable(what, "declare one of them with *, or plain numbers for either of them")
    if all(every) or (any(every) and not both):
        return [("*", "?")]
    month = [] if every[0] else [(day, "?") for day in of_month]
    return month + ([] if every[1] else [("?", day) for day in of_week])


def _values(values: Iterable[int], first: int, last: int) -> str:
    """Returns a field of an expression: all values, a range, steps up to the last value, or a list."""
    found = sorted(values)
    step = found[1] - found[0] if len(found) > 1 else 0
    if found == [*range(first, last + 1)]:
        return "*"
    if len(found) > 2 and found == [*range(found[0], found[-1] + 1)]:
        return f"{found[0]}-{found[-1]}"
    if len(found) > 2 and found == [*range(found[0], last + 1, step)]:
        return f"{found[0]}/{step}"
    return ",".join(map(str, found))
