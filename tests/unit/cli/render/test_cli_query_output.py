"""A query's values as text: JSON and CSV lose nothing, a table is aligned and fits the terminal."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from lakesmith.api.frames import exact
from lakesmith.cli.render import query_output
from lakesmith.cli.render.query_output import write_result


@dataclass
class Rows:
    """A result in memory."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


def written(output: str, *rows: tuple[Any, ...], types: str = "", most: int | None = None) -> str:
    width = len(rows[0]) if rows else 2
    names = tuple("abcdefgh"[:width])
    out = io.StringIO()
    kinds = tuple(types.split()) or ("string",) * width
    write_result(Rows(names, kinds, iter(rows)), output, most, out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (9_223_372_036_854_775_807, 9_223_372_036_854_775_807),
        (0.1, 0.1),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (Decimal("1.10"), "1.10"),
        (Decimal("1E+3"), "1000"),
        (Decimal("0E-18"), "0.000000000000000000"),
        (date(2024, 2, 29), "2024-02-29"),
        (datetime(2024, 5, 31, 22, 0, 0, 123456, tzinfo=UTC), "2024-05-31T22:00:00.123456Z"),
        (datetime(2024, 5, 31, 22, 0), "2024-05-31T22:00:00"),
        (bytearray(b"\xff\x00"), "/wA="),
        ([Decimal("1.0"), None], ["1.0", None]),
        (
            {"at": datetime(2024, 1, 1, tzinfo=UTC), "in": {"x": b"a"}},
            {"at": "2024-01-01T00:00:00Z", "in": {"x": "YQ=="}},
        ),
        ({1: "one", date(2024, 1, 1): 2}, {"1": "one", "2024-01-01": 2}),
    ],
)
def test_exact_values(value: Any, expected: Any) -> None:
    assert exact(value) == expected
    json.dumps(exact(value), allow_nan=False)


def test_json_is_an_array_with_a_row_a_line() -> None:
    text = written("json", (1, "é\n"), (None, "b"))
    assert json.loads(text) == [{"a": 1, "b": "é\n"}, {"a": None, "b": "b"}]
    assert len(text.splitlines()) == 4
    assert json.loads(written("json")) == []


def test_csv_quotes_what_needs_it() -> None:
    text = written("csv", ('a,"b"\nc', None), (Decimal("1.50"), [1, "x"]))
    assert list(csv.reader(io.StringIO(text))) == [["a", "b"], ['a,"b"\nc', ""], ["1.50", '[1, "x"]']]


def test_a_table_is_aligned_and_says_null() -> None:
    text = written("table", ("x", 5, None), ("long text", 1234, "y\tz"), types="string int string")
    assert text.splitlines() == [
        "a             b  c", "---------  ----  ----", "x             5  NULL", "long text  1234  y z",
    ]  # fmt: skip


def test_a_table_without_rows() -> None:
    assert written("table").splitlines() == ["a  b", "-  -", "(no rows)"]


def test_a_table_says_that_there_is_more() -> None:
    rows = [(number, number) for number in range(4)]
    assert "(3 rows shown, there are more: --limit 0 shows all)" in written("table", *rows, most=3)
    assert "more" not in written("table", *rows, most=4)


def test_only_a_terminal_cuts_what_is_too_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    row = ("w" * 60, "short")
    assert "w" * 60 in written("table", row)
    monkeypatch.setattr(query_output, "terminal_width", lambda: 40)
    lines = written("table", row).splitlines()
    assert max(map(len, lines)) == 40
    assert lines[2].endswith("…  short")
    assert "w" * 60 in written("csv", row)
