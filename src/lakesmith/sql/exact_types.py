"""The types whose values give the same sum in whatever order they are added up."""

from __future__ import annotations

from typing import Final

_WHOLE_NUMBERS: Final = frozenset({"tinyint", "smallint", "int", "bigint"})
_MOST_DIGITS: Final = 26
"""The sum of a decimal has ten digits more; where those are more than 36 Spark may round what is added to it."""


def is_exact(kind: str) -> bool:
    """Whether a type, in Spark's words, is one of these.

    >>> [is_exact(kind) for kind in ("int", "decimal(10,2)", "decimal(30,2)", "double")]
    [True, True, False, False]
    """
    digits = kind.removeprefix("decimal(").partition(",")[0].rstrip(")")
    return kind in _WHOLE_NUMBERS or (kind.startswith("decimal(") and int(digits) <= _MOST_DIGITS)


_MOST_AVERAGED_DIGITS: Final = 11
"""Averages of decimals of more digits are no quotients of doubles."""


def has_exact_mean(kind: str) -> bool:
    """Whether Spark's average of a type, in Spark's words, follows from a sum and a count (``spark.catalyst.means``).

    >>> [has_exact_mean(kind) for kind in ("int", "bigint", "decimal(10,2)", "decimal(12,2)", "double")]
    [True, False, True, False, False]
    """
    digits = kind.removeprefix("decimal(").partition(",")[0].rstrip(")")
    is_decimal = kind.startswith("decimal(")
    return (kind in _WHOLE_NUMBERS - {"bigint"}) or (is_decimal and int(digits) <= _MOST_AVERAGED_DIGITS)


def places(kind: str) -> int | None:
    """The places behind the point of an exact type; None of another.

    >>> [places(kind) for kind in ("int", "decimal(10,2)", "decimal(10)", "double")]
    [0, 2, 0, None]
    """
    if kind in _WHOLE_NUMBERS:
        return 0
    return int(kind.rstrip(")").partition(",")[2] or 0) if kind.startswith("decimal") else None
