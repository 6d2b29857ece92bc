"""What changed in a real PostgreSQL becomes landing files, once."""

import base64
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from lakesmith.errors import Place, SourceError
from lakesmith.project.definitions import PostgresSource, TableName
from lakesmith.sources.postgres.fetch import Fetch, fetch, require_readable
from lakesmith.sources.postgres.position import notes_of
from landings import products_source
from postgres_server import do

COLUMNS = ("id", "name", "price")
PLACE = Place("tables/bronze/products.yaml", 2)


@dataclass
class Reader:
    """Takes the landing files as a batch does, and keeps what a reader of the lake would make of them."""

    url: str
    folder: Path
    table: PostgresSource
    taken: set[str] = field(default_factory=set)
    lines: list[dict[str, Any]] = field(default_factory=list)
    now: datetime = datetime(2026, 11, 23, 12, tzinfo=UTC)
    forgotten: int = 0

    def fetch(self, connection: str | None = None) -> None:
        """One look, a minute after the one before."""
        self.now += timedelta(minutes=1)
        task = Fetch(
            TableName("bronze", "products"),
            self.table,
            self.folder,
            frozenset(self.taken),
            self.keys,
            self.forgotten,
        )
        fetch(task, {"SHOP": self.url if connection is None else connection}, self.now)

    def take(self) -> list[tuple[str, Any]]:
        """Fetches and takes; the kinds and ids of the new lines."""
        return sorted((line["_change"], line["id"]) for line in self.new_lines())

    def new_lines(self) -> list[dict[str, Any]]:
        """Fetches and takes; the new lines, which end as a batch's reader has it."""
        self.fetch()
        found = []
        for file in sorted(self.folder.glob("*.jsonl")):
            if file.name not in self.taken:
                self.taken.add(file.name)
                found += [json.loads(line) for line in file.read_bytes().splitlines()]
        self.lines += found
        return found

    def keys(self) -> Mapping[str, str | None]:
        return {json.dumps({"id": number}).replace(" ", ""): None for number in self.rows()}

    def rows(self) -> dict[Any, tuple[Any, ...]]:
        """The newest row of each id, by the order in which they were seen."""
        found: dict[Any, tuple[Any, ...]] = {}
        for line in sorted(self.lines, key=lambda line: line["_read_at"]):
            found.pop(line["id"], None)
            if line["_change"] != "delete":
                found[line["id"]] = tuple(line[name] for name in COLUMNS)
        return found


@pytest.fixture
def reader(postgres: str, tmp_path: Path) -> Reader:
    do(
        postgres,
        "DROP TABLE IF EXISTS products",
        "CREATE TABLE products (id int PRIMARY KEY, name text, price numeric(10,2), updated_at timestamptz"
        " DEFAULT now())",
        "INSERT INTO products VALUES (1, 'pen', 1.50), (2, 'ink', 12.00)",
    )
    return Reader(postgres, tmp_path / "intake", products_source(PLACE, columns=COLUMNS))


def test_rows_that_come_change_and_go_are_told_once(reader: Reader) -> None:
    assert reader.take() == [("insert", 1), ("insert", 2)]
    assert reader.take() == []
    do(reader.url, "UPDATE products SET price = 2 WHERE id = 1", "DELETE FROM products WHERE id = 2")
    assert reader.take() == [("delete", 2), ("update", 1)]
    do(reader.url, "INSERT INTO products VALUES (2, 'ink', 12.00)")
    assert reader.take() == [("insert", 2)]
    assert reader.take() == []


def test_a_number_keeps_its_digits(reader: Reader) -> None:
    do(
        reader.url,
        "ALTER TABLE products ALTER price TYPE numeric",
        "UPDATE products SET price = 12345678901234567890.10 WHERE id = 1",
    )
    reader.fetch()
    (file,) = reader.folder.glob("*.jsonl")
    assert '"price":12345678901234567890.10' in file.read_text()


def test_bytes_come_as_json_has_them_elsewhere(reader: Reader) -> None:
    """In Base64 and one line, where they are declared as binary; in a key too."""
    long = bytes(range(256))
    do(
        reader.url,
        "ALTER TABLE products ADD b bytea",
        f"UPDATE products SET b = '\\x{long.hex()}' WHERE id = 1",
    )
    reader.table = replace(reader.table, columns=("id", "b"), key=("id", "b"), binary=("b",))
    reader.fetch()
    (file,) = reader.folder.glob("*.jsonl")
    lines = sorted(
        (json.loads(line) for line in file.read_text().splitlines()), key=lambda line: int(line["id"])
    )
    assert base64.b64decode(lines[0]["b"], validate=True) == long
    assert json.loads(lines[0]["_row_key"])["b"] == lines[0]["b"] and lines[1]["b"] is None


