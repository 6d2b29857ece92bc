"""Predicates of DQDL rules on a real Spark session, against what plain Python says of the same values.

Every value of a column is judged by every rule in one query per column type. Spark runs in ANSI mode, its
default: a predicate that raised an error on any value would fail the whole query.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lakesmith.errors import Place
from lakesmith.quality.dqdl import parse_rules

Verdicts = list[tuple[str, Any]]


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def passing(
    spark: SparkSession, rules: Sequence[str], values: Sequence[Any], sql_type: str
) -> list[Verdicts]:
    """For each rule the values that pass, as (representation, value); the column is called ``v``."""
    parsed = parse_rules("Rules = [\n" + ",\n".join(rules) + "\n]", Place("t.yaml", 1))
    frame = spark.createDataFrame([(at, value) for at, value in enumerate(values)], f"n int, v {sql_type}")
    validated = frame.selectExpr("n", *(f"{rule.predicate} AS r{at}" for at, rule in enumerate(parsed)))
    rows = sorted(validated.collect())
    assert all(verdict is not None for row in rows for verdict in row), "a predicate was NULL"
    return [
        [(repr(values[row[0]]), values[row[0]]) for row in rows if row[at + 1]] for at in range(len(parsed))
    ]


def assert_agrees(
    spark: SparkSession, cases: dict[str, Callable[[Any], bool]], values: Sequence[Any], sql_type: str
) -> None:
    assert_found(dict(zip(cases, passing(spark, list(cases), values, sql_type), strict=True)), cases, values)


def assert_found(
    found: Mapping[str, Verdicts], cases: Mapping[str, Callable[[Any], bool]], values: Sequence[Any]
) -> None:
    """Each rule lets pass exactly the values for which its oracle says so."""
    for rule, oracle in cases.items():
        assert [shown for shown, _ in found[rule]] == [repr(value) for value in values if oracle(value)], rule


# --- numbers ------------------------------------------------------------------------------------------------

LITERALS = [
    "0", "1", "-1.50", "0.1", "21", "9007199254740993", "9223372036854775807", "-9223372036854775808",
    "1234567890123456789.123456789012345678", "123456789012345678901234567890", "99999999999999999999",
    "0.0000000000000000000000001",
]  # fmt: skip
NUMBERS: dict[str, list[Any]] = {
    "bigint": [None, 0, 1, -1, 21, 9007199254740992, 9007199254740993, 2**63 - 1, 2**63 - 2, -(2**63)],
    "int": [None, 0, 1, -2, 21, 2**31 - 1],
    "decimal(38,18)": [
        None, Decimal("0"), Decimal("0.1"), Decimal("-1.5"), Decimal("1e-18"), Decimal("-1e-18"),
        Decimal("1234567890123456789.123456789012345678"), Decimal("1234567890123456789.123456789012345677"),
    ],
    "decimal(38,0)": [
        None, Decimal(1), Decimal(21), Decimal("123456789012345678901234567890"),
        Decimal("123456789012345678901234567891"), Decimal(10**20), Decimal(10**20 - 1), Decimal("9" * 38),
        Decimal("-" + "9" * 38),
    ],
    "double": [None, 0.0, -0.0, 0.1, 0.1 + 1e-17, 0.30000000000000004, 1e-300, -1e-300, 1e300, -1e300, -1.5,
        21.0,
               math.inf, -math.inf, math.nan, 9007199254740992.0, 1e20],
    "string": [
        None, "", " ", "0", "00.0", "1", " 1 ", "+1", "-1.5", "-1.50", ".1", "1.", "1e0", "21",
        "21.000000000000000001", "5d", "5F", "Infinity", "-inf", "0x1p3",
        "9007199254740993", "9007199254740992", "9223372036854775806", "1e400", "-1e400",
        "100000000000000000000", "99999999999999999999", "NaN", "x", "1,000",
        "0x10", "1_000", "--1", "\uff11", "\u00a01", "1\u0000", "'", "\\", '"', "NULL", "true", "2024-01-31",
        "123456789012345678901234567890", "123456789012345678901234567891",
    ],
}  # fmt: skip


def number(value: Any) -> Decimal | None:
    """Returns the value as an exact number; a string as SQL reads it (ASCII digits, white space around)."""
    if isinstance(value, float):
        return None if math.isnan(value) else Decimal(repr(value))
    if isinstance(value, str):
        # Spark trims white space and control characters, NUL among them.
        plain = value.strip("".join(map(chr, range(33))))
        return (
            Decimal(plain)
            if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", plain)
            else None
        )
    return None if value is None else Decimal(value)


def number_cases(literal: str) -> dict[str, Callable[[Any], bool]]:
    bound = Decimal(literal)

    def holds(compare: Callable[[Decimal], bool], *, null_passes: bool = False) -> Callable[[Any], bool]:
        def oracle(value: Any) -> bool:
            found = number(value)
            return (value is None and null_passes) or (found is not None and compare(found))

        return oracle

    return {
        f'ColumnValues "v" = {literal}': holds(lambda v: v == bound),
        f'ColumnValues "v" != {literal}': holds(lambda v: v != bound, null_passes=True),
        f'ColumnValues "v" > {literal}': holds(lambda v: v > bound),
        f'ColumnValues "v" >= {literal}': holds(lambda v: v >= bound),
        f'ColumnValues "v" < {literal}': holds(lambda v: v < bound),
        f'ColumnValues "v" <= {literal}': holds(lambda v: v <= bound),
        f'ColumnValues "v" in [{literal}, 7]': holds(lambda v: v in (bound, 7)),
        f'ColumnValues "v" in [{literal}, NULL]': holds(lambda v: v == bound, null_passes=True),
        f'ColumnValues "v" not in [{literal}, 7]': holds(lambda v: v not in (bound, 7), null_passes=True),
        f'ColumnValues "v" not in [7, {literal}, NULL]': holds(lambda v: v not in (bound, 7)),
    }


def between_cases() -> dict[str, Callable[[Any], bool]]:
    def inside(value: Any) -> bool | None:
        found = number(value)
        return None if found is None else -1 < found < Decimal("9007199254740993")

    return {
        'ColumnValues "v" between -1 and 9007199254740993': lambda value: inside(value) is True,
        'ColumnValues "v" not between -1 and 9007199254740993': lambda value: inside(value) is False,
    }


COMPARED = {rule: oracle for literal in LITERALS for rule, oracle in number_cases(literal).items()}
BETWEEN = between_cases()


@pytest.fixture(scope="module")
def judged(spark: SparkSession) -> dict[str, dict[str, Verdicts]]:
    """By type of the column and rule, the values that pass."""
    rules = [*COMPARED, *BETWEEN]
    return {
        sql_type: dict(zip(rules, passing(spark, rules, values, sql_type), strict=True))
        for sql_type, values in NUMBERS.items()
    }


@pytest.mark.parametrize("sql_type", NUMBERS)
def test_numbers_compare_exactly_whatever_the_type_of_the_column(
    judged: dict[str, dict[str, Verdicts]], sql_type: str
) -> None:
    assert_found(judged[sql_type], COMPARED, NUMBERS[sql_type])


def test_numbers_are_equal_when_they_differ_behind_the_18th_decimal_and_the_16th_digit(
    spark: SparkSession,
) -> None:
    rules = ['ColumnValues "v" = 21', 'ColumnValues "v" > 21', 'ColumnValues "v" = 0']
    values = ["21.0000000000000000001", "21.000000000000001", "21.000000000000000001", "1e-400", "1e-300"]
    equal, above, zero = passing(spark, rules, values, "string")
    assert [value for _, value in equal] == ["21.0000000000000000001"]
    assert [value for _, value in above] == ["21.000000000000001", "21.000000000000000001"]
    assert [value for _, value in zero] == ["1e-400"]


@pytest.mark.parametrize("sql_type", NUMBERS)
def test_between_is_exclusive(judged: dict[str, dict[str, Verdicts]], sql_type: str) -> None:
    assert_found(judged[sql_type], BETWEEN, NUMBERS[sql_type])


def test_booleans_and_floats_are_numbers(spark: SparkSession) -> None:
    assert_agrees(
        spark, {'ColumnValues "v" = 1': lambda value: value is True}, [True, False, None], "boolean"
    )
    assert_agrees(spark, {'ColumnValues "v" <= 0.5': lambda value: value == 0.5}, [0.5, 0.75, None], "float")


# --- strings ------------------------------------------------------------------------------------------------

STRINGS = [
    None, "", " ", "   ", "\t", "\r\n", "\u00a0", "\u3000 ", "a", "A", " a", "a ", "abc", "abc\n", "a\nb",
    "it's", 'say "hi"',
    "\\", "\\\\", "a\\b", "a\\", "\\n", "\\d", "12", "5", "٣", "ß", "é", "e\u0301", "日本", "😀", "😀😀", "${x}",
    "${env:HOME}",
    "$", "{", "%", "_", "`", "--", "/*", "#", ":name", "?", "null", "NULL", "EMPTY", "'; DROP TABLE t; --",
        "\\'", "\\u0041",
    "r'x'", "2024-01-31", "[a-z]", "x" * 10_000,
]  # fmt: skip
WHITE_SPACE = set(" \t\n\x0b\f\r\x85\u00a0\u1680\u2028\u2029\u202f\u205f\u3000") | set(
    map(chr, range(0x2000, 0x200B))
)


def white(value: str | None) -> bool:
    return bool(value) and set(value or "") <= WHITE_SPACE


def test_each_string_equals_itself_only(spark: SparkSession) -> None:
    # A string of the form YYYY-MM-DD is a date in DQDL.
    literals = [value for value in STRINGS if value and value != "2024-01-31" and len(value) < 100]
    cases: dict[str, Callable[[Any], bool]] = {}
    for literal in literals:
        cases[f'ColumnValues "v" = {quoted(literal)}'] = lambda value, wanted=literal: value == wanted
        cases[f'ColumnValues "v" not in [{quoted(literal)}, "b"]'] = lambda value, wanted=literal: (
            value != wanted
        )
    cases[f'ColumnValues "v" in [{", ".join(map(quoted, literals))}]'] = lambda value: value in literals
    assert_agrees(spark, cases, STRINGS, "string")


def test_keywords(spark: SparkSession) -> None:
    cases: dict[str, Callable[[Any], bool]] = {
        'ColumnValues "v" = NULL': lambda v: v is None,
        'ColumnValues "v" != NULL': lambda v: v is not None,
        'ColumnValues "v" in [NULL]': lambda v: v is None,
        'ColumnValues "v" not in [NULL]': lambda v: v is not None,
        'ColumnValues "v" = EMPTY': lambda v: v == "",
        'ColumnValues "v" = ""': lambda v: v == "",
        'ColumnValues "v" != EMPTY': lambda v: v != "",
        'ColumnValues "v" = WHITESPACES_ONLY': white,
        'ColumnValues "v" != WHITESPACES_ONLY': lambda v: not white(v),
        'ColumnValues "v" in ["a", NULL, EMPTY, WHITESPACES_ONLY]': lambda v: (
            v in ("a", None, "") or white(v)
        ),
        'ColumnValues "v" not in ["a", NULL, EMPTY, WHITESPACES_ONLY]': (
            lambda v: v not in ("a", None, "") and not white(v)
        ),
        'ColumnValues "v" not in [EMPTY, WHITESPACES_ONLY]': lambda v: v != "" and not white(v),
        'IsComplete "v"': lambda v: v is not None,
    }
    assert_agrees(spark, cases, STRINGS, "string")


# What Python and Java agree on, over these strings.
PATTERNS = [
    "[a-zA-Z]*", "a|abc", "(?i)A", r"\d+", r"\\", r"a\\b", r"\\d", ".", ".*", "(?s).*", "[^']*", "it's",
    r"say \"hi\"", r"\$\{x\}", r"\s+", "^abc$", "(a)|(b)", "[日本]+", r"\[a-z\]", "x{10000}", r"\x61", "",
]  # fmt: skip


def test_matches_takes_the_whole_value_and_a_regex_as_it_stands(spark: SparkSession) -> None:
    cases: dict[str, Callable[[Any], bool]] = {}
    for pattern in PATTERNS:
        compiled = re.compile(pattern.replace('\\"', '"'), re.ASCII)
        cases[f'ColumnValues "v" matches "{pattern}"'] = lambda value, regex=compiled: (
            value is not None and bool(regex.fullmatch(value))
        )
        cases[f'ColumnValues "v" not matches "{pattern}"'] = lambda value, regex=compiled: (
            value is not None and not regex.fullmatch(value)
        )
    assert_agrees(spark, cases, STRINGS, "string")


def test_lengths_count_characters_and_take_null_as_0(spark: SparkSession) -> None:
    def length(value: str | None) -> int:
        return len(value or "")

    cases: dict[str, Callable[[Any], bool]] = {
        'ColumnLength "v" = 0': lambda v: length(v) == 0,
        'ColumnLength "v" = 1': lambda v: length(v) == 1,
        'ColumnLength "v" != 1': lambda v: length(v) != 1,
        'ColumnLength "v" > 1.5': lambda v: length(v) > 1.5,
        'ColumnLength "v" >= 2': lambda v: length(v) >= 2,
        'ColumnLength "v" < 2': lambda v: length(v) < 2,
        'ColumnLength "v" <= 2': lambda v: length(v) <= 2,
        'ColumnLength "v" between 0 and 3': lambda v: 0 < length(v) < 3,
        'ColumnLength "v" not between 0 and 3': lambda v: not 0 < length(v) < 3,
        'ColumnLength "v" in [0, 2, 99999999999999999999]': lambda v: length(v) in (0, 2),
        'ColumnLength "v" not in [1, 3]': lambda v: length(v) not in (1, 3),
    }
    assert_agrees(spark, cases, STRINGS, "string")


def test_string_rules_on_other_types_judge_the_value_as_text(spark: SparkSession) -> None:
    numbers: dict[str, Callable[[Any], bool]] = {
        'ColumnValues "v" = "x"': lambda v: False,
        'ColumnValues "v" in ["1", "x", EMPTY]': lambda v: v == 1,
        'ColumnValues "v" matches "[0-9]"': lambda v: v == 1,
        'ColumnLength "v" = 2': lambda v: v == 21,
    }
    assert_agrees(spark, numbers, [1, 21, None], "int")
    assert_agrees(
        spark, {'ColumnValues "v" = "[a, b]"': lambda v: bool(v)}, [["a", "b"], None, []], "array<string>"
    )


# --- dates --------------------------------------------------------------------------------------------------

DAY = date(2024, 1, 31)
DATE_COLUMNS: dict[str, list[Any]] = {
    "date": [None, DAY, date(2024, 1, 30), date(2024, 2, 1), date(1, 1, 1), date(9999, 12, 31)],
    "timestamp_ntz": [None, datetime(2024, 1, 31), datetime(2024, 1, 31, 23, 59, 59), datetime(2024, 2, 1),
        datetime(2024, 1, 30, 23, 59)],
    "string": [None, "", "2024-01-31", "2024-01-31 10:00:00", "2024-02-01", "2024-02-30", "2024-13-01", "x",
        "31.01.2024", "20240131"],
}  # fmt: skip


def day(value: Any) -> date | None:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value[:10]) if "-" in value else None
        except ValueError:
            return None
    return value.date() if isinstance(value, datetime) else value


@pytest.mark.parametrize("sql_type", DATE_COLUMNS)
def test_dates_compare_by_day(spark: SparkSession, sql_type: str) -> None:
    def holds(compare: Callable[[date], bool], *, null_passes: bool = False) -> Callable[[Any], bool]:
        def oracle(value: Any) -> bool:
            found = day(value)
            return (value is None and null_passes) or (found is not None and compare(found))

        return oracle

    other = date(2024, 2, 1)
    cases = {
        'ColumnValues "v" = "2024-01-31"': holds(lambda d: d == DAY),
        'ColumnValues "v" != "2024-01-31"': holds(lambda d: d != DAY, null_passes=True),
        'ColumnValues "v" > "2024-01-31"': holds(lambda d: d > DAY),
        'ColumnValues "v" >= "2024-01-31"': holds(lambda d: d >= DAY),
        'ColumnValues "v" < "2024-01-31"': holds(lambda d: d < DAY),
        'ColumnValues "v" <= "2024-01-31"': holds(lambda d: d <= DAY),
        'ColumnValues "v" between "2024-01-30" and "2024-02-01"': holds(lambda d: d == DAY),
        'ColumnValues "v" not between "2024-01-30" and "2024-02-01"': holds(lambda d: d != DAY),
        'ColumnValues "v" in ["2024-01-31", "2024-02-01", NULL]': holds(
            lambda d: d in (DAY, other), null_passes=True
        ),
        'ColumnValues "v" not in ["2024-01-31", "2024-02-01"]': holds(
            lambda d: d not in (DAY, other), null_passes=True
        ),
    }
    assert_agrees(spark, cases, DATE_COLUMNS[sql_type], sql_type)


def test_dates_beside_other_strings_are_strings(spark: SparkSession) -> None:
    rule = 'ColumnValues "v" in ["2024-01-31", "never", EMPTY]'
    values = [None, "", "never", "2024-01-31", "2024-01-31 10:00:00"]
    assert_agrees(spark, {rule: lambda v: v in ("", "never", "2024-01-31")}, values, "string")


# --- filters, composites, names -----------------------------------------------------------------------------


def test_filters_and_composites(spark: SparkSession) -> None:
    cases: dict[str, Callable[[Any], bool]] = {
        'IsComplete "v" where "n >= 2"': lambda v: v is not None,
        'ColumnValues "v" > 5 where "v < 8"': lambda v: v is None or v > 5,
        '(ColumnValues "v" > 5) and (ColumnValues "v" < 8)': lambda v: v is not None and 5 < v < 8,
        '(ColumnValues "v" > 5) or (ColumnValues "v" = NULL)': lambda v: v is None or v > 5,
        'ColumnValues "v" = 1 or ColumnValues "v" > 5 and ColumnValues "v" < 8': (
            lambda v: v is not None and (v == 1 or 5 < v < 8)
        ),
        '(ColumnValues "v" = 1 or ColumnValues "v" > 5) and ColumnValues "v" < 8': (
            lambda v: v is not None and (v == 1 or v > 5) and v < 8
        ),
    }
    assert_agrees(spark, cases, [1, 6, 9, None], "int")


def test_predicates_can_be_put_into_other_expressions(spark: SparkSession) -> None:
    rules = [
        'ColumnValues "v" != 6 where "v > 5"',
        'IsComplete "v"',
        'ColumnLength "v" between 0 and 2',
        '(IsComplete "v") or (IsComplete "n")',
    ]
    predicates = [parse_rules(f"Rules = [ {rule} ]", Place("t.yaml", 1))[0].predicate for rule in rules]
    frame = spark.createDataFrame([(1, 6), (2, 10), (3, None)], "n int, v int")
    counts = (f"count_if(NOT {it} AND {it}), count_if(NOT {it} OR {it})" for it in predicates)
    row = tuple(frame.selectExpr(f"array({', '.join(counts)})").collect()[0][0])
    found = {rule: row[2 * at : 2 * at + 2] for at, rule in enumerate(rules)}
    assert found == dict.fromkeys(rules, (0, 3))


ODD_NAMES = ["a b", "a.b", "order-id", "select", "naïve", "a`b", 'a"b', "a'b", "a\\b", "1"]


@pytest.fixture(scope="module")
def passing_rows(spark: SparkSession) -> list[list[int]]:
    """For each odd name the numbers of the rows whose value under it is above 3: the name's own alone."""
    rows = [[5 if name == own else 1 for name in ODD_NAMES] for own in ODD_NAMES]
    frame = spark.createDataFrame(
        [*rows, [None] * len(ODD_NAMES)], ", ".join(f"c{n} int" for n in range(len(rows)))
    )
    rules = [f"ColumnValues {quoted(name)} > 3" for name in ODD_NAMES]
    parsed = parse_rules(f"Rules = [ {', '.join(rules)} ]", Place("t.yaml", 1))
    assert [rule.columns for rule in parsed] == [(name,) for name in ODD_NAMES]
    verdicts = frame.toDF(*ODD_NAMES).selectExpr(
        *(f"{rule.predicate} AS r{n}" for n, rule in enumerate(parsed))
    )
    found = verdicts.collect()
    return [[at for at, row in enumerate(found) if row[n]] for n in range(len(ODD_NAMES))]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_column_name(passing_rows: list[list[int]], name: str) -> None:
    at = ODD_NAMES.index(name)
    assert passing_rows[at] == [at]
