"""A row is known by its key as PostgreSQL compares it, however PostgreSQL writes the key."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lakesmith.errors import Place, SourceError
from lakesmith.project.definitions import PostgresSource, TableName
from lakesmith.sources.postgres.fetch import Fetch, fetch
from landings import products_source
from postgres_server import do

Told = list[tuple[str, Any, str | None]]


@dataclass
class Lake:
    """What a lake has of the table ``keyed``: of each row the newest line, by the key of its lines."""

    url: str
    folder: Path
    table: PostgresSource
    now: datetime = datetime(2026, 11, 23, 12, tzinfo=UTC)
    taken: set[str] = field(default_factory=set)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)

    def take(self) -> Told:
        """Reads the table; the new lines in their order: kind, key as it is written, note."""
        self.now += timedelta(minutes=1)
        task = Fetch(TableName("bronze", "keyed"), self.table, self.folder, frozenset(self.taken), self.keys)
        fetch(task, {"SHOP": self.url}, self.now)
        lines: Told = []
        for file in sorted(self.folder.glob("*.jsonl")):
            if file.name not in self.taken:
                self.taken.add(file.name)
                lines += [self._taken(json.loads(line, parse_float=str)) for line in file.open()]
        return lines

    def _taken(self, line: dict[str, Any]) -> tuple[str, Any, str | None]:
        if line["_change"] == "delete":
            del self.rows[line["_row_key"]]
        else:
            assert line["_change"] == "update" or line["_row_key"] not in self.rows
            self.rows[line["_row_key"]] = line
        return line["_change"], line["k"], line.get("note")

    def keys(self) -> Mapping[str, str | None]:
        return {key: row["_row_hash"] for key, row in self.rows.items()}

    def forget(self) -> None:
        """The machine that read last is gone: what was read is known from the lake alone."""
        (self.folder / ".position.json").unlink()


@pytest.fixture
def lake(postgres: str, tmp_path: Path) -> Lake:
    source = products_source(
        Place("tables/bronze/keyed.yaml", 2), table="keyed", columns=("k", "note"), key=("k",)
    )
    return Lake(postgres, tmp_path / "intake", source)


def make(lake: Lake, type_: str, *keys: str, constraint: str = "UNIQUE") -> None:
    """The table with these keys, each a literal of SQL."""
    do(
        lake.url,
        "DROP TABLE IF EXISTS keyed CASCADE",
        f"CREATE TABLE keyed (k {type_} {constraint}, note text)",
        *(f"INSERT INTO keyed VALUES ({key}, 'a')" for key in keys),
    )


REWRITTEN = [
    ("numeric", "1.0", "1.00"),
    ("numeric", "'NaN'", "'NaN'"),
    ("double precision", "0", "'-0'"),
    ("real", "'-0'", "0"),
    ("interval", "'24 hours'", "'1 day'"),
    ("jsonb", """'{"a": 1.0}'""", """'{"a": 1.00}'"""),
    ("numeric[]", "'{1.0,2}'", "'{1,2.00}'"),
    ("numrange", "'[1.0,2)'", "'[1.00,2)'"),
    ("timestamptz", "'2026-01-01 12:00+01'", "'2026-01-01 11:00Z'"),
    ("uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"),
    ("character varying", "'a'", "'a'"),
    ("pair", "'(1.0,x)'", "'(1.00,x)'"),
    ("amount", "1.0", "1.00"),
]


@pytest.fixture(scope="module", autouse=True)
def types(postgres: str) -> None:
    do(
        postgres,
        "CREATE TYPE pair AS (n numeric, t text)",
        "CREATE DOMAIN amount AS numeric CHECK (VALUE < 1000)",
    )


@pytest.mark.parametrize("is_known", [True, False], ids=["known here", "known from the lake"])
@pytest.mark.parametrize(("type_", "before", "after"), REWRITTEN, ids=[each[0] for each in REWRITTEN])
def test_a_key_that_is_written_in_another_way_is_the_same_row(
    lake: Lake, type_: str, before: str, after: str, is_known: bool
) -> None:
    make(lake, type_, before)
    assert [change for change, *_ in lake.take()] == ["insert"]
    do(lake.url, f"UPDATE keyed SET k = {after}, note = 'b'")
    assert [(change, note) for change, _, note in lake.take()] == [("update", "b")]
    if not is_known:
        lake.forget()
    assert lake.take() == []
    do(lake.url, "UPDATE keyed SET note = 'c'")
    assert [(change, note) for change, _, note in lake.take()] == [("update", "c")]
    do(lake.url, "DELETE FROM keyed")
    assert [change for change, *_ in lake.take()] == ["delete"]
    assert lake.rows == {}


def test_a_column_that_gets_another_type_keeps_its_rows(lake: Lake) -> None:
    make(lake, "numeric", "1.0", "2", "3.50")
    lake.take()
    do(lake.url, "ALTER TABLE keyed ALTER k TYPE numeric(12,2)", "DELETE FROM keyed WHERE k = 2")
    assert sorted(lake.take()) == [("delete", 2, None), ("update", "1.00", "a")]
    do(lake.url, "ALTER TABLE keyed ALTER k TYPE float8", "INSERT INTO keyed VALUES (4, 'new')")
    lake.forget()
    assert lake.take() == [("update", 1, "a"), ("update", "3.5", "a"), ("insert", 4, "new")]
    assert len(lake.rows) == 3


def test_keys_that_are_no_values_of_the_new_type_are_deleted(lake: Lake) -> None:
    make(lake, "text", "'1'", "'x'", "'2'", "'y'", "'3'")
    lake.take()
    do(
        lake.url,
        "DELETE FROM keyed WHERE k IN ('x', 'y')",
        "ALTER TABLE keyed ALTER k TYPE integer USING CAST(k AS integer)",
    )
    told = lake.take()
    assert sorted(told, key=str) == [
        ("delete", "x", None), ("delete", "y", None),
        ("update", 1, "a"), ("update", 2, "a"), ("update", 3, "a"),
    ]  # fmt: skip


def test_a_table_whose_keys_are_all_of_another_type_is_read_soon(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search for single keys that the new type refuses ends."""
    monkeypatch.setattr("lakesmith.sources.postgres.same_keys._MOST_REFUSED", 10)
    make(lake, "text", *(f"'x{number}'" for number in range(50)))
    lake.take()
    do(lake.url, "ALTER TABLE keyed ALTER k TYPE integer USING CAST(substr(k, 2) AS integer)")
    told = [change for change, *_ in lake.take()]
    assert told == ["delete"] * 50 + ["insert"] * 50


