"""The frozen definitions of quality rules: what the parser makes, what evaluates them, what users see.

Nothing here knows the DQDL text or Spark SQL; :mod:`lakesmith.quality.dqdl` makes these values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from lakesmith.errors import Place

Operator = Literal[
    "=", "!=", ">", ">=", "<", "<=", "between", "not between", "in", "not in", "matches", "not matches"
]
Kind = Literal["number", "date", "text", "duration", "size"]
Keyword = Literal["NULL", "EMPTY", "WHITESPACES_ONLY"]


@dataclass(frozen=True, slots=True)
class Call:
    """A value that is known when the rule is evaluated.

    Args:
        name: ``last`` (earlier metrics), ``index``, ``avg``, ``median``, ``min``, ``max``, ``sum``, ``std``,
            ``abs``, ``+``, ``-``, ``*``, ``/``; ``now`` (the present minute, UTC, with an offset in minutes);
            ``time`` (the present day's time in minutes, and its time zone).
        arguments: numbers as written, or calls.
    """

    name: str
    arguments: tuple[Value, ...] = ()


Value = str | Call


@dataclass(frozen=True, slots=True)
class Condition:
    """What a value is compared with.

    Args:
        operator: one of DQDL's operators.
        kind: how the values are compared; ``text`` too if there are only keywords.
        values: numbers as written (``-1.50``), dates as ``YYYY-MM-DD``, durations in minutes, sizes in bytes,
            strings with their escapes resolved; a regular expression for ``matches``.
        keywords: the keywords among the values; only with ``=``, ``!=``, ``in`` and ``not in``.
    """

    operator: Operator
    kind: Kind
    values: tuple[Value, ...]
    keywords: frozenset[Keyword] = frozenset()

    @property
    def is_fixed(self) -> bool:
        """Whether no value depends on the time or on earlier metrics."""
        return not any(isinstance(value, Call) for value in self.values)

    @property
    def fixed(self) -> tuple[str, ...]:
        """The values of a fixed condition."""
        return tuple(value for value in self.values if isinstance(value, str))


@dataclass(frozen=True, slots=True)
class Check:
    """One rule type with its parameters.

    Args:
        type: the rule type.
        parameters: columns, or what ``rule_types`` says.
        condition: what its value is compared with; None if the type takes none.
        where: a Spark SQL predicate of the rows to check; the others pass.
        threshold: what the share of rows that pass is compared with; None: all rows have to pass.
        tags: other ``with`` tags.
    """

    type: str
    parameters: tuple[str, ...]
    condition: Condition | None = None
    where: str | None = None
    threshold: Condition | None = None
    tags: tuple[tuple[str, str], ...] = ()

    @property
    def column(self) -> str:
        """The first parameter."""
        return self.parameters[0]


@dataclass(frozen=True, slots=True)
class Composite:
    """All of the parts hold (``and``), or at least one of them (``or``)."""

    operator: Literal["and", "or"]
    parts: tuple[Check | Composite, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a table, or an analyzer: a metric that is kept, without a condition.

    Args:
        text: the rule as written, without comments and with single spaces: the reason shown in quarantine.
        place: the line of the project on which the rule begins.
        columns: the columns it needs, each once, in order of appearance, without those of ``wheres``.
        wheres: its ``where`` filters, each a Spark SQL predicate of the user.
        predicate: of a row rule: a Spark SQL boolean expression, TRUE exactly if the row passes, and never
            NULL. Empty for a table rule.
        check: what a table rule checks; None for rules that are not written in DQDL.
        labels: words of the author.
        is_analyzer: whether it only keeps a metric.
    """

    text: str
    place: Place
    columns: tuple[str, ...]
    wheres: tuple[str, ...]
    predicate: str = ""
    check: Check | Composite | None = None
    labels: tuple[tuple[str, str], ...] = ()
    is_analyzer: bool = False


def leaves(check: Check | Composite) -> Iterator[Check]:
    """Yields the simple checks of a check, from left to right."""
    if isinstance(check, Check):
        yield check
    else:
        for part in check.parts:
            yield from leaves(part)
