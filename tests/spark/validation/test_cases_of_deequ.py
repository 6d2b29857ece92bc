"""What the open executor of DQDL (awslabs/deequ) measures, by the cases of its own tests."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession
from test_metrics import NOW, nothing

from lakesmith.errors import Place
from lakesmith.quality.dqdl import parse_rules
from lakesmith.quality.numbers import Number
from lakesmith.quality.verdict import measured, outcome_of
from lakesmith.spark.validation.measure import Measurements, Subject
from lakesmith.spark.validation.references import References

Rows = tuple[str, Sequence[tuple[Any, ...]]]
"""A schema and rows."""

FULL: Rows = (
    "item string, att1 string, att2 string",
    [("1", "a", "c"), ("2", "a", "c"), ("3", "a", "c"), ("4", "b", "d")],
)
MISSING: Rows = (
    "item string, att1 string, att2 string",
    list(zip(
        map(str, range(1, 13)),
        ["a", "b", None, "a", "a", None, None, "b", "a", None, None, None],
        ["f", "d", "f", None, "f", "d", "d", None, "f", None, "f", "d"],
        strict=True,
    )),
)  # fmt: skip
NUMBERS: Rows = (
    "item string, att1 int, att2 int, att3 int",
    [("1", 1, 0, 0), ("2", 2, 0, 0), ("3", 3, 0, 0), ("4", 4, 5, 4), ("5", 5, 6, 6), ("6", 6, 7, 7)],
)
UNIQUE: Rows = (
    "one string, several string, with_nulls string, once_or_null string, with_other string",
    [
        ("1", "0", "3", "1", "5"), ("2", "0", "3", "2", "6"), ("3", "0", "3", None, "7"),
        ("4", "5", None, "3", "0"), ("5", "6", None, "4", "0"), ("6", "7", None, "5", "0"),
    ],
)  # fmt: skip
FILTERED: Rows = ("value string, type string", [*((v, "unique") for v in "124"), *[("3", "duplicate")] * 2])
DATES: Rows = ("id int, d string", [(1, "2023-01-01"), (2, "2023-02-15"), (3, "2023-03-20")])
SEVERAL = 'DuplicateRowCount "a" "b" >= 0'


def texts(*values: str) -> Rows:
    return "id int, d string", list(enumerate(values))


def doubles(*values: float | None) -> Rows:
    return "value double", [(None if value is None else float(value),) for value in values]


def pairs(*values: tuple[str | None, int | None]) -> Rows:
    return "a string, b int", values


def two(shares: float) -> float:
    return -(shares * math.log(shares) + (1 - shares) * math.log(1 - shares))


CASES: Sequence[tuple[Rows, str, float | None, bool]] = [
    # rows, rule, metric, whether it holds
    (FULL, "RowCount < 10", 4, True),
    (FULL, "ColumnCount = 3", 3, True), (FULL, "ColumnCount between 2 and 5.4454", 3, True),
    (FULL, "ColumnCount between 3 and 4", 3, False), (FULL, "ColumnCount not between 3 and 5", 3, True),
    (FULL, "ColumnCount not in [1,3]", 3, False), (FULL, "ColumnCount = 3.9", 3, False),
    (FULL, "ColumnCount > -1", 3, True), (FULL, "ColumnCount >= 3.01", 3, False),
    (FULL, 'Completeness "item" > 0.8', 1, True),
    (MISSING, 'Completeness "att1" = 0.5', 0.5, True), (MISSING, 'Completeness "att2" = 0.75', 0.75, True),
    (MISSING, 'Completeness "att2" > 0.6 where "att1 IS NOT NULL"', 4 / 6, True),
    (MISSING, "Completeness \"att1\" = 1 where \"item IN ('1', '2')\"", 1, True),
    (FULL, 'Uniqueness "item" = 1.0', 1, True), (FULL, 'Uniqueness "att1" = 0.25', 0.25, True),
    (MISSING, 'Uniqueness "att1" = 0', 0, True), (FILTERED, 'Uniqueness "value" = 0.6', 0.6, True),
    (FILTERED, "Uniqueness \"value\" = 1 where \"type = 'unique'\"", 1, True),
    (UNIQUE, 'Uniqueness "once_or_null" = 1', 1, True),
    (UNIQUE, 'Uniqueness "one" "with_nulls" = 1', 1, True),
    (UNIQUE, 'Uniqueness "several" "with_other" = 1', 1, True), (UNIQUE, 'IsUnique "several"', 0.5, False),
    (FULL, 'IsUnique "item"', 1, True), (FULL, 'IsPrimaryKey "item"', 1, True),
    (NUMBERS, 'IsPrimaryKey "att2"', 0.5, False), (NUMBERS, 'IsPrimaryKey "att2" where "att1 > 2"', 1, True),
    (NUMBERS, 'DistinctValuesCount "att2" = 4', 4, True),
    (NUMBERS, 'UniqueValueRatio "att2" > 0.7', 0.75, True),
    (FULL, 'Entropy "att1" > 0', two(0.75), True), (NUMBERS, 'Entropy "att2" > 1', 1.2424533248940002, True),
    (NUMBERS, 'Mean "att1" = 3.5', 3.5, True), (NUMBERS, 'Mean "att2" = 3', 3, True),
    (NUMBERS, "Mean \"att1\" = 3 where \"item != '6'\"", 3.0, True), (FULL, 'Mean "att1" > 0', None, False),
    (NUMBERS, 'Sum "att1" = 21', 21, True), (NUMBERS, 'Sum "att2" = 18', 18, True),
    (NUMBERS, 'StandardDeviation "att1" > 1.7', 1.707825127659933, True),
    (NUMBERS, 'StandardDeviation "att2" > 3', 3.0550504633038935, True),
    (NUMBERS, 'Variance "att1" > 2', 2.9166666666666665, True),
    (doubles(42), 'Variance "value" = 0', 0, True),
    (NUMBERS, 'ColumnCorrelation "att2" "att3" > 0.8', 0.992763360363403, True),
    (NUMBERS, 'Range "att1" = 5', 5, True), (doubles(5, 5, 5, 5), 'Range "value" = 0', 0, True),
    (doubles(None, None), 'Range "value" >= 0', None, False),
    (NUMBERS, 'ZerosCount "att2" = 3', 3, True), (doubles(None, None), 'ZerosCount "value" = 0', 0, True),
    (NUMBERS, 'InterquartileRange "att1" = 2.5', 2.5, True),
    (doubles(1, 3, 5, 7, 9), 'InterquartileRange "value" = 4', 4, True),
    (doubles(42), 'InterquartileRange "value" = 0', 0, True),
    (NUMBERS, 'Skewness "att1" < 0.1', 0, True), (doubles(1, 1, 1, 1, 10), 'Skewness "value" > 1', 1.5, True),
    (doubles(1, 10, 10, 10, 10), 'Skewness "value" < -1', -1.5, True),
    (doubles(5, 5, 5, 5), 'Skewness "value" = 0', 0, True),
    (doubles(None), 'Skewness "value" = 0', None, False),
    (NUMBERS, 'Kurtosis "att1" < 0', -1.2685714285714285, True),
    (doubles(5, 5, 5, 5), 'Kurtosis "value" = 0', 0, True),
    (pairs(("a", 1), ("b", 2), ("a", 1), ("c", 3), ("a", 1)), SEVERAL, 3, True),
    (pairs(("a", 1), ("b", 2), ("a", 1), ("b", 2), ("c", 3)), "DuplicateRowCount >= 0", 4, True),
    (pairs(("a", 1), ("a", None), ("a", None)), SEVERAL, 2, True),
    (pairs((None, None), (None, None), ("a", 1)), SEVERAL, 0, True), (pairs(), SEVERAL, 0, True),
    (pairs(("a", 1)), 'DuplicateRowCount "a" = 0 where "b > 1"', 0, True),
    (("col_one int, col_two int", []), 'ColumnNamesMatchPattern "col_.*"', 1, True),
    (("col_one int, other int", []), 'ColumnNamesMatchPattern "col_.*"', 0, False),
    (("`Building Code` int, Building_Code int, `Building.Code` int", []),
     r'ColumnNamesMatchPattern "Building[\s|_|\.]Code"', 1, True),
    (("`Building Code` int, Building_Code int", []), r'ColumnNamesMatchPattern "Building\s*Code"', 0, False),
    (("my_col_one int", []), 'ColumnNamesMatchPattern "col"', 1, True),
    (DATES, 'ColumnDataType "d" = "DATE" with threshold > 0.9', 1, True),
    (texts("2023-01-01", "n", "n", "n"), 'ColumnDataType "d" = "DATE" with threshold > 0.9', 0.25, False),
    (texts("11.5", "12.0", "no", "14.5"), 'ColumnDataType "d" = "DOUBLE" with threshold >= 0.75', 0.75, True),
    (texts("15-02-2023"), 'ColumnDataType "d" = "DATE" with threshold > 0', 0, False),
    (texts("15-02-2023"), 'ColumnDataType "d" = "DATE" with format = "dd-MM-yyyy"', 1, True),
    (texts("02-15-2023"), 'ColumnDataType "d" = "DATE" with format = "MM-dd-yyyy"', 1, True),
    (texts("02/2023"), 'ColumnDataType "d" = "DATE" with format = "MM/yyyy"', 1, True),
    (texts("2023-02"), 'ColumnDataType "d" = "DATE" with format = "yyyy-MM"', 1, True),
    (texts("15-02"), 'ColumnDataType "d" = "DATE" with format = "dd-MM"', 1, True),
    (DATES, 'ColumnDataType "d" = "DATE" with format = "dd-MM-yyyy"', 0, False),
    (texts("2023-01-31 10:20:30.5"),
     'ColumnDataType "d" = "Timestamp" with format = "yyyy-MM-dd HH:mm:ss.S"', 1, True),
    (texts("x"), 'ColumnDataType "d" != "DATE" with format = "yyyy"', 1, True),
    (DATES, 'ColumnDataType "d" = "DATE" where "id > 4"', None, True),
    (texts(), 'DataFreshness "d" < 200 hours', None, True),
    (DATES, 'DataFreshness "d" < 200 hours where "id > 4"', None, True),
    (texts("2026-11-24", "2026-11-19"), 'DataFreshness "d" < 100 hours', 0.5, False),
]  # fmt: skip


Metrics = Mapping[str, Number | None]


@pytest.fixture(scope="module")
def metrics(interpreted: SparkSession) -> Callable[[Rows], Metrics]:
    """Returns what the rules of all cases with these rows measure, together, as those of a table."""
    known: dict[str, Metrics] = {}

    def found(rows: Rows) -> Metrics:
        if repr(rows) not in known:
            rules = {rule for given, rule, *_ in CASES if given == rows}
            known[repr(rows)] = measured_together(interpreted, rows, rules)
        return known[repr(rows)]

    return found


def measured_together(spark: SparkSession, rows: Rows, rules: Iterable[str]) -> Metrics:
    frame, count = spark.createDataFrame(rows[1], rows[0]), len(rows[1])
    parsed = parse_rules(f"Rules = [ {', '.join(rules)} ]", Place("t.yaml", 1))
    references = References(nothing(), frame, count, "cases_of_deequ")
    found = Measurements(Subject(frame, tuple(frame.columns), count, references), NOW.timestamp())
    checks = {rule: next(iter(measured(rule, NOW).values())) for rule in parsed}
    found.take((rule, (check,)) for rule, check in checks.items())
    return {rule.text: found(check) for rule, check in checks.items()}


@pytest.mark.parametrize(
    ("rows", "rule", "metric", "holds"), CASES, ids=[f"{n} {it[1]}" for n, it in enumerate(CASES)]
)
def test_a_case(
    metrics: Callable[[Rows], Metrics], rows: Rows, rule: str, metric: float | None, holds: bool
) -> None:
    found = metrics(rows)[rule]
    assert found == (None if metric is None else pytest.approx(metric, abs=1e-8))
    (parsed,) = parse_rules(f"Rules = [ {rule} ]", Place("t.yaml", 1))
    assert outcome_of(parsed, lambda _: found, lambda _: ()).passed is holds
