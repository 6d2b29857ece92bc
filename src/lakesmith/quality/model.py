"""The frozen definitions of quality rules: what the parser makes, what the compiler reads, what users see.

Nothing here knows the DQDL text or Spark SQL; :mod:`lakesmith.quality.dqdl` makes these values and
:mod:`lakesmith.quality.predicate` turns them into SQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lakesmith.errors import Place

Operator = Literal[
    "=", "!=", ">", ">=", "<", "<=", "between", "not between", "in", "not in", "matches", "not matches"
]
Kind = Literal["number", "date", "text"]
Keyword = Literal["NULL", "EMPTY", "WHITESPACES_ONLY"]


@dataclass(frozen=True, slots=True)
class Condition:
    """What a value is compared with.

    Args:
        operator: one of DQDL's operators.
        kind: how the values are compared; ``text`` too if there are only keywords.
        values: numbers as written (``-1.50``), dates as ``YYYY-MM-DD``, strings with their escapes resolved;
            a regular expression for ``matches``.
        keywords: the keywords among the values; only with ``=``, ``!=``, ``in`` and ``not in``.
    """

    operator: Operator
    kind: Kind
    values: tuple[str, ...]
    keywords: frozenset[Keyword] = frozenset()


@dataclass(frozen=True, slots=True)
class IsComplete:
    """The column is not NULL. ``where``: a Spark SQL predicate of the rows to check; the others pass."""

    column: str
    where: str | None = None


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """The column's value meets the condition. ``where`` as in :class:`IsComplete`."""

    column: str
    condition: Condition
    where: str | None = None


@dataclass(frozen=True, slots=True)
class ColumnLength:
    """The number of characters of the column's value meets the condition. ``where`` as in
    :class:`IsComplete`."""

    column: str
    condition: Condition
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Composite:
    """All of the parts hold (``and``), or at least one of them (``or``)."""

    operator: Literal["and", "or"]
    parts: tuple[Check, ...]


SimpleCheck = IsComplete | ColumnValues | ColumnLength
Check = SimpleCheck | Composite


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a table.

    Args:
        text: the rule as written, without comments and with single spaces: the reason shown in quarantine.
        place: the line of the project on which the rule begins.
        columns: the columns it checks, each once, in order of appearance, without those of ``wheres``.
        wheres: its ``where`` filters, each a Spark SQL predicate of the user.
        predicate: a Spark SQL boolean expression, TRUE exactly if the row passes, and never NULL.
    """

    text: str
    place: Place
    columns: tuple[str, ...]
    wheres: tuple[str, ...]
    predicate: str


def simple_checks(check: Check) -> tuple[SimpleCheck, ...]:
    """Returns the leaves of a check, from left to right."""
    if isinstance(check, Composite):
        return tuple(leaf for part in check.parts for leaf in simple_checks(part))
    return (check,)
