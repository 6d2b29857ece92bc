"""Values that can be equal and not the same, in Spark's plans: 0.0 and -0.0, and maps with their entries in another order.

Where rows are grouped by such values, one of them stands for all that are equal to it: which one depends on the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lakesmith.spark.catalyst.tree import is_name, items, kind_of, parts_of, references

_COMPARISONS: Final = frozenset(
    {"EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual"}
)
_LOGIC: Final = frozenset({"And", "Or", "Not", "IsNull", "IsNotNull"})


def has_equals(expression: Any) -> bool:
    """Whether values of an expression's type can be equal and not the same."""
    kind = str(expression.dataType().simpleString())
    return any(part in kind for part in ("double", "float", "map<"))


def is_of_merged(expression: Any, groups: Sequence[Any]) -> bool:
    """Whether a value is computed of one that rows are grouped by, and that stands for others that are equal to it."""
    value = expression.child() if kind_of(expression) == "Alias" else expression
    merging = [each for each in groups if has_equals(each)]
    if not merging or any(value.semanticEquals(each) for each in groups):
        return False
    return any(part.semanticEquals(each) for part in parts_of(value) for each in merging)


def is_for_equals(condition: Any, merged: frozenset[int]) -> bool:
    """Whether a condition compares ``merged`` columns by their values alone, so that equal values give equal answers."""
    if not references(condition) & merged or is_name(condition):
        return True
    if kind_of(condition) in _LOGIC:
        return all(is_for_equals(each, merged) for each in items(condition.children()))
    if kind_of(condition) not in _COMPARISONS:
        return False
    return all(is_name(each) or not references(each) & merged for each in items(condition.children()))
