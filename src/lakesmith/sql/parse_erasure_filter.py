"""Parses the ``--where`` filter of ``erase``: ``customer_id IN (1, 2) AND region = 'N'``.

Only columns and values: those can be kept as a hash, which identifies rows in an old file that is ingested
again.
"""

from collections.abc import Iterator
from itertools import product

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from lakesmith.errors import UsageError
from lakesmith.sql.erasure_filter import ErasureFilter


def parse_erasure_filter(text: str) -> ErasureFilter:
    """Raises UsageError LS258 for anything but equalities and IN lists of values, joined by AND."""
    try:
        where = sqlglot.parse_one(text, read="spark", into=exp.Condition)
    except SqlglotError as error:
        raise _refused(text) from error
    found = dict(_parts(text, where))
    if not found:
        raise _refused(text)
    return ErasureFilter(tuple(found), tuple(product(*found.values())))


def _parts(text: str, where: exp.Expr) -> Iterator[tuple[str, tuple[str, ...]]]:
    seen = set[str]()
    for part in where.flatten() if isinstance(where, exp.And) else [where]:
        name, values = _part(text, part.unnest())
        if name.lower() in seen:
            raise _refused(text)
        seen.add(name.lower())
        yield name, values


def _part(text: str, part: exp.Expr) -> tuple[str, tuple[str, ...]]:
    column = part.this
    if not isinstance(column, exp.Column) or column.table:
        raise _refused(text)
    if isinstance(part, exp.EQ):
        return column.name, (_value(text, part.expression),)
    if isinstance(part, exp.In) and part.expressions:
        return column.name, tuple(dict.fromkeys(_value(text, each) for each in part.expressions))
    raise _refused(text)


def _value(text: str, value: exp.Expr) -> str:
    if isinstance(value, exp.Neg) and isinstance(value.this, exp.Literal) and not value.this.is_string:
        return f"-{value.this.this}"
    if isinstance(value, exp.Literal):
        return str(value.this)
    if isinstance(value, exp.Cast) and isinstance(value.this, exp.Literal):
        # DATE '2026-01-31'
        return str(value.this.this)
    raise _refused(text)


def _refused(text: str) -> UsageError:
    return UsageError.of(
        "LS258",
        "this is not a filter of columns and their values",
        None,
        "columns and their values: \"email = 'a@b.c'\" or \"customer_id IN (1, 2) AND region = 'N'\"",
        text,
        "find the persons by a query first, and name their values here",
    )
