"""Tables read from PostgreSQL, down to silver and its history: each row is there once, as PostgreSQL has it."""

from collections.abc import Iterator
from decimal import Decimal

import psycopg
import pytest
from harness import Harness, MakeShop

from postgres_server import do, running

TICKETS = {
    "tables/bronze/tickets.yaml": """
        source: {postgres: {connection: DESK, table: tickets, key: [id], refresh: 0 seconds}}
        columns: {id: ID, note: string, payload: string}
        """,
    "tables/silver/tickets.yaml": """
        query: SELECT id, note, payload, _change, _read_at FROM bronze.tickets
        key: [id]
        latest_by: [_read_at]
        delete_when: _change = 'delete'
        """,
    "tables/silver/versions.yaml": """
        query: SELECT id, note, _change, _read_at FROM bronze.tickets
        key: [id]
        latest_by: [_read_at]
        delete_when: _change = 'delete'
        history: type2
        """,
}
PRETTY = '[\n{"id": 900, "note": "inside"},\r\n{"id": 901, "note": "inside"}\n]'


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with running() as url:
        yield url


@pytest.fixture
def desk(make_shop: MakeShop, postgres: str, monkeypatch: pytest.MonkeyPatch) -> "Desk":
    monkeypatch.setenv("DESK", postgres)
    return Desk(make_shop, postgres)


class Desk:
    """A table of tickets in PostgreSQL, and a lake that reads it."""

    def __init__(self, make_shop: MakeShop, url: str) -> None:
        self._make_shop, self._url = make_shop, url

    def opened(self, type_: str, in_lake: str) -> Harness:
        """The lake before its first run. ``type_``: the type of the key in PostgreSQL; ``in_lake``: declared."""
        self.do(
            "DROP TABLE IF EXISTS tickets",
            f"CREATE TABLE tickets (id {type_} PRIMARY KEY, note text, payload json)",
        )
        files = {path: text.replace("ID", f'"{in_lake}"') for path, text in TICKETS.items()}
        return self._make_shop(files)

    def do(self, *statements: str) -> None:
        do(self._url, *statements)


def test_a_document_over_several_lines_is_one_value_of_one_row(desk: Desk, postgres: str) -> None:
    shop = desk.opened("bigint", "bigint")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("INSERT INTO tickets VALUES (1, 'a', %s), (2, 'b', NULL)", [PRETTY])
    shop.must_run()
    assert shop.rows("silver.tickets", "id", "payload") == [(1, PAYLOAD), (2, None)]
    assert shop.quarantine("bronze.tickets") == []
    shop.must_verify("silver.tickets")


PAYLOAD = '[{"id":900,"note":"inside"},{"id":901,"note":"inside"}]'

KEYS = [
    ("numeric", "decimal(12,2)", "1.0", "UPDATE tickets SET id = 1.00"),
    ("numeric", "decimal(12,2)", "1.0", "ALTER TABLE tickets ALTER id TYPE numeric(12,2)"),
    ("numeric", "bigint", "1", "UPDATE tickets SET id = 1.0"),
    ("double precision", "double", "0", "UPDATE tickets SET id = '-0'"),
    ("real", "float", "0.1", "ALTER TABLE tickets ALTER id TYPE double precision"),
    ("char(3)", "string", "'Al'", "ALTER TABLE tickets ALTER id TYPE char(5)"),
]


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("type_", "in_lake", "key", "rewrite"), KEYS, ids=[f"{each[0]} {each[3]}" for each in KEYS]
)
def test_a_row_whose_key_is_written_in_another_way_stays(
    desk: Desk, type_: str, in_lake: str, key: str, rewrite: str
) -> None:
    shop = desk.opened(type_, in_lake)
    desk.do(f"INSERT INTO tickets VALUES ({key}, 'a', NULL)")
    shop.must_run()
    desk.do(rewrite, "UPDATE tickets SET note = 'b'")
    shop.must_run()
    assert shop.rows("silver.tickets", "note") == [("b",)]
    now = shop.spark.sql("SELECT note FROM lake.silver.versions WHERE is_current").collect()
    assert [row.note for row in now] == ["b"]
    shop.must_verify("silver.tickets", "silver.versions")
    desk.do("DELETE FROM tickets")
    shop.must_run()
    assert shop.rows("silver.tickets", "note") == []
    shop.must_verify("silver.tickets", "silver.versions")


def test_a_key_that_is_written_in_another_way_is_no_delete(desk: Desk) -> None:
    shop = desk.opened("numeric", "decimal(12,2)")
    desk.do("INSERT INTO tickets VALUES (1.0, 'a', NULL)")
    shop.must_run()
    desk.do("UPDATE tickets SET id = 1.00")
    shop.must_run()
    assert shop.rows("bronze.tickets", "id", "_change", "_row_key") == [
        (Decimal("1.00"), "insert", '{"id":1.0}'),
        (Decimal("1.00"), "update", '{"id":1.0}'),
    ]
