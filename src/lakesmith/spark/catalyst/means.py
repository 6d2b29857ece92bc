"""Averages that follow exactly from a sum and a count.

Spark computes an average of whole numbers by doubles: it adds the values as doubles and divides by their
count. For decimals of up to eleven digits it does the same with the digits as whole numbers, and divides by
the power of ten (its optimizer's ``DecimalAggregates``). Doubles represent each whole number up to 2^53. As
long as the sum of all absolute values is no larger, no order of adding rounds: the double is the exact sum,
and the average follows from it and the count by the same two divisions and casts. That is certain for groups
of up to ``most`` values; larger ones are computed from their rows. Other averages of decimals are divisions
with digits of their own, which no SQL gives.
"""

from dataclasses import dataclass
from typing import Any, Final

from lakesmith.spark.catalyst.tree import items, kind_of

_WHOLE_NUMBERS: Final = frozenset({"tinyint", "smallint", "int", "bigint"})


def without_casts(value: Any) -> tuple[Any, bool]:
    """Returns what is cast, and whether the cast keeps all values, or fails."""
    keep = True
    while kind_of(value) == "Cast":
        below = value.child()
        keep = keep and fails_for_others(value) and _keeps(below.dataType(), value.dataType())
        value = below
    return value, keep


def fails_for_others(cast: Any) -> bool:
    """Whether a value without an equivalent is an error, as in ANSI mode (``try_cast`` gives null)."""
    return str(cast.evalMode()) == "ANSI"


def places(kind: Any) -> int | None:
    """Returns the decimal places of an exact number's type; None for other types."""
    if str(kind.simpleString()) in _WHOLE_NUMBERS:
        return 0
    return int(kind.scale()) if str(kind.typeName()).startswith("decimal") else None


def _keeps(one: Any, other: Any) -> bool:
    before, after = places(one), places(other)
    return before is not None and after is not None and before <= after


_EXACT_UP_TO: Final = 2**53
_MOST_DIGITS: Final = 11
"""Averages of decimals of more are computed as decimals."""
_LARGEST: Final = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31}


@dataclass(frozen=True)
class Mean:
    """How an average follows from a sum and a count. ``digits``, ``scale``: None for whole numbers.

    ``casts``: the types it is cast to, one after the other.
    """

    most: int
    digits: int | None
    scale: int
    casts: tuple[str, ...] = ()

    def of(self, total: str, count: str) -> str:
        """Returns the average in SQL. ``total``, ``count``: expressions; at most ``most`` values."""
        if self.digits is None:
            made = f"CAST({total} AS double) / CAST({count} AS double)"
        else:
            whole = f"CAST(CAST({total} AS decimal(21,{self.scale})) * {10**self.scale} AS bigint)"
            mean = f"CAST({whole} AS double) / CAST({count} AS double) / CAST({10**self.scale} AS double)"
            made = f"CAST({mean} AS decimal({self.digits + 4},{self.scale + 4}))"
        for kind in self.casts:
            made = f"CAST({made} AS {kind})"
        return f"CASE WHEN {count} > 0 AND {count} <= {self.most} THEN {made} END"


def is_computed_by_doubles(kind: Any) -> bool:
    """Whether Spark computes averages of this type so, and the values are bounded."""
    return str(kind.simpleString()) in _LARGEST or (
        _is_decimal(kind) and int(kind.precision()) <= _MOST_DIGITS
    )


def mean_of(value: Any) -> Mean | None:
    """Returns how an average follows, cast or not; None if a cast may change a value without failing."""
    casts: list[str] = []
    while kind_of(value) == "Cast":
        if not fails_for_others(value):
            return None
        casts.append(str(value.dataType().simpleString()))
        value = value.child()
    (argument,) = items(value.aggregateFunction().children())
    kind = argument.dataType()
    ordered = tuple(reversed(casts))
    if not _is_decimal(kind):
        return Mean(_EXACT_UP_TO // _LARGEST[str(kind.simpleString())], None, 0, ordered)
    digits = int(kind.precision())
    return Mean(_EXACT_UP_TO // 10**digits, digits, int(kind.scale()), ordered)


def _is_decimal(kind: Any) -> bool:
    return str(kind.typeName()).startswith("decimal")