PRETTY = """[
{"id": 900, "name": "inside"},\r
{"id": 901, "name": "\u2028 a line that no reader ends\x85"}
]"""


def test_a_document_over_several_lines_stays_in_its_row(reader: Reader) -> None:
    """PostgreSQL keeps the text of ``json`` as it came, and embeds it in the row."""
    do(reader.url, "ALTER TABLE products ADD payload json")
    with psycopg.connect(reader.url, autocommit=True) as connection:
        connection.execute("UPDATE products SET payload = %s WHERE id = 1", [PRETTY])
    reader.table = replace(reader.table, columns=("id", "payload"))
    assert reader.take() == [("insert", 1), ("insert", 2)]
    (line,) = (line for line in reader.lines if line["id"] == 1)
    assert line["payload"] == json.loads(PRETTY)


def test_a_key_with_a_document_over_several_lines_is_deleted_in_one(reader: Reader) -> None:
    do(reader.url, "ALTER TABLE products ADD payload json", "UPDATE products SET payload = '{\n}'")
    reader.table = replace(reader.table, columns=("id", "payload"), key=("id", "payload"))
    reader.take()
    do(reader.url, "DELETE FROM products WHERE id = 1")
    assert reader.take() == [("delete", 1)]


def test_nothing_is_read_while_a_file_waits(reader: Reader) -> None:
    reader.fetch()
    do(reader.url, "DELETE FROM products")
    reader.fetch()
    assert len(list(reader.folder.glob("*.jsonl"))) == 1
    assert reader.take() == [("insert", 1), ("insert", 2)]
    assert reader.take() == [("delete", 1), ("delete", 2)]


def test_files_that_were_taken_are_removed(reader: Reader) -> None:
    reader.take()
    reader.take()
    assert not list(reader.folder.glob("*.jsonl"))


def test_it_is_not_read_again_before_its_time(reader: Reader) -> None:
    reader.table = replace(reader.table, refresh_seconds=90.0)
    reader.take()
    do(reader.url, "DELETE FROM products")
    assert reader.take() == []
    assert reader.take() == [("delete", 1), ("delete", 2)]


@pytest.mark.parametrize("lost", ["folder", "rolled back", "not saved"])
def test_what_was_read_is_made_anew_from_the_lake(reader: Reader, lost: str) -> None:
    """So that a delete is told even where nobody remembers what was there."""
    reader.take()
    do(reader.url, "INSERT INTO products VALUES (3, 'cap', 1)")
    before = (reader.folder / ".position.json").read_bytes()
    reader.take()
    do(reader.url, "DELETE FROM products WHERE id = 1")
    if lost == "folder":
        (reader.folder / ".position.json").unlink()
    elif lost == "not saved":
        (reader.folder / ".position.json").write_bytes(before)
    else:
        name = max(reader.taken)
        reader.taken.remove(name)
        reader.lines = [line for line in reader.lines if line["id"] != 3]
        (reader.folder / name).unlink(missing_ok=True)
    assert ("delete", 1) in reader.take()
    assert sorted(reader.rows()) == [2, 3]
    assert reader.take() == []


def test_rows_of_a_file_that_was_forgotten_are_told_again(reader: Reader) -> None:
    """They were taken out of the lake by hand, and what was read before says that they are there."""
    reader.take()
    forgotten = max(reader.taken)
    do(reader.url, "INSERT INTO products VALUES (3, 'cap', 1)")
    assert reader.take() == [("insert", 3)]
    reader.taken.remove(forgotten)
    reader.lines = [line for line in reader.lines if line["id"] == 3]
    reader.forgotten = 1
    assert reader.take() == [("insert", 1), ("insert", 2), ("update", 3)]
    assert reader.take() == []


def test_a_clock_that_was_set_back_leaves_the_order(reader: Reader) -> None:
    reader.take()
    reader.now -= timedelta(days=2)
    do(reader.url, "UPDATE products SET name = 'quill' WHERE id = 1")
    reader.take()
    assert reader.rows()[1][1] == "quill"


def test_two_rows_of_one_key_are_an_error(reader: Reader) -> None:
    do(
        reader.url,
        "ALTER TABLE products DROP CONSTRAINT products_pkey",
        "INSERT INTO products VALUES (1, 'twin', 1)",
    )
    with pytest.raises(SourceError) as caught:
        reader.take()
    (problem,) = caught.value.problems
    assert (problem.code, problem.found, problem.place) == ("LS438", '{"id":1}', PLACE)
    assert not list(reader.folder.glob("*"))