def test_a_key_that_the_lake_has_as_a_text_is_deleted_as_it_was_written(lake: Lake) -> None:
    """To the lake the padded texts are two keys: the one goes before the other comes."""
    lake.table = replace(lake.table, text_keys=("k",))
    make(lake, "char(3)", "'Al'")
    lake.take()
    do(lake.url, "ALTER TABLE keyed ALTER k TYPE char(5)")
    assert lake.take() == [("delete", "Al ", None), ("update", "Al   ", "a")]
    assert lake.take() == []


def test_rows_whose_values_are_equal_by_another_key_stay_apart(lake: Lake) -> None:
    make(lake, "numeric", "1.0", "2.0")
    lake.take()
    do(lake.url, "DELETE FROM keyed WHERE k = 1", "INSERT INTO keyed VALUES (3.0, 'new')")
    assert lake.take() == [("delete", "1.0", None), ("insert", "3.0", "new")]


def test_two_rows_whose_keys_are_written_in_two_ways_are_an_error(lake: Lake) -> None:
    make(lake, "numeric", "1", constraint="")
    lake.take()
    do(lake.url, "UPDATE keyed SET k = 1.0", "INSERT INTO keyed VALUES (1.00, 'twin')")
    with pytest.raises(SourceError, match="two rows of keyed have one key"):
        lake.take()


def test_a_type_that_has_no_equality_is_known_by_its_text(lake: Lake) -> None:
    make(lake, "json", """'{"a": 1}'""", constraint="")
    lake.take()
    do(lake.url, """UPDATE keyed SET k = '{"a":1}'""")
    assert [change for change, *_ in lake.take()] == ["delete", "insert"]
