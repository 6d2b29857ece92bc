"""A result as a chart: where marks and labels are, and which rows have none."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakesmith.page.query.chart import KINDS, MOST_MARKS, Chart, chart, choice, kind_for

NUMBERS = st.one_of(
    st.none(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["1.50", "-0.00000001", "nan", "inf", "-inf"]),
)
LABELS = st.one_of(st.none(), st.booleans(), st.text(max_size=40), st.just(["long"]))
TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)).map(lambda each: each.isoformat() + "Z")


def _drawn(kind: str, x_type: str, rows: list[list[Any]]) -> Chart:
    return chart(kind, ["x", "y"], [x_type, "double"], rows, 0, 1)


@st.composite
def results(draw: st.DrawFn) -> tuple[str, str, list[list[Any]]]:
    x_type, values = draw(
        st.sampled_from([("string", LABELS), ("double", NUMBERS), ("timestamp", TIMES | st.none())])
    )
    rows = draw(st.lists(st.tuples(values, NUMBERS).map(list), max_size=40))
    return draw(st.sampled_from(KINDS)), x_type, rows


@given(results())
@settings(deadline=None, max_examples=300)
def test_all_marks_and_labels_are_in_the_picture(result: tuple[str, str, list[list[Any]]]) -> None:
    kind, x_type, rows = result
    found = _drawn(kind, x_type, rows)
    assert len(found.marks) + found.left_out == len(rows)
    for each in found.marks:
        assert found.left <= each.x <= found.right and found.top - 0.01 <= each.y <= found.bottom + 0.01
        assert found.top - 0.01 <= each.base <= found.bottom + 0.01
    assert 2 <= len(found.y_ticks) <= 14 and len(found.x_ticks) <= 200
    for tick in found.y_ticks:
        assert found.top - 0.01 <= tick.at <= found.bottom + 0.01 and tick.text


def test_bars_are_as_high_as_their_numbers() -> None:
    found = _drawn("bar", "string", [["a", 10], ["b", 20], ["c", -5], ["d", "7.50"]])
    high = [each.base - each.y for each in found.marks]
    assert high[1] == pytest.approx(2 * high[0]) and high[2] == pytest.approx(-high[0] / 2)
    assert high[3] == pytest.approx(0.75 * high[0])
    assert [each.text for each in found.marks] == ["a: 10", "b: 20", "c: -5", "d: 7.50"]
    assert [each.text for each in found.y_ticks] == ["-5", "0", "5", "10", "15", "20"]
    assert [each.text for each in found.x_ticks] == ["a", "b", "c", "d"]


def test_a_line_goes_from_left_to_right_by_time() -> None:
    days = [[(datetime(2026, 1, 5, tzinfo=UTC) - timedelta(days=at)).isoformat(), at] for at in range(5)]
    found = _drawn("line", "timestamp", days)
    assert all(one.x < two.x and one.y < two.y for one, two in pairwise(found.marks))
    assert [each.text for each in found.x_ticks] == [f"2026-01-0{at}" for at in range(1, 6)]
    assert found.line.count(",") == 5


def test_scatter_keeps_every_pair_and_says_what_has_no_number() -> None:
    found = _drawn("scatter", "double", [[1, 2], [3, None], [None, 4], ["nan", 1], [2, "inf"], [5, 6]])
    assert [each.text for each in found.marks] == ["1: 2", "5: 6"] and found.left_out == 4


def test_more_marks_than_can_be_told_apart_are_cut() -> None:
    found = _drawn("bar", "string", [[str(at), at] for at in range(MOST_MARKS + 5)])
    assert len(found.marks) == MOST_MARKS and found.is_cut and found.left_out == 0
    assert len(found.x_ticks) < 60


def test_labels_of_large_and_small_numbers_can_be_read() -> None:
    assert [t.text for t in _drawn("bar", "string", [["a", 0.00025]]).y_ticks][1] == "0.00005"
    assert [t.text for t in _drawn("bar", "string", [["a", 4_000_000]]).y_ticks][1] == "1,000,000"
    assert [t.text for t in _drawn("bar", "string", [["a", 4e20]]).y_ticks][1] == "1e+20"


def test_a_first_choice_of_columns_and_kind() -> None:
    assert choice(["string", "bigint"]) == (0, 1)
    assert choice(["bigint", "string", "decimal(9,2)"]) == (1, 0)
    assert choice(["int", "double"]) == (0, 1) and choice(["int"]) == (0, 0)
    assert choice(["string", "array<int>"]) is None
    assert [kind_for(each) for each in ("date", "int", "string")] == ["line", "scatter", "bar"]
