"""What has arrived and is not in the lake: nothing is run for it twice, and nothing is forgotten."""

import os
from pathlib import Path

import pytest

from lakesmith.serve.arrivals import QUIET_SECONDS, Arrivals, ready


class Now:
    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def arrivals(now: Now, tmp_path: Path) -> Arrivals:
    found = Arrivals(now)
    found.look_in({"bronze.sales": [tmp_path]})
    return found


def segment(folder: Path, name: str, at: float) -> Path:
    path = folder / f"{name}.jsonl"
    path.write_text("{}\n")
    os.utime(path, (at, at))
    return path


def test_a_file_is_ready_once_nothing_changes_any_more(arrivals: Arrivals, now: Now) -> None:
    arrivals.notice("bronze.orders")
    now.seconds += QUIET_SECONDS * 0.9
    arrivals.notice("bronze.orders")
    now.seconds += QUIET_SECONDS * 0.9
    assert ready(arrivals.waiting(), now()) == frozenset()

    now.seconds += QUIET_SECONDS * 0.2
    assert ready(arrivals.waiting(), now()) == {"bronze.orders"}
    assert ready(arrivals.waiting(), now() - 3600) == {"bronze.orders"}, "the clock was put back"


def test_what_comes_while_a_run_is_under_way_waits_for_the_next(arrivals: Arrivals, now: Now) -> None:
    arrivals.notice("bronze.orders")
    seen = arrivals.waiting()
    now.seconds += 5
    arrivals.notice("bronze.orders")

    arrivals.settle(seen, ["bronze.orders"])

    assert arrivals.waiting().keys() == {"bronze.orders"}
    arrivals.settle(arrivals.waiting(), ["bronze.orders"])
    assert arrivals.waiting() == {}


def test_only_what_was_brought_up_to_date_is_settled(arrivals: Arrivals) -> None:
    arrivals.notice("bronze.orders")

    arrivals.settle(arrivals.waiting(), ["bronze.sales"])

    assert arrivals.waiting().keys() == {"bronze.orders"}


def test_segments_are_ready_at_once_and_their_age_is_the_lag(
    arrivals: Arrivals, now: Now, tmp_path: Path
) -> None:
    segment(tmp_path, "one", 990.0)
    segment(tmp_path, "two", 995.0)

    assert ready(arrivals.waiting(), now()) == {"bronze.sales"}
    assert arrivals.lags() == {"bronze.sales": 10.0}


def test_a_segment_that_stays_is_not_run_for_again_and_again(arrivals: Arrivals, tmp_path: Path) -> None:
    left_out = segment(tmp_path, "one", 990.0)
    arrivals.settle(arrivals.waiting(), ["bronze.sales"])
    assert arrivals.waiting() == {}

    segment(tmp_path, "two", 995.0)
    assert arrivals.waiting()["bronze.sales"].segments == {"two.jsonl"}

    left_out.unlink()
    arrivals.settle(arrivals.waiting(), ["bronze.sales"])
    assert arrivals.waiting() == {}
