"""Tables with a key or rules, refreshed by keys: rows, bad rows and deletes as plain Python has them."""

import json
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from harness import Harness, MakeShop, RunResult, in_order
from oracle import COLUMNS, Arrival, Keyed, Row, random_history, state_of
from oracle_versions import history_of
from soaking import SOAK, seeds

from lakesmith.execute.events import TableRedone
from lakesmith.spark.batch.sidecar import SidecarKind

pytestmark = [pytest.mark.in_turn, pytest.mark.usefixtures("by_keys")]

SEEDS = seeds(271828)

LANDING = "landing/events/"
EVENTS = """
source:
  files: {path: landing/events/, pattern: "*.csv", format: csv}
columns: {id: int, seq: int, seq2: int, op: string, val: string, price: int}
"""
NAMES = """
source:
  files: {path: landing/names/, pattern: "*.csv", format: csv}
columns: {val: string, name: string}
"""
QUERY = "query: SELECT id, seq, seq2, op, val, price FROM bronze.events"
DELETES = "delete_when: op = 'D'\n"
RULE = 'rules: |\n  Rules = [ ColumnValues "price" > 0 ]\n'
JOINED = (
    "query: SELECT e.id, e.seq, e.seq2, e.op, e.val, e.price FROM bronze.events e JOIN bronze.names n"
    " ON e.val = n.val\n"
    "key: [id]\nlatest_by: [seq]\n"
)
COUNTED = "query: SELECT seq, count(*) AS n FROM bronze.events GROUP BY seq\n"
FILES = {
    "tables/bronze/events.yaml": EVENTS,
    "tables/bronze/names.yaml": NAMES,
    "tables/silver/now.yaml": f"{QUERY}\nkey: [id]\nlatest_by: [seq, seq2]\n{DELETES}{RULE}",
    "tables/silver/past.yaml": f"{QUERY}\nkey: [id]\nlatest_by: [seq, seq2]\n{DELETES}{RULE}history: type2\n",
    "tables/silver/plain.yaml": QUERY,
    "tables/silver/by_value.yaml": "inputs: {events: silver.plain}\ndeterministic: true\n"
    "key: [id]\nlatest_by: [seq]\n"
    f"{DELETES}",
    "tables/silver/by_value.py": "def by_value(events):\n"
    "    return events.select('id', 'seq', 'seq2', 'op', 'val', 'price')\n",
    "tables/silver/joined.yaml": JOINED,
    "tables/silver/joined_past.yaml": f"{JOINED}history: type2\ntrack: [val]\n",
    "tables/gold/counted.yaml": COUNTED + 'rules: |\n  Rules = [ ColumnValues "n" < 6 ]\n',
}


def _deletes(row: Row) -> bool:
    return bool(row["op"] == "D")


def _is_good(row: Row) -> bool:
    return row["price"] is not None and row["price"] > 0


NOW = Keyed(("id",), ("seq", "seq2"), _deletes, _is_good)
BY_VALUE = Keyed(("id",), ("seq",), _deletes, by_arrival=False)
KINDS = {"silver.now": "keys", "silver.past": "keys", "silver.by_value": "keys", "silver.joined": "keys",
    "silver.plain": "keys",
         "silver.joined_past": "keys", "gold.counted": "keys"}  # fmt: skip


