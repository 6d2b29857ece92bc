"""Tables read from PostgreSQL, down to silver and its history: each row is there once, as it is there."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

import psycopg
import pytest
from harness import Harness, MakeShop

from lakesmith import Lakehouse
from lakesmith.api.doctor_machine import Check
from lakesmith.sources.postgres.changes import Change, ReadRow
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
        """The lake before its first run. ``type_``: the key's type in PostgreSQL; ``in_lake``: declared."""
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


def test_doctor_names_what_earlier_versions_lost_and_one_command_brings_it_back(desk: Desk) -> None:
    """Their landing files deleted a row whose key was written otherwise, and split documents into rows."""
    shop = desk.opened("numeric", "decimal(12,2)")
    desk.do("INSERT INTO tickets VALUES (1.0, 'a', NULL), (2.0, 'b', NULL)")
    shop.must_run()
    assert not _wrong(shop)
    desk.do("UPDATE tickets SET id = 1.00 WHERE id = 1", "UPDATE tickets SET note = 'c' WHERE id = 2")
    at = datetime(2026, 12, 1, 12, tzinfo=UTC)
    lines = [
        _change("insert", "1.00", '"a"', at),
        _change("update", "2.0", '"c"', at),
        Change("delete", '{"id":1.0}', '{"id":1.0}', None).line(at),
        '{"id": 900, "note": "inside"}',
    ]
    file = shop.root / ".lakesmith/intake/bronze.tickets/postgres/20261201T120000.000000Z.jsonl"
    file.write_text("\n".join(lines))
    shop.must_run()
    assert shop.rows("silver.tickets", "id", "note") == [(Decimal(2), "c"), (Decimal(900), "inside")]
    (wrong,) = _wrong(shop)
    assert (wrong.name, wrong.text) == (
        "bronze.tickets",
        "1 row made of lines of a JSON document that is a value of another row; "
        "1 row deleted when PostgreSQL wrote a key in another way",
    )
    _, _, table, _, path = (wrong.hint or "").partition(": ")[2].split()
    shop.must_run()
    shop.forget(table, path)
    shop.must_run()
    assert shop.rows("silver.tickets", "id", "note") == [(Decimal(1), "a"), (Decimal(2), "c")]
    assert not _wrong(shop)


def _change(kind: str, key: str, note: str, at: datetime) -> str:
    row = ReadRow(f'{{"id":{key}}}', f'{{"id":{key},"note":{note},"payload":null}}')
    return Change(kind, row.key, row.row, row.hash).line(at)


def _wrong(shop: Harness) -> list[Check]:
    return [check for check in Lakehouse(shop.root).doctor().checks if check.name == "bronze.tickets"]
