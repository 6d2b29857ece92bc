"""Reads a table in PostgreSQL at one instant, row by row, as the JSON that PostgreSQL writes.

A column that grows with each change of a row decides where the next reading begins.
A row may have a value out of all order, such as a time in 2056 or a mistyped number. It must not move the
bound past the changes to come:

- A time counts only up to the server's clock. For a type without a zone that is the clock in the time zone of
  the connecting role.
- A number has no clock. The bound lies below the ``_ISLANDS`` greatest groups of values, each more than the
  overlap above the next value. So a few numbers that are far beyond the others leave the bound below the
  others.

Rows beyond the bound are read again at each reading, and so are rows whose value is NULL.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final, LiteralString

from lakesmith.project.definitions import PostgresSource
from lakesmith.sources.formats.text import one_line
from lakesmith.sources.postgres.changes import ReadRow, SameKeys
from lakesmith.sources.postgres.names import THERE, json_value, name_of
from lakesmith.sources.postgres.same_keys import same_keys

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql

_ISLANDS: Final = 4
_FAR: Final = 2
"""A number that is more than so many times the next smaller one is reported."""

_WHOLE: Final = ("smallint", "integer", "bigint")
_FLOATS: Final = ("real", "double precision")
_NUMBERS: Final = (*_WHOLE, *_FLOATS, "numeric")
_CLOCKS: Final[dict[str, LiteralString]] = {
    "timestamp with time zone": "now()",
    "timestamp without time zone": "now() AT TIME ZONE {zone}",
    "date": "CAST(now() AT TIME ZONE {zone} AS date)",
}


@dataclass(frozen=True)
class Growing:
    """The column. ``kind``: its type without a precision; ``zone``: the connecting role's time zone."""

    connection: psycopg.Connection[Any]
    table: PostgresSource
    column: str
    kind: str
    zone: str

    def where(self, bound: str | None) -> sql.Composable:
        """Returns the condition of the rows to read: from ``bound`` on, without a value, or all."""
        condition = "({column} >= {value} OR {column} IS NULL)" if bound and self._can_be(bound) else "true"
        return self._sql(condition, bound)

    def next_bound(self) -> tuple[str | None, str | None]:
        """Returns where the next reading begins (None: at the beginning), and a note on rows beyond it."""
        if self.kind in _NUMBERS:
            return self._bound_of_numbers()
        clock = _CLOCKS.get(self.kind, "NULL")
        greatest = "SELECT CAST(max({column}) - CAST({overlap} AS interval) AS text) FROM {table}"
        counted = " WHERE {column} <= " + clock if self.kind in _CLOCKS else ""
        return self._one(greatest + counted), self._ahead("{column} > " + clock, None, "the server's clock")

    def _bound_of_numbers(self) -> tuple[str | None, str | None]:
        overlap, ahead = Decimal(self._one("SELECT CAST(CAST({overlap} AS numeric) AS text)")), None
        top, bound = self._greatest("true", None), None
        for _ in range(_ISLANDS):
            if top is None:
                break
            bound = top - overlap
            below = self._greatest("{column} < {value}", self._text(bound))
            if below is None or bound - below <= overlap:
                break
            if top > _FAR * below:
                reach = self._text(below)
                ahead = self._ahead("{column} > {value}", reach, f"the others, which reach {reach}")
            top = below
        return (self._text(bound) if bound is not None and bound.is_finite() else None), ahead

    def _greatest(self, condition: LiteralString, value: str | None) -> Decimal | None:
        if self.kind not in _WHOLE:
            condition = "{column} <> 'NaN' AND " + condition
        found = self._one("SELECT CAST(max({column}) AS text) FROM {table} WHERE " + condition, value)
        return None if found is None else Decimal(found)

    def _text(self, value: Decimal) -> str:
        if self.kind in _WHOLE:
            value = value.to_integral_value(ROUND_FLOOR)
        return format(value, "f")

    def _can_be(self, bound: str) -> bool:
        """Whether ``bound`` is not beyond the clock; for a number, whether a row still reaches it."""
        if self.kind in _NUMBERS:
            return bool(self._one("SELECT coalesce(max({column}) >= {value}, true) FROM {table}", bound))
        return self.kind not in _CLOCKS or bool(self._one("SELECT {value} <= " + _CLOCKS[self.kind], bound))

    def _ahead(self, condition: LiteralString, value: str | None, beyond: str) -> str | None:
        """The note on the rows that fulfil the condition; None without any."""
        asked = "SELECT count(*), CAST(max({column}) AS text) FROM {table} WHERE " + condition
        count, greatest = self.connection.execute(self._sql(asked, value)).fetchone() or (0, None)
        if not count:
            return None
        rows = "1 row" if count == 1 else f"{count:,} rows"
        verb = "is" if count == 1 else "are"
        return (
            f"{rows} of {self.table.table} {verb} ahead in {self.column} ({greatest}) of {beyond}: "
            "read again each time, so that no change is missed"
        )

    def _one(self, text: LiteralString, value: str | None = None) -> Any:
        found = self.connection.execute(self._sql(text, value)).fetchone()
        return found[0] if found else None

    def _sql(self, text: LiteralString, value: str | None = None) -> sql.Composed:
        from psycopg import sql

        # So that an index is of use, a number is compared as the greatest type of its family.
        kind = "bigint" if self.kind in _WHOLE else "double precision" if self.kind in _FLOATS else self.kind
        typed = sql.SQL("CAST({} AS {})").format(sql.Literal(value), sql.SQL(kind))
        usual = "1000" if self.kind in _NUMBERS else "10 minutes"
        return sql.SQL(text).format(
            column=sql.Identifier(THERE, self.column),
            table=sql.SQL("{} {}").format(name_of(self.table), sql.Identifier(THERE)),
            zone=sql.Literal(self.zone),
            overlap=sql.Literal(self.table.overlap or usual),
            value=typed,
        )


