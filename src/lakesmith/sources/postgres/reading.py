"""Reads a table in PostgreSQL at one instant, row by row, as the JSON that PostgreSQL writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lakesmith.project.definitions import PostgresSource
from lakesmith.sources.postgres.changes import ReadRow
from lakesmith.sources.postgres.growing import THERE, growing_of, name_of

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql

_CONNECT_SECONDS: Final = 10
_STATEMENT_SECONDS: Final = 600
_ROWS_AT_ONCE: Final = 10_000


@dataclass(frozen=True, slots=True)
class Reading:
    """The rows of a table at one instant.

    ``bound``: where the next reading by a growing column begins, None: at the beginning. ``ahead``: a note on
    rows beyond it.
    """

    rows: Iterator[ReadRow]
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
        if growing is None:
            yield Reading(_rows(connection, table, sql.SQL("true")))
        else:
            yield Reading(_rows(connection, table, growing.where(bound)), *growing.next_bound())


def _rows(
    connection: psycopg.Connection[Any], table: PostgresSource, where: sql.Composable
) -> Iterator[ReadRow]:
    with connection.cursor("lakesmith") as cursor:
        cursor.itersize = _ROWS_AT_ONCE
        cursor.execute(_statement(table, where))
        for key, row in cursor:
            yield ReadRow(key, row)


def _statement(table: PostgresSource, where: sql.Composable) -> sql.Composed:
    """Key and row of each row as JSON. An alias must not be the name of a column, which PostgreSQL would
    take instead."""
    from psycopg import sql

    parts = [sql.Identifier(f"_lakesmith_{name}") for name in ("key", "row")]
    text = sql.SQL("SELECT row_to_json({})::text, row_to_json({})::text FROM {} {}")
    statement = text.format(*parts, name_of(table), sql.Identifier(THERE))
    for alias, columns in zip(parts, (table.key, table.columns), strict=True):
        listed = sql.SQL(", ").join(_value(column, table) for column in columns)
        statement += sql.SQL(" CROSS JOIN LATERAL (SELECT {}) {}").format(listed, alias)
    return statement + sql.SQL(" WHERE ") + where


def _value(column: str, table: PostgresSource) -> sql.Composable:
    """A column's value; bytes in Base64 in one line, as JSON has them elsewhere."""
    from psycopg import sql

    value = sql.Identifier(THERE, column)
    if column not in table.binary:
        return value
    text = sql.SQL("translate(encode({}, 'base64'), E'\\n', '') AS {}")
    return text.format(value, sql.Identifier(column))
