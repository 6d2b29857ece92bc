"""A table in PostgreSQL and its values, as statements name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lakesmith.project.definitions import PostgresSource

if TYPE_CHECKING:
    from psycopg import sql

THERE: Final = "_lakesmith_there"
"""The alias of the table that is read."""


def name_of(table: PostgresSource) -> sql.Identifier:
    from psycopg import sql

    return sql.Identifier(*table.table.split("."))


def json_value(column: str, table: PostgresSource) -> sql.Composable:
    """Returns a column's value for JSON; bytes in Base64 in one line, as JSON has them elsewhere."""
    from psycopg import sql

    value = sql.Identifier(THERE, column)
    if column not in table.binary:
        return value
    text = sql.SQL("translate(encode({}, 'base64'), E'\\n', '') AS {}")
    return text.format(value, sql.Identifier(column))
