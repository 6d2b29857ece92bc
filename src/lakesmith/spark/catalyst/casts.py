"""Casts around a value: what is below them, and whether they keep what it is."""

from __future__ import annotations

from typing import Any, Final

from lakesmith.spark.catalyst.tree import kind_of

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
