"""Finds the rows of keys that PostgreSQL wrote earlier, compared as the columns' types compare them.

The texts of one key may differ: 1.0 and 1.00, 0 and -0, ``Ann`` and ``ann`` of type citext, an interval of 24
hours and one of a day, a text and the same text padded. PostgreSQL reads the earlier text as the column's
present type. Only types that can be a key there have an equality that counts (``record_eq``): of ``json``,
which has none, the text is the key; for a ``box``, ``=`` compares areas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lakesmith.project.definitions import PostgresSource
from lakesmith.sources.postgres.changes import NotUniqueError
from lakesmith.sources.postgres.names import THERE, json_value, name_of

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql

_KEYS_AT_ONCE: Final = 50_000
_MOST_REFUSED: Final = 2_000
"""If more statements are refused, the remaining keys beside refused ones are known by their texts: the
table has other keys now. A row that is there wins in the lake all the same."""
_KEY: Final = "_lakesmith_key"
_NOW: Final = "_lakesmith_now"
_THEN: Final = "_lakesmith_then"
_GIVEN: Final = "_lakesmith_given"
_TYPED: Final = "_lakesmith_typed"


def same_keys(
    connection: psycopg.Connection[Any], table: PostgresSource, keys: Sequence[str]
) -> dict[str, str]:
    """Returns, for those of ``keys`` (JSON) that equal the key of a row, the key as it is written there.

    Raises NotUniqueError for a key that equals those of two rows, psycopg.Error.
    """
    search, found = _Search(connection, table), dict[str, str]()
    for begin in range(0, len(keys), _KEYS_AT_ONCE):
        found |= search.found(keys[begin : begin + _KEYS_AT_ONCE])
    return found


@dataclass
class _Search:
    connection: psycopg.Connection[Any]
    table: PostgresSource
    refused: int = 0

    def found(self, keys: Sequence[str]) -> dict[str, str]:
        from psycopg import errors

        try:
            with self.connection.transaction():
                rows = self.connection.execute(_statement(self.table, keys)).fetchall()
        except errors.UndefinedFunction:
            return {}
        except (errors.DataError, errors.IntegrityError):
            # A text that is no value of the column's present type: no row has it.
            return self._found_in_halves(keys)
        found: dict[str, str] = {}
        for number, there in rows:
            if found.setdefault(keys[number - 1], there) != there:
                raise NotUniqueError(there)
        return found

    def _found_in_halves(self, keys: Sequence[str]) -> dict[str, str]:
        self.refused += 1
        if len(keys) == 1 or self.refused > _MOST_REFUSED:
            return {}
        middle = len(keys) // 2
        return self.found(keys[:middle]) | self.found(keys[middle:])


def _statement(table: PostgresSource, keys: Sequence[str]) -> sql.Composed:
    from psycopg import sql

    now = [sql.Identifier(THERE, column) for column in table.key]
    then = [_typed(column, table) for column in table.key]
    comma = sql.SQL(", ")
    text = sql.SQL(
        "SELECT {given}.number, row_to_json({key})::text"
        " FROM json_array_elements({keys}) WITH ORDINALITY AS {given}(key, number)"
        " CROSS JOIN LATERAL json_populate_record(NULL::{table}, {given}.key) AS {typed}"
        " JOIN {table} AS {there} ON {equal}"
        " CROSS JOIN LATERAL (SELECT {values}) AS {key}"
        " CROSS JOIN LATERAL (SELECT {now}) AS {now_row}"
        " CROSS JOIN LATERAL (SELECT {then}) AS {then_row}"
        " WHERE record_eq({now_row}, {then_row})"
    )
    return text.format(
        keys=sql.Literal(f"[{','.join(keys)}]"),
        table=name_of(table),
        equal=sql.SQL(" AND ").join(sql.SQL("{} = {}").format(*pair) for pair in zip(now, then, strict=True)),
        values=comma.join(json_value(column, table) for column in table.key),
        now=comma.join(now),
        then=comma.join(then),
        given=sql.Identifier(_GIVEN),
        typed=sql.Identifier(_TYPED),
        there=sql.Identifier(THERE),
        key=sql.Identifier(_KEY),
        now_row=sql.Identifier(_NOW),
        then_row=sql.Identifier(_THEN),
    )


def _typed(column: str, table: PostgresSource) -> sql.Composable:
    """An earlier value as a value of the column's type."""
    from psycopg import sql

    if column in table.binary:
        text = sql.SQL("decode({}.key ->> {}, 'base64')")
        return text.format(sql.Identifier(_GIVEN), sql.Literal(column))
    return sql.Identifier(_TYPED, column)
