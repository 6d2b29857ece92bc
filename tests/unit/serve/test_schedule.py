"""Schedules on clocks that are fixed: what is due, once, whatever clocks and processes do."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lakesmith.project.definitions import Schedule
from lakesmith.serve.schedule import (
    MOST_PASSED,
    Due,
    Firing,
    due,
    fired,
    known_firings,
    next_firing,
    read_firings,
    write_firings,
)

AMSTERDAM = "Europe/Amsterdam"
"""In 2026 its clock goes from 2:00 to 3:00 on 29 March, and from 3:00 back to 2:00 on 25 October."""


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def firings(schedule: Schedule, start: str, end: str) -> Iterator[str]:
    """The moments at which a process that looks each minute fires, as it keeps its last firing."""
    now, last = at(start), known_firings({"t": schedule}, {}, at(start))
    while now <= at(end):
        for each in due({"t": schedule}, last, now):
            assert each.passed == 1
            yield f"{now:%d %H:%M}"
            last = fired(last, {"t": each.at})
        now += timedelta(minutes=1)


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("30 2 * * *", ["28 01:30", "29 01:00", "30 00:30"]),
        ("0 3 * * *", ["28 02:00", "29 01:00", "30 01:00"]),
        ("30 1 * * *", ["28 00:30", "29 00:30", "29 23:30"]),
    ],
)
def test_what_falls_into_the_gap_is_done_right_after_it(cron: str, expected: list[str]) -> None:
    schedule = Schedule(cron, AMSTERDAM)

    assert list(firings(schedule, "2026-03-28T00:00", "2026-03-30T02:00")) == expected


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("30 2 * * *", ["24 00:30", "25 00:30", "26 01:30"]),
        ("0 3 * * *", ["24 01:00", "25 02:00", "26 02:00"]),
        ("15,45 2 * * *", ["24 00:15", "24 00:45", "25 00:15", "25 00:45", "26 01:15", "26 01:45"]),
    ],
)
def test_the_hour_that_comes_twice_fires_once(cron: str, expected: list[str]) -> None:
    schedule = Schedule(cron, AMSTERDAM)

    assert list(firings(schedule, "2026-10-24T00:00", "2026-10-26T03:00")) == expected


def test_an_hourly_table_is_done_in_every_hour_there_is() -> None:
    schedule = Schedule("0 * * * *", AMSTERDAM)

    assert list(firings(schedule, "2026-10-24T23:30", "2026-10-25T03:00")) == [
        "25 00:00", "25 01:00", "25 02:00", "25 03:00"
    ]  # fmt: skip
    assert list(firings(schedule, "2026-03-29T00:30", "2026-03-29T02:00")) == ["29 01:00", "29 02:00"]


def test_a_process_that_begins_in_the_second_of_two_hours_does_not_fire_for_the_first() -> None:
    schedule = Schedule("50 2 * * *", AMSTERDAM)

    last = known_firings({"t": schedule}, {}, at("2026-10-25T01:20"))
    assert due({"t": schedule}, last, at("2026-10-25T01:20")) == ()
    assert next_firing(schedule, at("2026-10-25T01:20")) == at("2026-10-26T01:50")


def test_month_ends() -> None:
    last_days = Schedule("0 0 L * *", "UTC")
    on_31 = Schedule("0 0 31 * *", "UTC")
    leap = Schedule("0 0 29 2 *", "UTC")

    assert next_firing(last_days, at("2027-02-01T00:00")) == at("2027-02-28T00:00")
    assert next_firing(last_days, at("2028-02-01T00:00")) == at("2028-02-29T00:00")
    assert next_firing(on_31, at("2026-03-31T00:00")) == at("2026-05-31T00:00")
    assert next_firing(leap, at("2026-03-01T00:00")) == at("2028-02-29T00:00")


def test_a_new_cron_table_waits_for_its_time_and_a_new_interval_does_not() -> None:
    schedules = {"a": Schedule("0 6 * * *"), "b": Schedule(every=30)}
    now = at("2026-11-23T07:00")

    assert [each.table for each in due(schedules, known_firings(schedules, {}, now), now)] == ["b"]


def test_missed_firings_are_done_once_and_counted() -> None:
    schedules = {"t": Schedule("0 6 * * *", AMSTERDAM)}
    last = {"t": Firing("0 6 * * * Europe/Amsterdam", at("2026-11-20T05:00"))}
    now = at("2026-11-23T09:30")

    (found,) = due(schedules, known_firings(schedules, last, now), now)

    assert found == Due("t", at("2026-11-23T05:00"), 3)
    assert due(schedules, fired(last, {"t": found.at}), now) == ()
    assert next_firing(schedules["t"], found.at) == at("2026-11-24T05:00")


def test_very_many_missed_firings_are_not_counted_out() -> None:
    schedules = {"t": Schedule("* * * * *")}
    last = {"t": Firing("* * * * * UTC", at("2020-01-01T00:00"))}
    now = datetime(2026, 11, 23, 9, 30, 10, 500_000, tzinfo=UTC)

    assert due(schedules, last, now) == (Due("t", at("2026-11-23T09:30"), MOST_PASSED),)
    assert due(schedules, last, at("2026-11-23T09:30"))[0].at == at("2026-11-23T09:30")


def test_a_process_that_begins_again_goes_on_where_the_last_one_was(tmp_path: Path) -> None:
    schedules = {"t": Schedule("0 6 * * *"), "u": Schedule(every=3600)}
    path = tmp_path / ".lakesmith" / "schedule.json"
    write_firings(
        path,
        {**known_firings(schedules, {}, at("2026-11-23T06:00")), "gone": Firing("x", at("2026-11-23T06:00"))},
    )

    now = at("2026-11-23T06:30")
    last = known_firings(schedules, read_firings(path), now)

    assert last.keys() == {"t", "u"}
    assert [each.table for each in due(schedules, last, now)] == ["u"]
    assert [(each.table, each.passed) for each in due(schedules, last, at("2026-11-24T06:00"))] == [
        ("t", 1),
        ("u", 1),
    ]


def test_a_changed_schedule_has_missed_nothing() -> None:
    old = {
        "a": Firing("0 6 * * * UTC", at("2026-11-20T06:00")),
        "b": Firing("every 3600 s", at("2026-11-23T09:00")),
    }
    schedules = {"a": Schedule("0 7 * * *"), "b": Schedule(every=60)}
    now = at("2026-11-23T09:00:30")

    last = known_firings(schedules, old, now)

    assert due(schedules, last, now) == ()
    assert next_firing(schedules["a"], last["a"].at) == at("2026-11-24T07:00")
    assert next_firing(schedules["b"], last["b"].at) == at("2026-11-23T09:01")


def test_a_clock_that_is_put_back_a_little_fires_nothing_twice_and_a_wrong_one_is_forgotten() -> None:
    schedules = {"a": Schedule("0 6 * * *"), "b": Schedule("0 6 * * *"), "c": Schedule(every=60)}
    words = {name: str(each) for name, each in schedules.items()}
    now = at("2026-11-23T05:59")
    old = {
        "a": Firing(words["a"], at("2026-11-23T06:00")),
        "b": Firing(words["b"], at("2027-11-23T06:00")),
        "c": Firing(words["c"], at("2027-11-23T06:00")),
    }

    last = known_firings(schedules, old, now)

    assert [each.table for each in due(schedules, last, at("2026-11-23T06:00"))] == ["b", "c"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"t": {}}', '{"t": {"schedule": "x", "at": "y"}}', '{"t": 1}']
)
def test_a_file_that_is_none_of_ours_is_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "schedule.json").write_text(text)

    assert read_firings(tmp_path / "schedule.json") == {}
    assert read_firings(tmp_path / "no.json") == {}
