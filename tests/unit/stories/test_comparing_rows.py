"""Expected and found rows: equal whatever their order, and told apart value by value."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lakesmith.errors import Place
from lakesmith.stories.comparing import differences, lines_of
from lakesmith.stories.model import Rows

PLACE = Place("tests/a.yaml", 1)
FOUND = pa.table(
    {
        "id": pa.array([1, 2, 2], pa.int64()),
        "price": pa.array([Decimal("1.50"), Decimal("2.00"), Decimal("2.00")], pa.decimal128(10, 2)),
        "status": ["new", "paid", "paid"],
    }
)


def lines(
    columns: str, *rows: tuple[Any, ...], found: pa.Table = FOUND, key: tuple[str, ...] = ("id",)
) -> list[str]:
    return list(lines_of(differences(Rows(tuple(columns.split()), rows, PLACE), found, key)))


def test_rows_are_equal_in_any_order_each_as_often_as_it_is_there() -> None:
    assert lines("id status", (2, "paid"), (1, "new"), (2, "paid")) == []
    assert lines("id status", (2, "paid"), (1, "new")) == ["+ unexpected: id 2, status 'paid'"]
    assert lines("id status", (2, "paid"), (2, "paid"), (2, "paid"), (1, "new")) == [
        "- missing: id 2, status 'paid'"
    ]


def test_columns_may_be_left_out_and_have_another_case() -> None:
    assert lines("PRICE", (1.5,), ("2",), (2,)) == []


def test_rows_of_one_key_are_shown_by_the_values_that_differ() -> None:
    assert lines("id price status", (1, 1.51, "new"), (2, 2, "paid"), (2, 2, "paid")) == [
        "~ id 1: price is 1.50, expected 1.51 (decimal128(10, 2))"
    ]


def test_without_a_key_rows_that_are_mostly_equal_are_put_together() -> None:
    assert lines("id price status", (1, 1.5, "old"), (2, 2, "paid"), (2, 2, "paid"), key=()) == [
        "~ id 1, price 1.50: status is 'new', expected 'old' (string)"
    ]


def test_no_rows_are_expected_of_a_table_with_rows() -> None:
    assert len(lines("")) == 3
    assert lines("", found=FOUND.slice(0, 0)) == []


def test_a_column_that_is_not_there_is_an_error_and_no_pass() -> None:
    assert lines("id statsu", found=FOUND.slice(0, 0)) == [
        "there is no column statsu: did you mean status?",
        "its columns are id, price, status",
    ]


VALUES = [
    (pa.int32(), 3, 3, True),
    (pa.int32(), True, 1, False),
    (pa.int32(), "3", 3, False),
    (pa.bool_(), True, True, True),
    (pa.bool_(), 1, True, False),
    (pa.string(), "a", "a", True),
    (pa.string(), 7, "7", False),
    (pa.float64(), 0.1 + 0.2, 0.3, True),
    (pa.float64(), 0.31, 0.3, False),
    (pa.float64(), "nan", float("nan"), True),
    (pa.float64(), None, float("nan"), False),
    (pa.decimal128(10, 2), 1.1, Decimal("1.10"), True),
    (pa.decimal128(10, 2), "1.105", Decimal("1.10"), False),
    (pa.date32(), "2026-01-05", date(2026, 1, 5), True),
    (pa.date32(), "2026-01-05 10:00:00", date(2026, 1, 5), False),
    (pa.timestamp("us", "UTC"), "2026-01-05 10:00:00", datetime(2026, 1, 5, 10, tzinfo=UTC), True),
    (pa.timestamp("us", "UTC"), "2026-01-05T12:00:00+02:00", datetime(2026, 1, 5, 10, tzinfo=UTC), True),
    (pa.timestamp("us", "UTC"), "2026-01-05T12:00:00", datetime(2026, 1, 5, 10, tzinfo=UTC), False),
    (pa.timestamp("us"), "2026-01-05 10:00:00", datetime(2026, 1, 5, 10), True),
    (pa.timestamp("us"), "2026-01-05 10:00:00Z", datetime(2026, 1, 5, 10), False),
    (pa.binary(), "0aff", b"\x0a\xff", True),
    (pa.list_(pa.int64()), [1, None], [1, None], True),
    (pa.list_(pa.int64()), [1], [1, None], False),
    (pa.struct({"a": pa.int64(), "b": pa.string()}), {"a": 1}, {"a": 1, "b": None}, True),
    (pa.struct({"a": pa.int64()}), {"b": 1}, {"a": None}, False),
    (pa.map_(pa.string(), pa.int64()), {"x": 1, "y": 2}, [("y", 2), ("x", 1)], True),
    (pa.map_(pa.string(), pa.int64()), {"x": 1}, [("x", 2)], False),
    (pa.string(), None, None, True),
    (pa.string(), None, "", False),
]


@pytest.mark.parametrize(("type_", "written", "value", "equal"), VALUES, ids=str)
def test_a_value_equals_what_is_written_for_its_type(
    type_: Any, written: Any, value: Any, equal: bool
) -> None:
    found = pa.table({"c": pa.array([value], type_)})
    assert (lines("c", (written,), found=found, key=()) == []) is equal


def test_a_value_that_no_column_of_the_type_has_is_said() -> None:
    assert lines("id", ("one",)) == ["column id is int64: 'one' is not a whole number"]


def test_texts_of_csv_are_values_of_the_types_and_nothing_is_null() -> None:
    rows = Rows(
        ("id", "price", "status"), (("1", "1.5", "new"), ("2", "2", ""), ("2", "2.00", "paid")), PLACE, True
    )
    assert list(lines_of(differences(rows, FOUND, ("id",)))) == [
        "~ id 2: status is 'paid', expected NULL (string)"
    ]


def test_nested_texts_of_csv_are_json() -> None:
    found = pa.table({"c": pa.array([[1.5, 2.0]], pa.list_(pa.float64()))})
    assert not differences(Rows(("c",), (("[1.5, 2]",),), PLACE, True), found)
    assert differences(Rows(("c",), (("[1.5, 3]",),), PLACE, True), found)


def test_ten_thousand_rows_are_compared_in_no_time() -> None:
    many = pa.table({"id": pa.array(range(10_000), pa.int64()), "x": [0.5] * 10_000})
    rows = tuple((number, 0.5) for number in reversed(range(1, 10_001)))
    assert lines("id x", *rows, found=many) == ["- missing: id 10000, x 0.5", "+ unexpected: id 0, x 0.5"]