@dataclass
class Shop:
    """The project, and what of its two bronze tables is there, as plain Python has it."""

    project: Harness
    dice: random.Random
    arrived: list[Arrival] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def land(self, batch: int, names: str) -> None:
        """The next files of events, and names of these values."""
        for file in random_history(self.dice.randrange(10**9), batches=1)[0]:
            of_batch = replace(file, name=f"{batch}-{file.name}")
            self.project.land(f"{LANDING}{of_batch.name}", of_batch.text)
            self.arrived += of_batch.arrivals(batch, LANDING)
        self.project.land(f"landing/names/{batch}.csv", "val,name\n" + "".join(f"{val},x\n" for val in names))
        self.names += names

    def disturb(self) -> None:
        """Deletes and updates events as another tool does, some good to bad and back, and deletes a name."""
        some = self.dice.sample(self.arrived, min(4, len(self.arrived)))
        for number, arrival in enumerate(some):
            place = f"_source_file = '{arrival.file}' AND _source_position = {arrival.position}"
            self.arrived.remove(arrival)
            if number < 2:
                self._sql(f"DELETE FROM lake.bronze.events WHERE {place}")
                continue
            price = 0 if _is_good(arrival.row) else 7
            self._sql(f"UPDATE lake.bronze.events SET price = {price}, val = 'b' WHERE {place}")
            self.arrived.append(replace(arrival, row={**arrival.row, "price": price, "val": "b"}))
        if self.names:
            gone = self.names[0]
            self._sql(f"DELETE FROM lake.bronze.names WHERE val = '{gone}'")
            self.names = [name for name in self.names if name != gone]

    def _sql(self, text: str) -> None:
        self.project.spark.sql(text).collect()

    def joined(self) -> list[Arrival]:
        """The events once for each of their names."""
        return [event for event in self.arrived for name in self.names if event.row["val"] == name]

    def check(self) -> None:
        """Every table, with what it put aside and what it buried."""
        state = state_of(self.arrived, NOW)
        self._expect("silver.now", state.rows.values())
        self._expect_aside("silver.now", [arrival.row for arrival in self.arrived if _is_bad(arrival.row)])
        assert self._buried("silver.now", set(state.rows)) == state.deleted
        self._expect_past("silver.past", history_of(self.arrived, NOW, ("op", "val", "price")))
        self._expect_aside("silver.past", [arrival.row for arrival in self.arrived if _is_bad(arrival.row)])
        by_value = state_of(self.arrived, BY_VALUE)
        self._expect("silver.by_value", by_value.rows.values())
        assert self._buried("silver.by_value", set(by_value.rows)) == by_value.deleted
        joined = Keyed(("id",), ("seq",))
        self._expect("silver.joined", state_of(self.joined(), joined).rows.values())
        self._expect_past("silver.joined_past", history_of(self.joined(), joined, ("val",)))
        counts = Counter(arrival.row["seq"] for arrival in self.arrived)
        assert self.project.rows("gold.counted") == in_order((seq, n) for seq, n in counts.items() if n < 6)
        aside = [{"seq": seq, "n": n} for seq, n in counts.items() if n >= 6]
        self._expect_aside("gold.counted", aside)

    def _expect(self, table: str, rows: Iterable[Row]) -> None:
        assert self.project.rows(table) == in_order(tuple(row[name] for name in COLUMNS) for row in rows), (
            table
        )

    def _expect_past(self, table: str, kept: Iterable[Any]) -> None:
        assert self.project.rows(table) == in_order(each.values(COLUMNS) for each in kept), table

    def _expect_aside(self, table: str, rows: Iterable[Row]) -> None:
        found = Counter(_text(json.loads(row["row"])) for row in self.project.quarantine(table))
        assert found == Counter(map(_text, rows)), table

    def _buried(self, table: str, alive: set[tuple[Any, ...]]) -> dict[tuple[Any, ...], tuple[Any, ...]]:
        """The newest tombstone of each key that is not alive; nulls are the oldest."""
        pin = self.project.record(table).sidecars.get(SidecarKind.TOMBSTONES.value)
        if pin is None:
            return {}
        frame = self.project.frame(
            f"lakesmith.{table.replace('.', '__')}__tombstones", as_of=pin.snapshot
        ).collect()
        newest: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for row in sorted(
            (tuple(row) for row in frame), key=lambda row: [(v is not None, v or 0) for v in row]
        ):
            newest[row[:1]] = row[1:]
        return {key: version for key, version in newest.items() if key not in alive}


def _is_bad(row: Row) -> bool:
    return row["id"] is None or not NOW.counts(row)