def test_a_server_that_is_not_there_is_told_without_its_password(reader: Reader) -> None:
    url = "postgresql://till:s3cr%40t@127.0.0.1:9/shop"
    with pytest.raises(SourceError) as caught:
        reader.fetch(url)
    (problem,) = caught.value.problems
    assert problem.code == "LS438" and "127.0.0.1" in (problem.found or "")
    assert not any(word in str(problem) for word in ("s3cr", url))


def test_a_connection_that_nobody_declared_is_told(reader: Reader) -> None:
    with pytest.raises(SourceError, match="LS439"):
        reader.fetch("")


def test_what_can_be_read_is_known_without_taking_anything(reader: Reader) -> None:
    source = reader.table
    require_readable(TableName("bronze", "products"), source, {"SHOP": reader.url})
    assert not reader.folder.exists()
    gone = replace(source, columns=("id", "colour"))
    for each, environment in ((source, {}), (gone, {"SHOP": reader.url})):
        with pytest.raises(SourceError) as caught:
            require_readable(TableName("bronze", "products"), each, environment)
        assert caught.value.problems[0].code == ("LS438" if environment else "LS439")


def test_a_growing_column_is_read_with_an_overlap(reader: Reader) -> None:
    """A change that was committed late, with an older time, is read; what was read already is not told
    again."""
    reader.table = replace(
        reader.table, columns=(*COLUMNS, "updated_at"), growing="updated_at", overlap="10 minutes"
    )
    do(reader.url, "UPDATE products SET updated_at = TIMESTAMPTZ '2026-01-01 12:00:00Z'")
    assert reader.take() == [("upsert", 1), ("upsert", 2)]
    do(reader.url, "INSERT INTO products VALUES (3, 'cap', 1, '2026-01-01 12:30:00Z')")
    assert reader.take() == [("upsert", 3)]
    do(
        reader.url,
        "INSERT INTO products VALUES (4, 'late', 1, '2026-01-01 12:21:00Z'), (5, 'too late', 1, '2026-01-01"
        " 12:19:00Z')",
    )
    assert reader.take() == [("upsert", 4)]
    assert reader.take() == []


def test_a_growing_number_is_read_with_an_overlap(reader: Reader) -> None:
    reader.table = replace(reader.table, growing="id", overlap="5")
    do(reader.url, "INSERT INTO products SELECT n, 'a', 1 FROM generate_series(90, 100, 2) n")
    assert ("upsert", 100) in reader.take()
    do(reader.url, "INSERT INTO products VALUES (95, 'b', 1), (93, 'c', 1)")
    assert reader.take() == [("upsert", 95)]
    do(reader.url, "INSERT INTO products VALUES (103, 'd', 1)")
    assert reader.take() == [("upsert", 103)]
    kept = json.loads((reader.folder / ".position.json").read_text())["rows"]
    assert len(kept) == 5, "only what was in reach of the last reading is kept"


@pytest.mark.parametrize("wrong", ["2056-01-01", "infinity"])
@pytest.mark.parametrize("kind", ["timestamptz", "timestamp(3)", "date"])
def test_a_time_that_is_ahead_of_the_clock_hides_no_later_change(
    reader: Reader, kind: str, wrong: str
) -> None:
    """It is read again each time, said, and told once; so is a row without a time. At the end it is
    corrected."""
    ago = "now() - interval '{} days'"
    reader.table = replace(reader.table, columns=(*COLUMNS, "updated_at"), growing="updated_at")
    do(
        reader.url,
        f"ALTER TABLE products ALTER updated_at TYPE {kind}",
        f"UPDATE products SET updated_at = {ago.format(9)}",
        f"INSERT INTO products VALUES (3, 'ahead', 1, '{wrong}')",
    )
    assert reader.take() == [("upsert", 1), ("upsert", 2), ("upsert", 3)]
    (note,) = notes_of(reader.folder)
    assert note.startswith(f"1 row of public.products is ahead in updated_at ({wrong}")
    do(reader.url, f"INSERT INTO products VALUES (4, 'later', 1, {ago.format(5)}), (5, 'no time', 1, NULL)")
    assert reader.take() == [("upsert", 4), ("upsert", 5)]
    do(reader.url, "UPDATE products SET name = 'other' WHERE id IN (3, 5)")
    assert reader.take() == [("upsert", 3), ("upsert", 5)]
    do(reader.url, f"UPDATE products SET updated_at = {ago.format(4)} WHERE id = 3")
    assert reader.take() == [("upsert", 3)]
    assert reader.take() == []
    assert notes_of(reader.folder) == ()


