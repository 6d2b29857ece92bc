"""Averages that a sum and a count tell exactly.

Spark computes an average of whole numbers by doubles: it adds the values up as doubles and divides by how many there are. Of decimals of up to
eleven digits it takes the digits as whole numbers, does the same, and divides by the power of ten (its optimizer's ``DecimalAggregates``).
Doubles have each whole number up to 2^53, so as long as even the sum of all absolute values is no larger, no order of adding up and no
part of it is rounded: the double is the exact sum, and the average follows from it and the count by the same two divisions and the same
casts. That is certain for groups of up to ``most`` values, whatever those are; larger ones are computed from their rows. Other averages of decimals
are divisions with digits of their own, which no SQL gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from lakesmith.spark.catalyst.tree import items, kind_of

_WHOLE_NUMBERS: Final = frozenset({"tinyint", "smallint", "int", "bigint"})


def without_casts(value: Any) -> tuple[Any, bool]:
    """What is cast, and whether all its values are the same after it: one that the new type does not have is an error then."""
    keep = True
    while kind_of(value) == "Cast":
        below = value.child()
        keep = keep and fails_for_others(value) and _keeps(below.dataType(), value.dataType())
        value = below
    return value, keep


def fails_for_others(cast: Any) -> bool:
    """Whether it is an error where the new type has no such value, as the ANSI mode has it (``try_cast`` gives null)."""
    return str(cast.evalMode()) == "ANSI"


def places(kind: Any) -> int | None:
    """The places behind the point of an exact number's type; None of other types."""
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
    """How an average is made of a sum and a count. ``digits`` and ``scale``: of the decimals, None of whole numbers. ``casts``: the types it is cast to,
    one after the other."""

    most: int
    digits: int | None
    scale: int
    casts: tuple[str, ...] = ()

    def of(self, total: str, count: str) -> str:
        """The average in SQL; ``total`` and ``count``: expressions, the exact sum of up to ``most`` values and how many they are."""
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
    """How an average follows, one that is cast or not; None where a cast does not fail for what its type does not have."""
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
