"""What is asked of a table's rows: conditions by column, an order and a page, as an address has them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from urllib.parse import quote, urlencode

from lakesmith.catalog.state import TableState
from lakesmith.errors import UsageError
from lakesmith.project.definitions import TableName
from lakesmith.quoting import literal, quoted_if_odd

ROWS_A_PAGE: Final = 100
OPERATORS: Final = {
    "eq": "=", "ne": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥", "has": "contains", "null": "is empty",
    "some": "is not empty",
}  # fmt: skip
_SQL: Final = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
WITHOUT_VALUE: Final = frozenset({"null", "some"})


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on a column: ``operator`` is a key of ``OPERATORS``, ``value`` its text as it was typed."""

    column: str
    operator: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The rows that are asked for. ``as_of``: a tag, time or snapshot; ``sort``: a column, with ``-`` before
    it for descending; ``page`` counts from 1."""

    as_of: str | None = None
    filters: tuple[Filter, ...] = ()
    sort: str = ""
    page: int = 1

    @property
    def is_plain(self) -> bool:
        """Whether the rows are wanted as they lie in the files."""
        return not self.filters and not self.sort


Column = tuple[str, str, bool]
"""A column's name, its type in Spark SQL, and whether its values can be compared and sorted."""


def columns_of(state: TableState, snapshot: int | None) -> tuple[Column, ...]:
    """Returns the columns at a snapshot, else the present ones, with their types in Spark SQL."""
    found = state.columns_at(snapshot) or state.columns
    return tuple((each.name, each.type, is_simple(each.type)) for each in found)


def is_simple(kind: str) -> bool:
    """Returns whether values of a type can be compared and sorted."""
    return kind.partition("(")[0] in _PARSERS


def require_fit(columns: Sequence[Column], each: Filter) -> None:
    """Raises UsageError LS276 unless a filter can be applied."""
    kind = next((kind for name, kind, _ in columns if name == each.column), None)
    if kind is None:
        raise misfit(f"there is no column {each.column!r} at this time", columns)
    if each.operator not in OPERATORS:
        raise misfit(f"there is no comparison {each.operator!r}", columns)
    if each.operator not in WITHOUT_VALUE and not is_simple(kind):
        raise misfit(f"{each.column} is a {kind}, which can only be empty or not empty", columns)
    if each.operator == "has" and kind != "string":
        raise misfit(f"{each.column} is a {kind}: `contains` is for text", columns)
    if each.operator in _SQL:
        value_of(kind, each)


def misfit(what: str, columns: Sequence[Column]) -> UsageError:
    """Returns the error of a question that does not fit the columns."""
    named = ", ".join(f"{name} ({kind})" for name, kind, _ in columns[:20])
    return UsageError.of("LS276", what, None, f"columns of the table: {named}")


def value_of(kind: str, each: Filter) -> Any:
    """Returns the value of a filter on a column of this type. Raises UsageError LS276."""
    try:
        return _PARSERS[kind.partition("(")[0]](each.value if kind == "string" else each.value.strip())
    except (ValueError, OverflowError, InvalidOperation) as error:
        what = f"{each.value!r} is no {kind}, as {each.column} is"
        example = _EXAMPLES.get(kind.partition("(")[0], "a number")
        raise UsageError.of("LS276", what, None, example) from error


_EXAMPLES: Final = {
    "boolean": "true or false",
    "date": "a date: 2026-01-31",
    "int": "a whole number",
    "bigint": "a whole number",
    "timestamp_ntz": "a time without a zone: 2026-01-31T12:30:00",
    "timestamp": "a time, in UTC unless it has a zone: 2026-01-31T12:30:00+01:00",
}


def _whole(text: str) -> int:
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise OverflowError(text)
    return number


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _decimal(text: str) -> Decimal:
    found = Decimal(text)
    if not found.is_finite() or found.adjusted() > 37 or -int(found.as_tuple().exponent) > 37:
        raise OverflowError(text)
    return found


def _without_zone(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is not None:
        raise ValueError(text)
    return found


def _with_zone(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


_PARSERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "int": _whole,
    "bigint": _whole,
    "boolean": _boolean,
    "float": float,
    "double": float,
    "decimal": _decimal,
    "date": date.fromisoformat,
    "timestamp_ntz": _without_zone,
    "timestamp": _with_zone,
    "string": str,
}


def command_of(name: TableName, wanted: Wanted, snapshot: int | None) -> str:
    """Returns the command that shows the same rows, computed by Spark."""
    sql = f"SELECT * FROM {quoted_if_odd(name.layer)}.{quoted_if_odd(name.name)}"
    if wanted.filters:
        sql += " WHERE " + " AND ".join(map(_condition, wanted.filters))
    if wanted.sort:
        column = quoted_if_odd(wanted.sort.removeprefix("-"))
        sql += f" ORDER BY {column}{' DESC' if wanted.sort.startswith('-') else ''} NULLS LAST"
    as_of = f" --as-of {snapshot}" if snapshot is not None else ""
    return f"lakesmith query {shlex.quote(f'{sql} LIMIT {ROWS_A_PAGE}')}{as_of}"


def _condition(each: Filter) -> str:
    column = quoted_if_odd(each.column)
    if each.operator in WITHOUT_VALUE:
        return f"{column} IS {'NOT ' if each.operator == 'some' else ''}NULL"
    if each.operator == "has":
        return f"contains(lower({column}), lower({literal(each.value)}))"
    return f"{column} {_SQL.get(each.operator, '=')} {literal(each.value)}"


def wanted_by(query: Sequence[tuple[str, str]]) -> Wanted:
    """Returns what the query of an address asks for; conditions are triples of column, is and value."""
    given, filters = dict(query), list[Filter]()
    for name, value in query:
        if name == "column":
            filters.append(Filter(value, "eq"))
        elif filters and name == "is":
            filters[-1] = replace(filters[-1], operator=value)
        elif filters and name == "value":
            filters[-1] = replace(filters[-1], value=value)
    page = given.get("page", "1")
    return Wanted(
        given.get("as_of") or None,
        tuple(each for each in filters if each.column),
        given.get("sort", ""),
        max(1, int(page)) if page.isascii() and page.isdecimal() and len(page) < 10 else 1,
    )


def address_of(name: str, wanted: Wanted, **changes: Any) -> str:
    """Returns the address of a table's rows that asks for the same, but for the changes."""
    now = replace(wanted, **changes)
    parts = [("as_of", now.as_of or "")]
    for each in now.filters:
        parts += [("column", each.column), ("is", each.operator), ("value", each.value)]
    parts += [("sort", now.sort), ("page", str(now.page) if now.page > 1 else "")]
    query = urlencode([pair for pair in parts if pair[1] or pair[0] == "value"])
    return f"/t/{quote(name)}/rows" + (f"?{query}" if query else "")