@pytest.mark.parametrize("kind", ["bigint", "numeric", "double precision"])
def test_a_number_far_beyond_the_others_hides_no_later_change(reader: Reader, kind: str) -> None:
    reader.table = replace(reader.table, columns=(*COLUMNS, "version"), growing="version")
    do(
        reader.url,
        f"ALTER TABLE products ADD version {kind}",
        "UPDATE products SET version = 1000000 + id",
        "INSERT INTO products(id, version) VALUES (3, 9000000000000), (4, 7000000000000)",
    )
    assert reader.take() == [("upsert", 1), ("upsert", 2), ("upsert", 3), ("upsert", 4)]
    (note,) = notes_of(reader.folder)
    assert note.startswith("2 rows of public.products are ahead in version (9"), note
    do(reader.url, "INSERT INTO products(id, version) VALUES (5, 1000003), (6, 1000000)")
    assert reader.take() == [("upsert", 5), ("upsert", 6)]
    if kind != "bigint":
        do(reader.url, "INSERT INTO products(id, version) VALUES (7, 'NaN')")
        assert reader.take() == [("upsert", 7)]
        do(reader.url, "UPDATE products SET version = 1000003 WHERE id = 7")
        assert reader.take() == [("upsert", 7)]
    do(reader.url, "UPDATE products SET version = 1000004 WHERE id IN (3, 4)")
    assert reader.take() == [("upsert", 3), ("upsert", 4)]
    assert notes_of(reader.folder) == ()
    do(reader.url, "INSERT INTO products(id, version) VALUES (8, 1000005)")
    assert reader.take() == [("upsert", 8)]


def test_a_bound_that_is_beyond_all_that_is_there_is_not_kept(reader: Reader) -> None:
    """A table that was emptied counts from the beginning, and a bound in the future is one of a wrong
    clock."""
    reader.table = replace(reader.table, growing="id", overlap="5")
    do(reader.url, "UPDATE products SET id = id + 1000")
    assert reader.take() == [("upsert", 1001), ("upsert", 1002)]
    do(reader.url, "DELETE FROM products")
    assert reader.take() == []
    do(reader.url, "INSERT INTO products VALUES (1, 'pen', 1)")
    assert reader.take() == [("upsert", 1)]
    reader.table = replace(reader.table, columns=(*COLUMNS, "updated_at"), growing="updated_at", overlap=None)
    assert reader.take() == [("upsert", 1)]
    kept = reader.folder / ".position.json"
    kept.write_text(json.dumps(json.loads(kept.read_text()) | {"bound": "2056-01-01", "rows": {}}))
    assert reader.take() == [("upsert", 1)]


def test_columns_may_have_the_names_of_aliases(reader: Reader) -> None:
    columns = ("k", "v", "t", "id")
    reader.table = replace(reader.table, columns=columns, key=("k", "v"), growing="v", overlap="5")
    do(reader.url, *(f"ALTER TABLE products ADD {name} int DEFAULT 7" for name in columns[:-1]))
    do(reader.url, "UPDATE products SET k = id")
    reader.take()
    assert [line["_row_key"] for line in reader.lines] == ['{"k":1,"v":7}', '{"k":2,"v":7}']
    assert reader.take() == []


def test_any_changes_leave_what_is_there(reader: Reader) -> None:
    """Random changes, with looks and lost positions in between: what the lake was told is what PostgreSQL
    has."""
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    for _ in range(60):
        number = chance.randrange(8)
        match chance.randrange(5):
            case 0:
                do(reader.url, f"DELETE FROM products WHERE id = {number}")
            case 1 | 2:
                price = chance.randrange(1000) / 100
                do(
                    reader.url,
                    f"INSERT INTO products VALUES ({number}, 'n', {price})"
                    " ON CONFLICT (id) DO UPDATE SET price = EXCLUDED.price",
                )
            case 3:
                reader.take()
            case 4:
                (reader.folder / ".position.json").unlink(missing_ok=True)
    reader.take()
    reader.take()
    there = {
        row[0]: (row[0], row[1], float(row[2]))
        for row in do(reader.url, "SELECT id, name, price FROM products")
    }
    found = {key: (row[0], row[1], float(row[2])) for key, row in reader.rows().items()}
    assert found == there, f"seed {seed}"
