"""Metrics of whole numbers and decimals without rounding: sums as decimals in SQL, the rest as fractions.

Sums of doubles depend on their order, and 0.10 + 0.20 is not 0.30 among them. A column is summed as a decimal
if its type has whole numbers or decimals, or texts. If a value or a sum does not fit, there is no exact
metric, and the one of doubles counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, Final

from lakesmith.quality.numbers import DOUBLE_DIGITS, Number, root
from lakesmith.quality.predicate import as_double
from lakesmith.quoting import own

Column = tuple[str, str]
"""A column's quoted name, and Spark's type of it."""

_WIDEST: Final = 38
_FACTOR: Final = 18
"""Digits of numbers whose products Spark's widest decimal holds."""

_SCALES: Final = {
    "boolean": 0,
    "tinyint": 0,
    "smallint": 0,
    "int": 0,
    "bigint": 0,
    "timestamp": 6,
    "string": 18,
}
"""Types with so many digits after the point at most; of texts, those that are summed as decimals."""

_DECIMAL_TEXT: Final = rf"\\s*[+-]?[0-9]*[.]?[0-9]{{0,{_SCALES['string']}}}\\s*"


def _scale(kind: str) -> int | None:
    if match := re.fullmatch(r"decimal\(\d+,(\d+)\)", kind):
        return int(match[1])
    return _SCALES.get(kind)


def _as_decimal(column: Column, digits: int) -> str | None:
    """Returns SQL of a column as decimals of so many digits, NULL for a value that does not fit, or None."""
    name, kind = column
    scale = _scale(kind)
    if scale is None or scale > digits:
        return None
    value = f"if({name} RLIKE '^{_DECIMAL_TEXT}$', {name}, NULL)" if kind == "string" else name
    return f"try_cast({value} AS DECIMAL({digits}, {scale}))"


def exact_sums(columns: Sequence[Column], rows: str, degree: int) -> dict[str, str]:
    """Returns aggregates: the sums of columns and, for a ``degree`` of 2, of products of two, over ``rows``
    in which all are numbers; empty for a ``degree`` of 0, or if their types are not exact."""
    values = [_as_decimal(column, _WIDEST if degree == 1 else _FACTOR) for column in columns]
    known = [value for value in values if value is not None]
    if not degree or len(known) < len(columns):
        return {}
    numbers = " AND ".join(f"{as_double(name)} IS NOT NULL" for name, _ in columns)
    chosen = f"{rows} AND {numbers}"
    products = {
        "_".join(map(str, places)): " * ".join(known[place] for place in places)
        for many in range(1, degree + 1)
        for places in combinations_with_replacement(range(len(known)), many)
    }
    sums = {f"sum_{name}": f"try_sum({value}) FILTER (WHERE {chosen})" for name, value in products.items()}
    return _counts(chosen, known) | sums


def _counts(chosen: str, values: Sequence[str]) -> dict[str, str]:
    fit = " AND ".join(f"{value} IS NOT NULL" for value in values)
    return {"numbers": f"count_if({chosen})", "fitting": f"count_if({chosen} AND {fit})"}


def exact_extremes(column: Column, rows: str) -> dict[str, str]:
    """Returns aggregates: the least and the greatest value, as decimals."""
    value = _as_decimal(column, _WIDEST)
    if value is None:
        return {}
    chosen = f"{rows} AND {as_double(column[0])} IS NOT NULL"
    extremes = {f"exact_{name}": f"{name}({value}) FILTER (WHERE {chosen})" for name in ("max", "min")}
    return _counts(chosen, [value]) | extremes


def exact_quartiles(column: Column, quartiles: str, rows: str) -> dict[str, str]:
    """Returns an aggregate: ``quartiles`` with as many digits as those of decimals have. They lie between two
    values, at a quarter or half."""
    value, scale = _as_decimal(column, _WIDEST), _scale(column[1])
    if value is None or scale is None:
        return {}
    each = own("each")
    chosen = f"{rows} AND {as_double(column[0])} IS NOT NULL"
    exact = (
        f"transform({quartiles}, {each} -> try_cast({each} AS DECIMAL({_WIDEST}, {min(scale + 2, _WIDEST)})))"
    )
    return _counts(chosen, [value]) | {"exact_quartiles": exact}


def exact_metric(kind: str, found: Mapping[str, Any]) -> Number | None:
    """Returns the metric of a rule type from the values of exact aggregates; None if they are not known."""
    if not found.get("numbers") or found["numbers"] != found["fitting"] or None in found.values():
        return None
    return _METRICS[kind](found)


def _mean(found: Mapping[str, Any]) -> Fraction:
    return Fraction(found["sum_0"]) / Fraction(found["numbers"])


def _covariance(found: Mapping[str, Any], one: int = 0, other: int = 0) -> Fraction:
    names = (f"sum_{one}_{other}", f"sum_{one}", f"sum_{other}")
    product, left, right = (Fraction(found[name]) / Fraction(found["numbers"]) for name in names)
    return product - left * right


def _correlation(found: Mapping[str, Any]) -> Number | None:
    together, alone = _covariance(found, 0, 1), _covariance(found) * _covariance(found, 1, 1)
    if not alone:
        return None
    return root(together**2 / alone) * (1 if together >= 0 else -1)


def _interquartile_range(found: Mapping[str, Any]) -> Number | None:
    """Returns the metric if a double holds all digits of both quartiles."""
    quartiles = [each for each in found["exact_quartiles"] if each is not None]
    if any(len(each.as_tuple().digits) > DOUBLE_DIGITS for each in quartiles) or len(quartiles) < 2:
        return None
    return Fraction(quartiles[1]) - Fraction(quartiles[0])


_METRICS: Final[Mapping[str, Callable[[Mapping[str, Any]], Number | None]]] = {
    "Sum": lambda found: Fraction(found["sum_0"]),
    "Mean": _mean,
    "Variance": _covariance,
    "StandardDeviation": lambda found: root(_covariance(found)),
    "ColumnCorrelation": _correlation,
    "Range": lambda found: Fraction(found["exact_max"]) - Fraction(found["exact_min"]),
    "InterquartileRange": _interquartile_range,
}

DEGREES: Final = {"Sum": 1, "Mean": 1, "Variance": 2, "StandardDeviation": 2, "ColumnCorrelation": 2}
"""The degrees of the sums that rule types need: 2 if products of two values are summed, too."""
