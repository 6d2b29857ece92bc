"""What table rules measure: aggregates in Spark SQL, and the metric that follows from their values.

Source of the definitions: the DQDL part of awslabs/deequ. Over no rows, or a column without a value, there is
no metric (None), except for counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from lakesmith.quality.exact_metrics import DEGREES, exact_extremes, exact_metric, exact_quartiles, exact_sums
from lakesmith.quality.model import Check, Rule, leaves
from lakesmith.quality.numbers import Number, finite
from lakesmith.quality.predicate import as_double, compared, passes_of
from lakesmith.quality.rule_types import TYPES
from lakesmith.quoting import own, quoted

Found = Mapping[str, Any]
"""Values of aggregates by their names."""


def metric_name(check: Check) -> str:
    """Returns the text that identifies a check's metric in the progress record."""
    if check.type == "DetectAnomalies":
        return metric_name(anomaly_metric(check))
    parts = [check.type, *(f'"{each}"' for each in check.parameters)]
    if is_share(check) and check.condition is not None:
        parts += [
            check.condition.operator,
            *map(str, check.condition.values),
            *sorted(check.condition.keywords),
            *(f'with {name} = "{value}"' for name, value in check.tags),
        ]
    return " ".join((*parts, *((f'where "{check.where}"',) if check.where else ())))


def is_share(check: Check) -> bool:
    """Whether the metric is the share of rows that pass."""
    if check.type == "CustomSql":
        return check.condition is None
    return TYPES[check.type].level == "row" or check.type == "DataFreshness"


def anomaly_metric(check: Check) -> Check:
    """Returns the metric that a DetectAnomalies rule follows."""
    return Check(check.parameters[0], check.parameters[1:])


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of rows with the same values of ``columns`` among those of ``where``."""

    columns: tuple[str, ...]
    where: str | None


_GROUPED: Final[Mapping[str, Callable[[Found], Number | None]]] = {
    "Uniqueness": lambda found: _share(found["once"], found["some"]),
    "UniqueValueRatio": lambda found: _share(found["once"], found["values"]),
    "DistinctValuesCount": lambda found: Fraction(found["groups"]),
    "DuplicateRowCount": lambda found: Fraction(found["repeated"] or 0),
    "Entropy": lambda found: _entropy(found),
    "IsUnique": lambda found: _share(found["once"], found["some"]),
    "IsPrimaryKey": lambda found: _share(found["single"], found["rows"]),
}


GROUP_SIZE: Final = own("n")
"""The number of rows of a group, beside its columns."""


def group_aggregates(groups: Groups) -> dict[str, str]:
    """Returns the aggregates over groups whose sizes are in the column ``GROUP_SIZE``."""
    nulls = [f"{quoted(name)} IS NULL" for name in groups.columns]
    some, one = f"NOT ({' AND '.join(nulls)})", f"({' OR '.join(nulls)})"
    return {
        "rows": f"sum({GROUP_SIZE})",
        "groups": "count(1)",
        "once": f"count_if({GROUP_SIZE} = 1 AND {some})",
        "single": f"count_if({GROUP_SIZE} = 1 AND NOT {one})",
        "values": f"count_if({some})",
        "some": f"sum({GROUP_SIZE}) FILTER (WHERE {some})",
        "repeated": f"sum({GROUP_SIZE}) FILTER (WHERE {GROUP_SIZE} > 1 AND {some})",
        "logs": f"sum({GROUP_SIZE} * ln({GROUP_SIZE})) FILTER (WHERE {some})",
    }


def groups_of(check: Check, columns: tuple[str, ...]) -> Groups | None:
    """Returns the groups that a check needs; None if it needs none. ``columns``: the table's."""
    return Groups(check.parameters or columns, check.where) if check.type in _GROUPED else None


def gate_in_words(rules: Sequence[Rule], columns: Sequence[str] = ()) -> str:
    """Returns what checking table rules reads; empty without rules."""
    every = [leaf for rule in rules if rule.check is not None for leaf in leaves(rule.check)]
    measured = [anomaly_metric(each) if each.type == "DetectAnomalies" else each for each in every]
    passed = {
        name: None for each in measured if _is_aggregated(each) for name in each.parameters or ("rows",)
    }
    groups = dict.fromkeys(found for each in measured if (found := groups_of(each, tuple(columns))))
    others = dict.fromkeys(each.type for each in measured if TYPES[each.type].parameters in _OTHER_TABLES)
    parts = [f"one pass over {', '.join(passed)}"] if passed else []
    parts += [f"rows grouped by {', '.join(each.columns) or 'all columns'}" for each in groups]
    parts += [f"other tables or queries for {', '.join(others)}"] if others else []
    if not measured:
        return ""
    rules_in_words = "1 table rule" if len(rules) == 1 else f"{len(rules)} table rules"
    return f"before it is published, {rules_in_words} read {'; '.join(parts) or 'metadata alone'}"


