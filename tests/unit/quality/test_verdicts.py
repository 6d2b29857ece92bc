"""Whether table rules hold, and the numbers in what is said of them."""

from collections.abc import Sequence
from fractions import Fraction

import pytest

from lakesmith.errors import Place
from lakesmith.quality.dqdl import parse_rules
from lakesmith.quality.numbers import Number, number
from lakesmith.quality.verdict import Outcome, outcome_of

THIRDS, LARGE = Fraction(2, 3), Fraction(10**18, 10**18 + 1)


def outcome(text: str, metric: Number, earlier: Sequence[float] = ()) -> Outcome:
    (rule,) = parse_rules(f"Rules = [ {text} ]", Place("t.yaml", 1))
    return outcome_of(rule, lambda _: metric, lambda _: earlier)


@pytest.mark.parametrize(
    ("text", "metric", "found"),
    [
        ('Sum "v" = 0.6', 0.1 + 0.2 + 0.3, 'Sum "v" is 0.6000000000000001'),
        ('Sum "v" = 0.6', Fraction("0.61"), 'Sum "v" is 0.61'),
        ('Sum "v" = 9007199254740993', Fraction(2**53), 'Sum "v" is 9,007,199,254,740,992'),
        ('Mean "v" > 9007199254740992.5', Fraction(2**53), 'Mean "v" is 9,007,199,254,740,992'),
        ('Mean "v" > 0.333334', Fraction(1, 3), 'Mean "v" is 0.333333'),
        ('Mean "v" > 0.3333334', Fraction(1, 3), 'Mean "v" is 0.333333'),
        ('Mean "v" > 0.33333334', Fraction(333333333, 10**9), 'Mean "v" is 0.333333'),
        ('Mean "v" < 0.333333', Fraction(1, 3), 'Mean "v" is 0.333333'),
        ('Mean "v" < 1', 1234567.875, 'Mean "v" is 1,234,567.88'),
        ('Mean "v" < 1', 1e30, 'Mean "v" is 1e+30'),
        ('Mean "v" > 1', -12345.678, 'Mean "v" is -12345.68'),
        ('Completeness "v" > 0.9999999', Fraction(9999999, 10**7), 'Completeness "v" is 0.9999999'),
        ('IsUnique "v"', Fraction(10**8 - 1, 10**8), "99.999999% of rows are unique"),
        ('ColumnValues "v" > 1 with threshold = 0.6', THIRDS, "66.6667% of rows pass"),
        (
            'AggregateMatch "sum(a)" "sum(b.c.a)" = 1',
            LARGE,
            'AggregateMatch "sum(a)" "sum(b.c.a)" is 0.999999999999999999000000000000000001',
        ),
    ],
)
def test_a_failure_is_said_with_the_digits_that_show_it(text: str, metric: Number, found: str) -> None:
    said = outcome(text, metric)
    assert (said.passed, said.found) == (False, found)


@pytest.mark.parametrize(
    ("text", "metric", "passes"),
    [
        ('Sum "v" = 0.60', Fraction(3, 5), True),
        ('Sum "v" != 0.60', Fraction(3, 5), False),
        ('Sum "v" in [1, 0.60]', Fraction(3, 5), True),
        ('Sum "v" not in [1, 0.60]', Fraction(3, 5), False),
        ('Sum "v" between 9007199254740992 and 9007199254740994', Fraction(2**53 + 1), True),
        ('Sum "v" between 9007199254740992 and 9007199254740994', Fraction(2**53), False),
        ('Sum "v" not between 9007199254740992 and 9007199254740994', Fraction(2**53), True),
        ('Sum "v" >= 9007199254740993', Fraction(2**53), False),
        ('Sum "v" < 9007199254740993', Fraction(2**53), True),
        ('Uniqueness "v" = 0.6666666666666666', THIRDS, True),
        ('Uniqueness "v" >= 0.6666666666666666', THIRDS, True),
        ('Uniqueness "v" = 0.67', THIRDS, False),
        ('Mean "v" = 0.1', 0.1, True),
        ('ColumnValues "v" > 1 with threshold > 0.9', Fraction(9, 10), False),
        ('ColumnValues "v" > 1 with threshold >= 0.9', Fraction(9, 10), True),
    ],
)
def test_exact_metrics_are_compared_as_they_are_written_and_doubles_as_doubles(
    text: str, metric: Number, passes: bool
) -> None:
    assert outcome(text, metric).passed == passes


@pytest.mark.parametrize(
    ("text", "metric", "earlier", "expected"),
    [
        ("RowCount <= last(1) * 1.1", Fraction(11), [10.0], "<= 11"),
        ("RowCount >= last(1) * 1.1", Fraction(11), [10.0], ">= 11"),
        ('Mean "v" = avg(last(3))', Fraction(1, 5), [0.1, 0.2, 0.3], "= 0.2"),
        (
            'Sum "v" = last(1)',
            Fraction("12345678901234567.89"),
            [12345678901234567.89],
            "= 12345678901234568",
        ),
        ('Mean "v" = last(1)', Fraction(1, 3), [1 / 3], "= 0.3333333333333333"),
        ('StandardDeviation "v" = std(last(8))', 2.0, [2.0, 4, 4, 4, 5, 5, 7, 9], "= 2"),
    ],
)
def test_earlier_metrics_are_calculated_with_as_they_are_shown(
    text: str, metric: Number, earlier: Sequence[float], expected: str
) -> None:
    said = outcome(text, metric, earlier)
    assert (said.passed, said.expected) == (True, expected)


def test_what_cannot_be_calculated_fails_the_rule() -> None:
    assert outcome('Mean "v" > 1 / last(1)', 1.0).found == 'Mean "v" is 1; its condition divides by zero'
    beyond = outcome('Mean "v" > last(1) * last(1)', 1.0, [1e300])
    assert beyond.found == 'Mean "v" is 1; its condition is beyond what a double holds'


@pytest.mark.parametrize("many", [3, 6, 12, 24])
def test_a_metric_that_stays_the_same_is_no_anomaly(many: int) -> None:
    """The mean of three times 0.1 is 0.10000000000000002 if their sum is rounded first."""
    assert outcome('DetectAnomalies "Mean" "v"', 0.1, [0.1] * many).passed


def test_an_anomaly_is_said_with_bounds_that_show_it() -> None:
    said = outcome('DetectAnomalies "Sum" "v"', 1000000.01, [1000000.0] * 3)
    assert (said.passed, said.found) == (False, 'Sum "v" is 1,000,000.01')
    assert said.expected == "1,000,000 to 1,000,000, from 3 earlier metrics"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1, "0.1"), (1 / 3, "0.3333333333333333"), (5.0, "5"), (1e15, "1,000,000,000,000,000")],
)
def test_a_number_has_the_digits_of_its_double(value: float, text: str) -> None:
    assert number(value) == text
