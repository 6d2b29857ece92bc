"""Expressions for EventBridge Scheduler fire when cronsim says that the schedule does.

The oracle reads AWS's documented syntax on its own: it shares no line with the translation.
"""

import calendar
import random
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice

import pytest
from cronsim import CronSim, CronSimError

from lakesmith.deploy.cron import Untranslatable, expressions
from lakesmith.project.schedules import Schedule

START = datetime(2026, 1, 30, 22, 17, tzinfo=UTC)
LONG = " ".join(",".join(str(each) for each in range(1, last) if each % 7) for last in (60, 24, 29))
RANGES = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 7)}


@cache
def aws_field(text: str, value: int, first: int, last: int) -> bool:
    """Whether a value matches a field of AWS: ``*``, ``a,b``, ``a-b``, ``a/n``."""
    if text in ("*", "?"):
        return True
    if "/" in text:
        start, step = text.split("/")
        begin = first if start == "*" else int(start)
        return value in range(begin, last + 1, int(step))
    if "-" in text:
        low, high = map(int, text.split("-"))
        assert low <= high
        return low <= value <= high
    return value in {int(each) for each in text.split(",")}


def aws_day(day: str, weekday: str, at: datetime) -> bool:
    """Whether a date matches AWS's two fields of days, of which exactly one is ``?``."""
    assert (day == "?") != (weekday == "?")
    length = calendar.monthrange(at.year, at.month)[1]
    if weekday == "?":
        return at.day == length if day == "L" else aws_field(day, at.day, 1, 31)
    number = (at.weekday() + 1) % 7 + 1  # Sunday is 1.
    if weekday.endswith("L"):
        return number == int(weekday[:-1]) and at.day + 7 > length
    if "#" in weekday:
        which, nth = map(int, weekday.split("#"))
        return number == which and (at.day - 1) // 7 + 1 == nth
    return aws_field(weekday, number, 1, 7)


def aws_fires(expression: str, at: datetime) -> bool:
    """Whether an expression fires in the minute ``at``."""
    minute, hour, day, month, weekday, year = expression.removeprefix("cron(").removesuffix(")").split()
    assert year == "*"
    return (
        aws_field(month, at.month, 1, 12)
        and aws_day(day, weekday, at)
        and aws_field(hour, at.hour, 0, 23)
        and aws_field(minute, at.minute, 0, 59)
    )


def random_field(kind: str, choice: random.Random) -> str:
    """A random field of cron."""
    low, high = RANGES[kind]
    forms = ["*", "one", "list", "range", "step", "stepped range"] + (
        ["L", "list L"] if kind == "day" else []
    )
    forms += ["nth", "last", "name"] if kind == "weekday" else []
    form = choice.choice(forms)
    one, two = sorted(choice.choices(range(low, high + 1), k=2))
    names = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
    return {
        "*": "*",
        "one": str(one),
        "list": ",".join(str(choice.randint(low, high)) for _ in range(choice.randint(2, 4))),
        "range": f"{one}-{two}",
        "step": f"*/{choice.randint(1, high)}",
        "stepped range": f"{one}-{two}/{choice.randint(1, 5)}",
        "L": "L",
        "list L": f"{one},L",
        "nth": f"{choice.randint(0, 7)}#{choice.randint(1, 5)}",
        "last": f"{choice.randint(0, 7)}L",
        "name": choice.choice(names),
    }[form]


def random_crons(number: int) -> list[str]:
    """Random expressions that cronsim accepts and that fire at some time."""
    choice, found = random.Random(20261125), []
    while len(found) < number:
        cron = " ".join(random_field(kind, choice) for kind in RANGES)
        try:
            next(CronSim(cron, START))
        except (CronSimError, StopIteration):
            continue
        found.append(cron)
    return found


def next_firings(translated: tuple[str, ...], end: datetime) -> list[datetime]:
    """The minutes up to ``end`` in which one of the expressions fires. Days that do not match are skipped."""
    found, at = [], START.replace(second=0) + timedelta(minutes=1)
    fields = [each.removeprefix("cron(").removesuffix(")").split() for each in translated]
    while at <= end:
        if not any(aws_field(f[3], at.month, 1, 12) and aws_day(f[2], f[4], at) for f in fields):
            at = at.replace(hour=0, minute=0) + timedelta(days=1)
            continue
        if not any(aws_field(f[1], at.hour, 0, 23) for f in fields):
            at = at.replace(minute=0) + timedelta(hours=1)
            continue
        if any(aws_fires(each, at) for each in translated):
            found.append(at)
        at += timedelta(minutes=1)
    return found


def test_a_thousand_random_expressions_fire_as_cronsim_says() -> None:
    refused = 0
    for cron in random_crons(1000):
        try:
            translated = expressions(Schedule(cron))
        except Untranslatable as error:
            refused += 1
            assert "both" in str(error) or "characters" in str(error)
            continue
        expected = list(islice(CronSim(cron, START), 12))
        assert next_firings(translated, expected[-1]) == expected, (cron, translated)
    # Both fields of days begin with a star or have one: random expressions often do.
    assert refused < 200


@pytest.mark.parametrize(
    ("cron", "translated"),
    [
        ("0 */6 * * *", ("cron(0 0/6 * * ? *)",)),
        ("0 3 * * *", ("cron(0 3 * * ? *)",)),
        ("30 2 1,15 * *", ("cron(30 2 1,15 * ? *)",)),
        ("0 0 * * 0", ("cron(0 0 ? * 1 *)",)),
        ("0 0 * * 7", ("cron(0 0 ? * 1 *)",)),
        ("0 0 13 * FRI", ("cron(0 0 13 * ? *)", "cron(0 0 ? * 6 *)")),
        ("0 0 L * *", ("cron(0 0 L * ? *)",)),
        ("0 0 * * MON#2", ("cron(0 0 ? * 2#2 *)",)),
        ("0 0 1 * 0-6", ("cron(0 0 * * ? *)",)),
    ],
)
def test_known_expressions(cron: str, translated: tuple[str, ...]) -> None:
    assert expressions(Schedule(cron)) == translated


@pytest.mark.parametrize(
    ("seconds", "rate"),
    [(60, "rate(1 minute)"), (900, "rate(15 minutes)"), (3600, "rate(1 hour)"), (172800, "rate(2 days)")],
)
def test_intervals_of_whole_minutes_are_rates(seconds: float, rate: str) -> None:
    assert expressions(Schedule(every=float(seconds))) == (rate,)


@pytest.mark.parametrize(
    ("schedule", "says"),
    [
        (Schedule(every=30.0), "each minute at most"),
        (Schedule(every=90.0), "whole minutes"),
        (Schedule("0 0 LW * *"), "last working day"),
        (Schedule("0 0 */2 * MON"), "both"),
        (Schedule(f"{LONG} 1,2,4,5,7,8,10,12 *"), "characters"),
    ],
)  # fmt: skip
def test_what_aws_cannot_express_is_refused(schedule: Schedule, says: str) -> None:
    with pytest.raises(Untranslatable, match=says) as caught:
        expressions(schedule)
    assert caught.value.hint
