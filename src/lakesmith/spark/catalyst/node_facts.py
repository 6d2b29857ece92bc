"""What is known of a node of Spark's plan, from the inputs to the result (see ``key_columns``).

Values can be equal and not the same: 0.0 and -0.0, and maps with their entries in another order. Where rows
are grouped by such values, one of them represents all that are equal to it; which one depends on the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from lakesmith.spark.catalyst.key_origins import Origin, Origins
from lakesmith.spark.catalyst.tree import Occurrence, id_of, is_name, items, kind_of, parts_of, references

_COMPARISONS: Final = frozenset(
    {"EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual"}
)
_LOGIC: Final = frozenset({"And", "Or", "Not", "IsNull", "IsNotNull"})


def has_equals(expression: Any) -> bool:
    """Whether values of an expression's type can be equal and not the same."""
    kind = str(expression.dataType().simpleString())
    return any(part in kind for part in ("double", "float", "map<"))


def is_of_merged(expression: Any, groups: Sequence[Any]) -> bool:
    """Whether a value is computed from a grouped value that represents others equal to it."""
    value = expression.child() if kind_of(expression) == "Alias" else expression
    merging = [each for each in groups if has_equals(each)]
    if not merging or any(value.semanticEquals(each) for each in groups):
        return False
    return any(part.semanticEquals(each) for part in parts_of(value) for each in merging)


def is_for_equals(condition: Any, merged: frozenset[int]) -> bool:
    """Whether a condition compares ``merged`` columns by value, so that equal values give equal answers."""
    if not references(condition) & merged or is_name(condition):
        return True
    if kind_of(condition) in _LOGIC:
        return all(is_for_equals(each, merged) for each in items(condition.children()))
    if kind_of(condition) not in _COMPARISONS:
        return False
    return all(is_name(each) or not references(each) & merged for each in items(condition.children()))


@dataclass(frozen=True)
class NodeFacts:
    """The facts of a node: its key columns, their origins, the occurrences below it, and it relaxed.

    ``merged``: the key columns in which one value represents others that are equal and not the same.
    """

    key_ids: frozenset[int]
    plan: Any
    occurrences: frozenset[Occurrence] = frozenset()
    origins: Mapping[int, Origins] = field(default_factory=dict)
    merged: frozenset[int] = frozenset()

    def decides(self, expression: Any) -> bool:
        """Whether the value of an expression follows from the key columns."""
        used = references(expression)
        return used <= self.key_ids and (not used & self.merged or is_name(expression))

    def merging(self, columns: Iterable[Any]) -> NodeFacts:
        """Returns the facts after rows with equal values in these columns are merged or compared."""
        found = (
            id_of(each) for each in columns if kind_of(each) == "AttributeReference" and has_equals(each)
        )
        return replace(self, merged=self.merged | self.key_ids.intersection(found))


def shared_origins(parts: Iterable[tuple[NodeFacts, int]]) -> Origins:
    """Returns the origins of a column that are equal in all parts with the occurrence."""
    parts = list(parts)
    found: dict[Occurrence, Origin] = {}
    for occurrence in frozenset().union(*(part.occurrences for part, _ in parts)):
        origins = [
            part.origins.get(column, {}).get(occurrence)
            for part, column in parts
            if occurrence in part.occurrences
        ]
        if origins[0] is not None and all(origin == origins[0] for origin in origins):
            found[occurrence] = origins[0]
    return found
