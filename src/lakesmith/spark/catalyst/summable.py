"""Queries whose result can be updated by addition: added rows add to it, removed rows subtract from it.

Such a query groups rows that are made one by one, or by joins with unchanged tables, and returns sums,
counts, least or greatest values. With Q(old), its earlier result, and Q(came) and Q(went), its results over
the changed rows alone, the new result follows group by group (see ``refresh.sums``). Sums need exact types:
doubles added in another order give another sum. An average follows from a sum and a count beside it if Spark
computes it from nothing else (``means``). A sum or a count may be cast to a type that holds all its values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from pyspark.sql import DataFrame

from lakesmith.project.definitions import TableName
from lakesmith.spark.catalyst.joins import ROW_SIDES, join_kind
from lakesmith.spark.catalyst.means import Mean, is_computed_by_doubles, mean_of, without_casts
from lakesmith.spark.catalyst.tree import (
    Occurrences,
    analysed,
    items,
    kind_of,
    node_kind,
    occurrence_of,
    parts_of,
)

_RENAMING: Final = frozenset({"SubqueryAlias", "View"})
_EACH_ROW: Final = frozenset({"Project", "Filter", "Expand", "Generate", "ResolvedHint", *_RENAMING})
_WINDOW: Final = "spark.timeWindow"
"""The metadata by which Spark marks an event-time window's column; all of them have one duration."""

_WHOLE_NUMBERS: Final = frozenset({"tinyint", "smallint", "int", "bigint"})
_MOST_DIGITS: Final = 36
"""Spark may round the sum of two decimals with more digits."""


class Role(Enum):
    """The kind of a result column."""

    GROUP = "group"
    """The same for all rows of a group."""
    ROWS = "rows"
    """How many rows the group has."""
    COUNT = "count"
    SUM = "sum"
    MIN = "min"
    MAX = "max"
    MEAN = "mean"


@dataclass(frozen=True)
class Adding:
    """A column of the result. ``counted_by``: for a sum, the position of the count of its values.

    An average has that, too, the position of its sum (``summed_by``), and how it follows from both
    (``mean``).
    """

    role: Role
    counted_by: int | None = None
    summed_by: int | None = None
    mean: Mean | None = None


def additive(frame: DataFrame, occurrences: Occurrences, moved: TableName) -> tuple[Adding, ...] | None:
    """Returns the columns of a query's result if changes of ``moved`` can be added to it; None if not.

    ``occurrences``: of the query's inputs. Every expression must depend on its row alone; ``key_columns``
    checks that.
    """
    if str(frame.sparkSession.conf.get("spark.sql.ansi.enabled")) != "true":
        return None  # A sum may be null then because it was too large.
    # Without one of its rules Spark may compute an average in another way.
    averages = not frame.sparkSession.conf.get("spark.sql.optimizer.excludedRules", None)
    node = analysed(frame)
    while node_kind(node) in _RENAMING:
        (node,) = items(node.children())
    if node_kind(node) != "Aggregate" or _changes(node.child(), occurrences, moved) is not True:
        return None
    found = _columns(items(node.aggregateExpressions()), items(node.groupingExpressions()))
    return found if found is None or averages or all(each.mean is None for each in found) else None


def _changes(node: Any, occurrences: Occurrences, moved: TableName) -> bool | None:
    """Whether a node's rows follow from changes of ``moved``; False if it does not read it, None if not."""
    occurrence = occurrence_of(node, occurrences)
    if occurrence is not None:
        return occurrence.table == moved
    kind = node_kind(node)
    if not node.subqueries().isEmpty():
        return None
    if kind in _EACH_ROW:
        return _changes(node.children().apply(0), occurrences, moved)
    if kind != "Join":
        return None
    sides = ROW_SIDES.get(join_kind(node))
    found = [_changes(side, occurrences, moved) for side in (node.left(), node.right())]
    if sides is None or None in found or all(found):
        return None
    if any(changes and not adds for changes, adds in zip(found, sides, strict=True)):
        return None
    return any(found)


