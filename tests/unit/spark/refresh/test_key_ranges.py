"""Intervals that stand for many values: few, with nothing left out, and the widest gaps between them."""

from datetime import date
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lakesmith.spark.refresh.key_ranges import intervals


def test_the_widest_gaps_part_them() -> None:
    assert intervals([1, 2, 3, 50, 51, 98], 3) == [(1, 3), (50, 51), (98, 98)]
    assert intervals([1, 2, 3, 50, 51, 98], 2) == [(1, 3), (50, 98)]
    assert intervals([1, 2, 3], 1) == [(1, 3)]


def test_dates_can_be_subtracted_too() -> None:
    days = [date(2024, 1, 1), date(2024, 1, 2), date(2024, 6, 1)]
    assert intervals(days, 2) == [(days[0], days[1]), (days[2], days[2])]


def test_small_gaps_are_no_reason_for_intervals() -> None:
    everywhere = list(range(0, 100_000, 7))
    assert intervals(everywhere, 50) == [(everywhere[0], everywhere[-1])]
    assert intervals([*everywhere, 200_000], 50)[-1] == (200_000, 200_000)


def test_texts_are_one_interval() -> None:
    assert intervals(["a", "b", "z"], 5) == [("a", "z")]


def test_no_values_make_none() -> None:
    assert intervals([], 3) == []


@given(st.sets(st.integers(), min_size=1), st.integers(min_value=1, max_value=8))
def test_every_value_is_in_one(values: set[int], most: int) -> None:
    found = intervals(sorted(values), most)
    assert len(found) <= most
    assert all(any(least <= value <= greatest for least, greatest in found) for value in values)
    assert all(before[1] < after[0] for before, after in pairwise(found))
