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