def _columns(outputs: Sequence[Any], groups: Sequence[Any]) -> tuple[Adding, ...] | None:
    values = [each.child() if kind_of(each) == "Alias" else each for each in outputs]
    given = [any(_tells(value, group) for value in values) for group in groups]
    roles = [_role(value) for value in values]
    known = [role for role in roles if role is not None]
    if not groups or not all(given) or len(known) < len(roles):
        return None
    plain = [without_casts(value)[0] for value in values]
    found = [_adding(at, values, plain, known) for at in range(len(values))]
    return None if None in found else tuple(each for each in found if each is not None)


def _adding(at: int, values: Sequence[Any], plain: Sequence[Any], roles: Sequence[Role]) -> Adding | None:
    """Returns the kind of a column; None for an average without its sum and count. ``plain``: uncast."""
    role = roles[at]
    if role not in (Role.SUM, Role.MEAN):
        return Adding(role)
    counted = _counted_by(at, plain, roles)
    if role is Role.SUM:
        return Adding(role, counted)
    summed = next(
        (it for it, each in enumerate(roles) if each is Role.SUM and _is_of_same(plain[it], plain[at])), None
    )
    mean = mean_of(values[at])
    return None if mean is None or None in (counted, summed) else Adding(role, counted, summed, mean)


def _tells(value: Any, group: Any) -> bool:
    """Whether a result value identifies its group: the grouped value, or an end of its event-time window."""
    if value.semanticEquals(group):
        return True
    is_window = kind_of(group) == "AttributeReference" and group.metadata().contains(_WINDOW)
    return is_window and kind_of(value) == "GetStructField" and bool(value.child().semanticEquals(group))


def _role(value: Any) -> Role | None:
    if not any(kind_of(part) == "AggregateExpression" for part in parts_of(value)):
        return Role.GROUP
    aggregate, keep = without_casts(value)
    if kind_of(aggregate) != "AggregateExpression" or aggregate.isDistinct():
        return None
    role = _role_of(aggregate)
    # The least of cast values may not be the least before the cast.
    may_be_cast = role is Role.MEAN or (keep and role in (Role.ROWS, Role.COUNT, Role.SUM))
    return role if kind_of(value) == "AggregateExpression" or may_be_cast else None


def _role_of(aggregate: Any) -> Role | None:
    function = aggregate.aggregateFunction()
    name, arguments = str(function.prettyName()), items(function.children())
    if name == "count":
        everything = all(not each.nullable() for each in arguments) and aggregate.filter().isEmpty()
        return Role.ROWS if everything else Role.COUNT
    if name == "sum" and _is_exact(function.dataType()):
        return Role.SUM
    if name == "avg" and is_computed_by_doubles(arguments[0].dataType()):
        return Role.MEAN
    return {"min": Role.MIN, "max": Role.MAX}.get(name)


def _is_exact(kind: Any) -> bool:
    if str(kind.simpleString()) in _WHOLE_NUMBERS:
        return True
    return str(kind.typeName()).startswith("decimal") and int(kind.precision()) <= _MOST_DIGITS


def _counted_by(at: int, values: Sequence[Any], roles: Sequence[Role]) -> int | None:
    added = values[at]
    (argument,) = _arguments(added)
    if not argument.nullable() and added.filter().isEmpty() and Role.ROWS in roles:
        return roles.index(Role.ROWS)
    for number, role in enumerate(roles):
        if role is Role.COUNT and _is_of_same(values[number], added):
            return number
    return None


def _is_of_same(counting: Any, added: Any) -> bool:
    """Whether a count counts the same values that are added up."""
    arguments = _arguments(counting)
    if len(arguments) != 1 or not arguments[0].semanticEquals(_arguments(added)[0]):
        return False
    one, other = counting.filter(), added.filter()
    if one.isEmpty() or other.isEmpty():
        return bool(one.isEmpty() and other.isEmpty())
    return bool(one.get().semanticEquals(other.get()))


def _arguments(aggregate: Any) -> list[Any]:
    return items(aggregate.aggregateFunction().children())