def growing_of(connection: psycopg.Connection[Any], table: PostgresSource) -> Growing | None:
    """Returns the table's growing column, or None. Call it before setting the session's time zone."""
    from psycopg import sql

    if table.growing is None:
        return None
    statement = sql.SQL(
        "SELECT format_type(CASE WHEN typtype = 'd' THEN typbasetype ELSE atttypid END, NULL),"
        " current_setting('TimeZone')"
        " FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid"
        " WHERE attrelid = {}::regclass AND attname = {}"
    )
    name = name_of(table).as_string(connection)
    found = connection.execute(statement.format(sql.Literal(name), sql.Literal(table.growing))).fetchone()
    # Without such a column PostgreSQL itself refuses the statement that names it.
    kind, zone = found or ("text", "UTC")
    return Growing(connection, table, table.growing, kind, zone)


_CONNECT_SECONDS: Final = 10
_STATEMENT_SECONDS: Final = 600
_ROWS_AT_ONCE: Final = 10_000


@dataclass(frozen=True, slots=True)
class Reading:
    """The rows of a table at one instant.

    ``same``: finds the rows of keys, however written; to be called once the rows are read. ``bound``:
    where the next reading by a growing column begins, None: at the beginning. ``ahead``: a note on rows
    beyond it.
    """

    rows: Iterator[ReadRow]
    same: SameKeys
    bound: str | None = None
    ahead: str | None = None


@contextmanager
def read_table(url: str, table: PostgresSource, bound: str | None) -> Iterator[Reading]:
    """Yields the rows of the table from ``bound`` on, all of one transaction. Raises psycopg.Error."""
    import psycopg
    from psycopg import sql

    with psycopg.connect(url, connect_timeout=_CONNECT_SECONDS) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        connection.execute(f"SET LOCAL statement_timeout = '{_STATEMENT_SECONDS}s'")
        growing = growing_of(connection, table)
        # The settings that format values must not be the ones that an owner of the role has set.
        connection.execute("SET LOCAL timezone = 'UTC'")
        connection.execute("SET LOCAL extra_float_digits = 1")
        same = partial(same_keys, connection, table)
        if growing is None:
            yield Reading(_rows(connection, table, sql.SQL("true")), same)
        else:
            yield Reading(_rows(connection, table, growing.where(bound)), same, *growing.next_bound())


def _rows(
    connection: psycopg.Connection[Any], table: PostgresSource, where: sql.Composable
) -> Iterator[ReadRow]:
    with connection.cursor("lakesmith") as cursor:
        cursor.itersize = _ROWS_AT_ONCE
        cursor.execute(_statement(table, where))
        for key, row in cursor:
            yield ReadRow(key, one_line(row))


def _statement(table: PostgresSource, where: sql.Composable) -> sql.Composed:
    """Key and row of each row as JSON. PostgreSQL would prefer a column to an alias of its name."""
    from psycopg import sql

    parts = [sql.Identifier(f"_lakesmith_{name}") for name in ("key", "row")]
    text = sql.SQL("SELECT row_to_json({})::text, row_to_json({})::text FROM {} {}")
    statement = text.format(*parts, name_of(table), sql.Identifier(THERE))
    for alias, columns in zip(parts, (table.key, table.columns), strict=True):
        listed = sql.SQL(", ").join(json_value(column, table) for column in columns)
        statement += sql.SQL(" CROSS JOIN LATERAL (SELECT {}) {}").format(listed, alias)
    return statement + sql.SQL(" WHERE ") + where