def _text(row: Row) -> str:
    return json.dumps({name: value for name, value in row.items() if value is not None}, sort_keys=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_any_history_in_which_rows_go(seed: int, make_shop: MakeShop) -> None:
    shop = Shop(make_shop(FILES), random.Random(seed))
    for batch in range(1, 3 if not SOAK else 8):
        shop.land(batch, "ab" if batch == 1 else shop.dice.choice(("", "c", "ad")))
        shop.project.must_run()
        shop.check()
        shop.disturb()
        published = shop.project.must_run().published
        assert {name: record.kind for name, record in published.items()} == {
            name: kind for name, kind in KINDS.items() if name in published
        }
        shop.check()


LOG = """
source:
  files: {path: landing/log/, pattern: "*.csv", format: csv}
columns: {id: int, day: int, price: int}
"""
STATE = """
from: bronze.log
key: [id]
latest_by: [day]
rules: |
  Rules = [ ColumnValues "price" > 0 ]
"""


@pytest.fixture
def log(make_shop: MakeShop) -> Harness:
    """Three keys; one has a bad version, another is bad alone."""
    files = {"tables/bronze/log.yaml": LOG, "tables/silver/state.yaml": STATE}
    log = make_shop(files)
    log.take("landing/log/1.csv", "id,day,price\n1,1,10\n1,2,0\n2,1,20\n3,1,0\n")
    return log


def _change(log: Harness, statement: str) -> RunResult:
    log.spark.sql(statement).collect()
    return log.run()


def test_a_row_that_stays_bad_is_of_the_batch_that_found_it(log: Harness) -> None:
    result = _change(log, "UPDATE lake.bronze.log SET price = -1 WHERE id = 3")
    account = result.published["silver.state"].account
    assert (account.quarantined, account.rows_after) == (1, 2)
    _change(log, "UPDATE lake.bronze.log SET price = 11 WHERE id = 1 AND day = 1")
    assert [(json.loads(row["row"])["id"], row["batch"]) for row in log.quarantine("silver.state")] == [
        (1, 1),
        (3, 2),
    ]


def test_the_checks_are_of_what_the_batch_found(log: Harness) -> None:
    assert list(log.record("silver.state").checks.values()) == [2]
    _change(log, "UPDATE lake.bronze.log SET price = price + 1 WHERE id = 2")
    assert list(log.record("silver.state").checks.values()) == [0]


def test_a_key_that_gets_another_version_stays_the_same_row(log: Harness) -> None:
    ids = log.spark.sql("SELECT id, _row_id FROM lake.silver.state ORDER BY id").collect()
    account = (
        _change(log, "UPDATE lake.bronze.log SET price = 21 WHERE id = 2").published["silver.state"].account
    )
    assert (account.inserted, account.updated, account.deleted) == (0, 1, 0)
    assert log.spark.sql("SELECT id, _row_id FROM lake.silver.state ORDER BY id").collect() == ids
    assert log.rows("silver.state", "id", "price") == [(1, 10), (2, 21)]


def test_an_older_version_comes_back_where_the_newest_goes(log: Harness) -> None:
    log.take("landing/log/2.csv", "id,day,price\n2,9,90\n")
    account = _change(log, "DELETE FROM lake.bronze.log WHERE day = 9").published["silver.state"].account
    assert (account.read, account.updated) == (1, 1)
    assert log.rows("silver.state", "id", "day", "price") == [(1, 1, 10), (2, 1, 20)]


def test_a_bad_row_stops_a_batch_by_keys_where_that_is_asked_for(make_shop: MakeShop) -> None:
    files = {"tables/bronze/log.yaml": LOG, "tables/silver/state.yaml": f"{STATE}on_bad_row: fail\n"}
    log = make_shop(files)
    log.take("landing/log/1.csv", "id,day,price\n1,1,10\n2,1,20\n")
    result = _change(log, "UPDATE lake.bronze.log SET price = 0 WHERE id = 2")
    assert [problem.code for problem in result.problems] == ["LS801"]
    assert "1 bad row stopped" in result.problems[0].what
    assert log.rows("silver.state", "id", "price") == [(1, 10), (2, 20)]


def test_a_key_made_of_several_rows_tells_nothing(log: Harness) -> None:
    text = (
        "query: SELECT id, max(day) AS newest FROM bronze.log GROUP BY id\nkey: [newest]\nlatest_by: [id]\n"
    )
    log.redefine({"tables/gold/by_newest.yaml": text})
    redone = []
    for price in (30, 31):
        result = _change(log, f"UPDATE lake.bronze.log SET price = {price}, day = {price} WHERE id = 2")
        redone += [event.reason for event in result.of("gold.by_newest") if isinstance(event, TableRedone)]
        assert result.published["gold.by_newest"].kind == "full"
    assert redone == ["no column of its key tells which rows a change reaches"]
    assert log.rows("gold.by_newest") == [(1, 2), (2, 31), (3, 1)]


def test_rules_in_another_order_find_nothing_new(log: Harness) -> None:
    """They are the same definition, though the reasons of a bad row stand in their order."""
    rules = ('ColumnValues "price" > 0', 'ColumnValues "day" < 2')
    for first, second in (rules, rules[::-1]):
        text = STATE.replace('Rules = [ ColumnValues "price" > 0 ]', f"Rules = [ {first}, {second} ]")
        log.redefine({"tables/silver/state.yaml": text})
    account = _change(log, "UPDATE lake.bronze.log SET price = 12 WHERE id = 1 AND day = 1").published
    assert (account["silver.state"].kind, account["silver.state"].account.quarantined) == ("keys", 0)
    assert {row["batch"] for row in log.quarantine("silver.state")} == {2}


def test_bad_rows_that_are_kept_in_narrower_types(log: Harness) -> None:
    """0.3 of a float is no 0.3 of a double: the row that is mended would not be found by its key."""
    columns = "columns: {id: int, at: float, name: string}\n"
    source = "source:\n  files: {path: landing/wide/, format: csv}\n"
    keyed = "query: SELECT id, at, name FROM bronze.wide\nkey: [at, name]\nlatest_by: [id]\n"
    log.write({"tables/bronze/wide.yaml": source + columns, "tables/silver/wide.yaml": keyed})
    log.take("landing/wide/1.csv", "id,at,name\n1,0.3,\n2,0.4,x\n")
    log.write({"tables/bronze/wide.yaml": source + columns.replace("float", "double")})
    assert log.take("landing/wide/2.csv", "id,at,name\n3,0.5,y\n").published["silver.wide"].kind == "upsert"
    assert len(log.quarantine("silver.wide")) == 1
    _change(log, "UPDATE lake.bronze.wide SET name = 'mended' WHERE id = 1")
    assert (log.quarantine("silver.wide"), log.rows("silver.wide", "id")) == ([], [(1,), (2,), (3,)])


def test_tombstones_of_a_small_number_keep_their_columns(log: Harness) -> None:
    query = "query: SELECT CAST(id AS smallint) AS id, day, price FROM bronze.log\n"
    log.write({"tables/silver/small.yaml": f"{query}key: [id]\nlatest_by: [day]\ndelete_when: price = 0\n"})
    log.must_run()
    found = []
    for day in (5, 6):
        log.take(f"landing/log/{day}.csv", f"id,day,price\n2,{day},0\n")
        found.append([column.field_id for column in log.state("lakesmith.silver__small__tombstones").columns])
    assert found[0] == found[1]
