"""Reads a table in PostgreSQL at one instant, row by row, as the JSON that PostgreSQL itself writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lakesmith.project.definitions import PostgresTable
from lakesmith.sources.postgres.changes import ReadRow

if TYPE_CHECKING:
    import psycopg

_CONNECT_SECONDS: Final = 10
_STATEMENT_SECONDS: Final = 600
_ROWS_AT_ONCE: Final = 10_000
_NUMBERS: Final = ("smallint", "integer", "bigint", "numeric", "real", "double precision")


@dataclass(frozen=True, slots=True)
class Reading:
    """The rows of a table at one instant. ``bound``: where the next reading by a growing column begins, None: at the beginning."""

    rows: Iterator[ReadRow]
    bound: str | None


@contextmanager
def read_table(url: str, table: PostgresTable, bound: str | None) -> Iterator[Reading]:
    """The rows of the table, all of one transaction; those below ``bound`` are left out. Raises psycopg.Error."""
    import psycopg

    with psycopg.connect(url, connect_timeout=_CONNECT_SECONDS) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        connection.execute(f"SET LOCAL statement_timeout = '{_STATEMENT_SECONDS}s'")
        # What a session shows values by must not be what an owner of the role has set.
        connection.execute("SET LOCAL timezone = 'UTC'")
        connection.execute("SET LOCAL extra_float_digits = 1")
        yield Reading(_rows(connection, table, bound), _next_bound(connection, table))


def _rows(connection: psycopg.Connection[Any], table: PostgresTable, bound: str | None) -> Iterator[ReadRow]:
    from psycopg import sql

    statement = sql.SQL("SELECT row_to_json(k)::text, row_to_json(v)::text FROM {} t").format(_name(table))
    for alias, columns in (("k", table.key), ("v", table.columns)):
        listed = sql.SQL(", ").join(sql.Identifier("t", column) for column in columns)
        statement += sql.SQL(" CROSS JOIN LATERAL (SELECT {}) {}").format(listed, sql.Identifier(alias))
    if table.growing is not None and bound is not None:
        kind = sql.SQL(_type(connection, table))  # from PostgreSQL's own catalog
        column = sql.Identifier("t", table.growing)
        statement += sql.SQL(" WHERE {} >= CAST({} AS {})").format(column, sql.Literal(bound), kind)
    with connection.cursor("lakesmith") as cursor:
        cursor.itersize = _ROWS_AT_ONCE
        cursor.execute(statement)
        for key, row in cursor:
            yield ReadRow(key, row)


def _next_bound(connection: psycopg.Connection[Any], table: PostgresTable) -> str | None:
    """The greatest value of the growing column less the overlap, as text."""
    from psycopg import sql

    if table.growing is None:
        return None
    numeric = _type(connection, table).split("(")[0] in _NUMBERS
    overlap = table.overlap or ("1000" if numeric else "10 minutes")
    taken_off = sql.SQL("CAST({} AS {})").format(
        sql.Literal(overlap), sql.SQL("numeric" if numeric else "interval")
    )
    statement = sql.SQL("SELECT CAST(max({}) - {} AS text) FROM {}")
    greatest = statement.format(sql.Identifier(table.growing), taken_off, _name(table))
    found = connection.execute(greatest).fetchone()
    return found[0] if found else None


def _type(connection: psycopg.Connection[Any], table: PostgresTable) -> str:
    from psycopg import sql

    statement = sql.SQL(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = {}::regclass AND attname = {}"
    )
    name = _name(table).as_string(connection)
    found = connection.execute(statement.format(sql.Literal(name), sql.Literal(table.growing))).fetchone()
    # Without such a column PostgreSQL itself says so, of the statement that names it.
    return str(found[0]) if found else "text"


def _name(table: PostgresTable) -> Any:
    from psycopg import sql

    return sql.Identifier(*table.table.split("."))
