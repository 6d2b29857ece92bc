"""Metrics of whole numbers, decimals and texts, exactly as Python's fractions have them."""

import statistics as stats
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from harness import MakeShop
from pyspark.sql import SparkSession
from test_metrics import NOW, nothing

from lakesmith.errors import Place
from lakesmith.quality.dqdl import parse_rules
from lakesmith.quality.numbers import Number
from lakesmith.quality.verdict import measured
from lakesmith.spark.validation.measure import Measurements, Subject
from lakesmith.spark.validation.references import References

Values = Sequence[Any]

COLUMNS: dict[str, tuple[str, Values]] = {
    "cents": ("decimal(10,2)", [*map(Decimal, ("0.10", "0.20", "0.30")), None]),
    "widest": ("decimal(38,18)", [Decimal("0.000000000000000001"), Decimal(10**15), Decimal("0.1"), None]),
    "ids": ("bigint", [2**53 + 1, 2**53, 1, None]),
    "small": ("int", [2, 4, 9, None]),
    "texts": ("string", ["0.10", " 0.20", "+0.30 ", None]),
    "odd": ("string", ["0.10", "x", "0.20", "NaN"]),
    "yes": ("boolean", [True, False, True, None]),
}
DOUBLES: dict[str, tuple[str, Values]] = {
    "doubles": ("double", [0.1, 0.2, 0.3, None]),
    "exponents": ("string", ["1e-1", "0.2", "0.3", None]),
    "greatest": ("decimal(38,0)", [Decimal(10**38 - 1), Decimal(10**38 - 1), Decimal(1), None]),
}
SUMMED: dict[str, Callable[[list[Fraction]], Fraction]] = {
    "Sum": lambda values: sum(values, Fraction(0)),
    "Mean": lambda values: sum(values, Fraction(0)) / len(values),
    "Range": lambda values: max(values) - min(values),
}
ALL: dict[str, Callable[[list[Fraction]], Any]] = {
    **SUMMED,
    "Variance": lambda values: stats.pvariance(values),
    "StandardDeviation": lambda values: stats.pstdev(values),
    "InterquartileRange": lambda values: (lambda q: q[2] - q[0])(stats.quantiles(values, method="inclusive")),
}


def numbers(values: Values) -> list[Fraction]:
    return [Fraction(str(each).strip() if isinstance(each, str) else each)
            for each in values if each not in (None, "x", "NaN")]  # fmt: skip


def metrics_of(
    spark: SparkSession, columns: dict[str, tuple[str, Values]], rules: Sequence[str]
) -> dict[str, Any]:
    rows = list(zip(*(values for _, values in columns.values()), strict=True))
    frame = spark.createDataFrame(rows, ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items()))
    parsed = parse_rules(f"Rules = [{', '.join(rules)}]", Place("t.yaml", 1))
    metrics = Measurements(
        Subject(frame, tuple(columns), len(rows), References(nothing(), frame, len(rows), "exact_metrics")),
        NOW.timestamp(),
    )
    checks = {rule.text: next(iter(measured(rule, NOW).values())) for rule in parsed}
    metrics.take((rule, (checks[rule.text],)) for rule in parsed)
    return {text: metrics(check) for text, check in checks.items()}


def test_metrics_of_exact_values_are_exact(spark: SparkSession) -> None:
    of = {
        f'{kind} "{name}" > 0': (function, numbers(values))
        for name, (_, values) in COLUMNS.items()
        for kind, function in ALL.items()
        if not (name == "widest" and kind in ("Variance", "StandardDeviation"))
        and not (name in ("widest", "ids", "texts", "odd") and kind == "InterquartileRange")
    }
    found = metrics_of(spark, COLUMNS, list(of))
    for text, (function, values) in of.items():
        expected: Number = function(values)
        assert found[text] == (
            pytest.approx(expected, rel=1e-15) if isinstance(expected, float) else expected
        ), text
        assert isinstance(found[text], Fraction) or text.startswith("StandardDeviation"), text


def test_a_filter_chooses_the_rows_of_an_exact_sum(spark: SparkSession) -> None:
    rules = ['Sum "cents" > 0 where "small > 2"', 'Sum "cents" > 0 where "small > 99"']
    assert list(metrics_of(spark, COLUMNS, rules).values()) == [Fraction("0.5"), None]


def test_doubles_and_sums_beyond_every_decimal_are_as_before(spark: SparkSession) -> None:
    found = metrics_of(
        spark, DOUBLES, [f'{kind} "{name}" > 0' for name in DOUBLES for kind in ("Sum", "Mean")]
    )
    assert found['Sum "doubles" > 0'] == found['Sum "exponents" > 0'] == 0.1 + 0.2 + 0.3
    assert found['Sum "greatest" > 0'] == 2e38 and all(isinstance(each, float) for each in found.values())


def test_columns_in_a_line_have_a_correlation_of_one(spark: SparkSession) -> None:
    columns = {
        "a": ("decimal(9,2)", [Decimal(n) / 10 for n in range(1, 8)]),
        "b": ("bigint", [3 * n for n in range(1, 8)]),
        "c": ("int", [-n for n in range(1, 8)]),
        "d": ("int", [7] * 7),
    }
    rules = [f'ColumnCorrelation "a" "{name}" > 0' for name in "bcd"]
    assert list(metrics_of(spark, columns, rules).values()) == [1, -1, None]


def test_rules_on_sums_of_decimals_pass_and_say_what_they_found(make_shop: MakeShop) -> None:
    columns = 'columns: {id: bigint, v: "decimal(10,2)", w: double}'
    source = f"source: {{files: {{path: landing/b/, format: csv}}}}\n{columns}\n"
    rules = (
        'Sum "v" = 0.60, Mean "v" = 0.2, Range "v" = 0.2, AggregateMatch "sum(v)" "sum(bronze.b.v)" = 1.0, '
        'AggregateMatch "avg(v)" "avg(bronze.b.v)" = 1, Sum "id" = 9007199254740997, Sum "w" = 0.6'
    )
    shop = make_shop(
        {
            "tables/bronze/b.yaml": source,
            "tables/silver/a.yaml": "query: SELECT id, v, w FROM bronze.b\n"
            f"rules: |\n  Rules = [ {rules} ]\n",
        }
    )
    shop.land("landing/b/1.csv", "id,v,w\n9007199254740993,0.10,0.1\n1,0.20,0.2\n3,0.30,0.3\n")
    assert [(each.rule, each.found) for each in shop.run().problems] == [
        ('Sum "w" = 0.6', 'Sum "w" is 0.6000000000000001')
    ]