def _is_aggregated(check: Check) -> bool:
    """Whether ``aggregates`` has some for a check."""
    if check.type == "RowCount":
        return check.where is not None
    own = ("Completeness", "ZerosCount", "Range", "InterquartileRange", "ColumnCorrelation", *_FUNCTIONS)
    return check.type in own or (is_share(check) and check.type != "CustomSql")


_OTHER_TABLES: Final = ("table", "text text", "table text text?")


def aggregates(check: Check, now: float, kinds: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Returns the aggregates over all rows that a check needs.

    Args:
        check: the check.
        now: seconds since the epoch.
        kinds: Spark's types of the table's columns, by their names in lower case.
    """
    rows = "true" if check.where is None else f"coalesce(({check.where}), false)"
    if is_share(check) and check.type != "CustomSql":
        return {"rows": f"count_if({rows})", "passing": f"count_if({rows} AND {_passes(check, now)})"}
    if check.type == "RowCount":
        return {"rows": f"count_if({rows})"} if check.where else {}
    if check.type == "Completeness":
        return {
            "rows": f"count_if({rows})",
            "passing": f"count_if({rows} AND {quoted(check.column)} IS NOT NULL)",
        }
    values = [as_double(quoted(name)) for name in check.parameters]
    if check.type == "ZerosCount":
        return {"value": f"count_if({rows} AND coalesce({values[0]} = 0D, false))"}
    columns = [(quoted(name), kinds.get(name.lower(), "double")) for name in check.parameters]
    if check.type == "Range":
        found = {name: f"{name}({values[0]}) FILTER (WHERE {rows})" for name in ("max", "min")}
        return found | exact_extremes(columns[0], rows)
    if check.type == "InterquartileRange":
        quartiles = f"percentile({values[0]}, array(0.25D, 0.75D)) FILTER (WHERE {rows})"
        return {"quartiles": quartiles} | exact_quartiles(columns[0], quartiles, rows)
    if check.type == "ColumnCorrelation":
        return {"value": _correlation(values, rows)} | exact_sums(columns, rows, DEGREES[check.type])
    if check.type in _FUNCTIONS:
        value = f"{_FUNCTIONS[check.type]}({', '.join(values)}) FILTER (WHERE {rows})"
        if check.type in _ZERO_IF_ALIKE:
            value = f"coalesce({value}, IF(count({values[0]}) FILTER (WHERE {rows}) > 0, 0D, NULL))"
        return {"value": value} | exact_sums(columns, rows, DEGREES.get(check.type, 0))
    return {}


def _correlation(values: Sequence[str], rows: str) -> str:
    """Returns Pearson's correlation of two doubles. Spark's corr divides by zero if one never changes."""
    one, other = values
    pairs = f"FILTER (WHERE {rows} AND {one} IS NOT NULL AND {other} IS NOT NULL)"
    away = " * ".join(f"stddev_pop({each}) {pairs}" for each in values)
    return f"try_divide(covar_pop({one}, {other}) {pairs}, {away})"


_FUNCTIONS: Final = {
    "Mean": "avg",
    "Sum": "sum",
    "StandardDeviation": "stddev_pop",
    "Variance": "var_pop",
    "Skewness": "skewness",
    "Kurtosis": "kurtosis",
}


_ZERO_IF_ALIKE: Final = ("Skewness", "Kurtosis")
"""Metrics that are 0 if all values are the same, for which Spark has none."""


def _passes(check: Check, now: float) -> str:
    if check.type != "DataFreshness" or check.condition is None:
        return passes_of(check)
    age = f"({now}D - unix_micros(try_cast({quoted(check.column)} AS TIMESTAMP)) / 1000000D) / 60D"
    return f"coalesce({compared(age, check.condition)}, false)"


def metric(check: Check, found: Found) -> Number | None:
    """Returns a check's metric from the values of its aggregates."""
    if check.type in _GROUPED:
        return _GROUPED[check.type](found)
    if "passing" in found:
        return _share(found["passing"], found["rows"])
    if check.type == "RowCount":
        return Fraction(found["rows"])
    if (exact := exact_metric(check.type, found)) is not None:
        return exact
    if check.type == "Range":
        return None if found["max"] is None else finite(found["max"] - found["min"])
    if check.type == "InterquartileRange":
        return None if found["quartiles"] is None else finite(found["quartiles"][1] - found["quartiles"][0])
    return finite(found["value"])


def _share(part: int | None, whole: int | None) -> Number | None:
    return Fraction(part or 0, whole) if whole else None


def _entropy(found: Found) -> float | None:
    some = found["some"]
    return math.log(some) - float(found["logs"]) / some if some else None
