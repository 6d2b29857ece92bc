"""Whether table rules hold, given what was measured now and in earlier batches."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Final
from zoneinfo import ZoneInfo

from lakesmith.quality.metrics import anomaly_metric, is_share, metric_name
from lakesmith.quality.model import Call, Check, Composite, Condition, Rule, Value, leaves
from lakesmith.quality.numbers import Number, compared, in_words, plain, rounded

KEPT_FOR_ANOMALIES: Final = 30
KEPT_FOR_OTHERS: Final = 10
_FEWEST: Final = 3
_DEVIATIONS: Final = 3.0

Metric = Callable[[Check], Number | None]
History = Callable[[Check], Sequence[float]]
"""Earlier metrics, newest first."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether a rule holds. ``metric``: of its first part; ``found``, ``expected``: in words."""

    rule: Rule
    passed: bool
    metric: float | None
    found: str
    expected: str


def outcome_of(rule: Rule, metric: Metric, history: History) -> Outcome:
    """Returns whether a table rule holds."""
    assert rule.check is not None
    verdicts = [_verdict(leaf, metric(leaf), history(leaf)) for leaf in leaves(rule.check)]
    passed = _combined(rule.check, iter([each[0] for each in verdicts]))
    return Outcome(
        rule,
        passed,
        rounded(metric(next(leaves(rule.check)))),
        "; ".join(each[1] for each in verdicts),
        "; ".join(each[2] for each in verdicts),
    )


def _combined(check: Check | Composite, verdicts: Iterator[bool]) -> bool:
    if isinstance(check, Check):
        return next(verdicts)
    parts = [_combined(part, verdicts) for part in check.parts]
    return all(parts) if check.operator == "and" else any(parts)


def _verdict(check: Check, value: Number | None, earlier: Sequence[float]) -> tuple[bool, str, str]:
    """Whether a check holds, what was found, and what was expected."""
    name = metric_name(check)
    if value is None and check.type in ("DataFreshness", "ColumnDataType"):
        return True, f"{name}: there is no row to check", "all rows"
    if value is None:
        return False, f"{name}: there is no value to measure", "at least one row with a value"
    if check.type == "DetectAnomalies":
        return _usual(check, float(value), earlier)
    condition = check.threshold if is_share(check) else check.condition
    if condition is None:
        meets, expected = _is_whole, _HOLDS.get(check.type, "all rows")
        return meets(value), _found(check, value, meets), expected
    # Earlier metrics are doubles, and so is what is compared with them.
    compared_as = value if condition.is_fixed else float(value)
    try:
        fixed = evaluated(condition, earlier)
    except ArithmeticError as error:
        why = "divides by zero" if isinstance(error, ZeroDivisionError) else "is beyond what a double holds"
        return False, f"{_found(check, value, _is_whole)}; its condition {why}", _words(condition)

    def meets_it(number: Number) -> bool:
        return holds(number, fixed)

    return meets_it(compared_as), _found(check, compared_as, meets_it), _words(fixed)


def _is_whole(value: Number) -> bool:
    return value == 1


_HOLDS: Final = {
    "ColumnExists": "the column",
    "ColumnNamesMatchPattern": "names that all match",
    "IsUnique": "no value twice",
    "IsPrimaryKey": "no NULL and no value twice",
}


def _found(check: Check, value: Number, meets: Callable[[Number], bool]) -> str:
    if is_share(check):
        return f"{in_words(value, meets, 100)}% of rows pass"
    if check.type in ("IsUnique", "IsPrimaryKey"):
        return f"{in_words(value, meets, 100)}% of rows are unique"
    if check.type in _HOLDS:
        return "it is so" if value else "it is not so"
    return f"{metric_name(check)} is {in_words(value, meets)}"


def _usual(check: Check, value: float, earlier: Sequence[float]) -> tuple[bool, str, str]:
    known = earlier[:KEPT_FOR_ANOMALIES]
    if len(known) < _FEWEST:
        found = _found(check, value, bool)
        return True, found, f"anything before {_FEWEST} earlier metrics are known"
    # Not fmean, which may differ from the mean of equal values.
    mean, away = statistics.mean(known), _DEVIATIONS * statistics.pstdev(known)
    low, high = mean - away, mean + away
    found = _found(check, value, lambda each: low <= each <= high)
    span = f"{in_words(low, lambda each: each <= value)} to {in_words(high, lambda each: value <= each)}"
    return low <= value <= high, found, f"{span}, from {len(known)} earlier metrics"


def _words(condition: Condition) -> str:
    values = ", ".join(str(value) for value in condition.fixed) or "a value from earlier metrics"
    if condition.operator.endswith("between"):
        values = " and ".join(condition.fixed) or values
    return f"{condition.operator} {values}"


def holds(value: Number, condition: Condition) -> bool:
    """Returns whether a number meets a condition with fixed values."""
    pairs = [compared(value, each) for each in condition.fixed]
    one, other = pairs[0]
    match condition.operator:
        case "=" | "in":
            return any(one == other for one, other in pairs)
        case "!=" | "not in":
            return not any(one == other for one, other in pairs)
        case "between":
            return _is_between(pairs)
        case "not between":
            return not _is_between(pairs)
        case ">":
            return one > other
        case ">=":
            return one >= other
        case "<":
            return one < other
    return one <= other


def _is_between(pairs: Sequence[tuple[Number, Number]]) -> bool:
    (low, least), (high, greatest) = pairs
    return least < low and high < greatest


def evaluated(condition: Condition, earlier: Sequence[float]) -> Condition:
    """Returns a condition with the values that follow from earlier metrics, taken as they are shown.

    Raises ZeroDivisionError, OverflowError.
    """
    metrics = [Fraction(repr(each)) for each in earlier]
    found = (each if isinstance(each, str) else _evaluated(each, metrics) for each in condition.values)
    values = (each if isinstance(each, str) else plain(float(_number(each))) for each in found)
    return replace(condition, values=tuple(values))


_FUNCTIONS: Final[dict[str, Callable[[Sequence[Fraction]], Fraction]]] = {
    "avg": statistics.mean,
    "median": statistics.median,
    "min": min,
    "max": max,
    "sum": lambda values: sum(values, Fraction(0)),
    "std": lambda values: Fraction(statistics.pstdev(values)),
}


def _evaluated(value: Value, earlier: Sequence[Fraction]) -> Fraction | list[Fraction]:
    if isinstance(value, str):
        return Fraction(value)
    if value.name == "last":
        return list(earlier[: int(str(value.arguments[0]))]) or [Fraction(0)]
    found = [_evaluated(each, earlier) for each in value.arguments]
    if value.name == "index":
        listed, at = found
        assert isinstance(listed, list)
        return listed[min(int(_number(at)), len(listed) - 1)]
    if value.name in _FUNCTIONS:
        return _FUNCTIONS[value.name](
            [each for part in found for each in (part if isinstance(part, list) else [part])]
        )
    return _calculated(value.name, [_number(each) for each in found])


def _number(found: Fraction | list[Fraction]) -> Fraction:
    return found[0] if isinstance(found, list) else found


def _calculated(operator: str, values: Sequence[Fraction]) -> Fraction:
    match operator:
        case "abs":
            return abs(values[0])
        case "+":
            return values[0] + values[1]
        case "-":
            return values[0] - values[1]
        case "*":
            return values[0] * values[1]
    return values[0] / values[1]


def depth(value: Value) -> int:
    """Returns how many earlier metrics a value asks for."""
    if isinstance(value, str):
        return 0
    if value.name == "last":
        return int(str(value.arguments[0]))
    return max(map(depth, value.arguments), default=0)


def kept(check: Check) -> int:
    """Returns how many metrics of a check the record keeps, newest first."""
    conditions = [each for each in (check.condition, check.threshold) if each is not None]
    asked = max((depth(value) for each in conditions for value in each.values), default=0)
    return max(KEPT_FOR_OTHERS, asked, KEPT_FOR_ANOMALIES if check.type == "DetectAnomalies" else 0)


def at(moment: datetime, check: Check) -> Check:
    """Returns a check whose times are known at a moment in UTC, cut to the minute."""
    condition = check.condition
    if condition is None or condition.kind != "date":
        return check
    minute = moment.replace(second=0, microsecond=0)
    values = tuple(value if isinstance(value, str) else _time(value, minute) for value in condition.values)
    return replace(check, condition=replace(condition, values=values))


def _time(call: Call, minute: datetime) -> str:
    offset = str(call.arguments[0])
    if call.name == "now":
        found = minute + timedelta(minutes=int(offset))
    else:
        today = minute.astimezone(ZoneInfo(str(call.arguments[1])))
        found = today.replace(hour=int(offset) // 60, minute=int(offset) % 60).astimezone(UTC)
    return f"{found:%Y-%m-%d %H:%M:%S}Z"


def measured(rule: Rule, moment: datetime) -> dict[Check, Check]:
    """Returns the checks whose metrics a rule's own checks need, by these, with their times known."""
    assert rule.check is not None
    return {
        leaf: anomaly_metric(leaf) if leaf.type == "DetectAnomalies" else at(moment, leaf)
        for leaf in leaves(rule.check)
    }
