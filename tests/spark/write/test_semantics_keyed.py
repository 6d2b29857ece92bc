"""Keyed tables: after any history they hold what an oracle in plain Python and a rebuild give."""

from typing import Any

import pytest
from harness import Harness, MakeShop, in_order
from oracle import COLUMNS, Arrival, Keyed, State, random_history, state_of
from soaking import SOAK, seeds

from lakesmith import limits
from lakesmith.catalog.family import sidecar_of
from lakesmith.project.definitions import TableName
from lakesmith.spark.batch.sidecar import SidecarKind

LANDING = "landing/events/"
SEEDS = seeds(1)

QUERY = "SELECT id, seq, seq2, op, val, price FROM bronze.events"
EVENTS = """
source:
  files: {path: landing/events/, pattern: "*.csv", format: csv}
columns: {id: int, seq: int, seq2: int, op: string, val: string, price: int}
"""
RULES = 'rules: |\n  Rules = [ IsComplete "price", ColumnValues "price" > 0 ]\n'
PYTHON = "def by_value(events):\n    return events.select('id', 'seq', 'seq2', 'op', 'val', 'price')\n"
FILES = {
    "tables/bronze/events.yaml": EVENTS,
    "tables/silver/by_two.yaml": f"query: {QUERY}\nkey: [id]\nlatest_by: [seq, seq2]\n"
    f"delete_when: \"op = 'D'\"\n{RULES}",
    "tables/silver/by_arrival.yaml": f"query: {QUERY} WHERE val IS NOT NULL\nkey: [id]\n"
    "delete_when: \"op = 'D'\"\n",
    "tables/silver/no_deletes.yaml": f"query: {QUERY}\nkey: [id, val]\nlatest_by: [seq]\n",
    "tables/silver/nulls.yaml": f"query: {QUERY}\nkey: [id]\nlatest_by: [seq, seq2]\nnulls: newest\n"
    "delete_when: \"op = 'D'\"\n",
    "tables/silver/plain.sql": QUERY,
    "tables/silver/by_value.py": PYTHON,
    "tables/silver/by_value.yaml": "inputs: {events: silver.plain}\ndeterministic: true\n"
    "key: [id]\nlatest_by: [seq]\n"
    "delete_when: \"op = 'D'\"\n",
}


def _deletes(row: Any) -> bool:
    return bool(row["op"] == "D")


TABLES = {
    "silver.by_two": Keyed(
        ("id",), ("seq", "seq2"), _deletes, lambda row: row["price"] is not None and row["price"] > 0
    ),
    "silver.by_arrival": Keyed(("id",), deletes=_deletes, keep=lambda row: row["val"] is not None),
    "silver.no_deletes": Keyed(("id", "val"), ("seq",)),
    "silver.nulls": Keyed(("id",), ("seq", "seq2"), _deletes, newest=True),
    "silver.by_value": Keyed(("id",), ("seq",), _deletes, by_arrival=False),
}


@pytest.mark.parametrize("seed", SEEDS)
def test_any_history(seed: int, make_shop: MakeShop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = make_shop(FILES, compiled=True)
    arrived: list[Arrival] = []
    attempts: dict[str, str] = {}
    for number, files in enumerate(random_history(seed, batches=8 if SOAK else 3), start=1):
        for file in files:
            at = 1_000_000_000 * 10**9 if file.back_dated else None
            shop.land(f"{LANDING}{file.name}", file.text, modified_ns=at)
            arrived += file.arrivals(number, LANDING)
        # Every other batch is too large for the driver, as far as the tables know: it is merged.
        monkeypatch.setattr(limits, "ROWS_REPLACED_BY_PLACE_UP_TO", 0 if number % 2 else 200_000)
        result = shop.must_run()
        for table, settings in TABLES.items():
            _check(shop, table, state_of(arrived, settings))
            _check_tombstones(shop, table, settings, state_of(arrived, settings))
            if table in result.published:
                assert result.published[table].parent == attempts.get(table)
                attempts[table] = result.published[table].attempt
            _check_position(shop, table)
    incremental = {table: shop.rows(table) for table in TABLES}
    shop.must_run(full=TABLES)
    for table, settings in TABLES.items():
        assert shop.record(table).kind == "full"
        assert shop.rows(table) == incremental[table]
        _check(shop, table, state_of(arrived, settings))
        _check_tombstones(shop, table, settings, state_of(arrived, settings))


def _check(shop: Harness, table: str, expected: State) -> None:
    rows = in_order(tuple(row[name] for name in COLUMNS) for row in expected.rows.values())
    assert shop.rows(table, *COLUMNS) == rows, table
    assert len(shop.quarantine(table)) == expected.bad, table


def _check_tombstones(shop: Harness, table: str, settings: Keyed, expected: State) -> None:
    """Every deleted key has a tombstone, and its newest one is the version that deleted it."""
    pin = shop.record(table).sidecars.get(SidecarKind.TOMBSTONES.value)
    newest: dict[tuple[Any, ...], Any] = {}
    if pin is not None:
        frame = shop.frame(str(sidecar_of(TableName.parse(table), SidecarKind.TOMBSTONES)), pin.snapshot)
        for row in frame.collect():
            key = tuple(row[name] for name in settings.key)
            newest[key] = max(newest.get(key, row), row, key=settings.version)
    found = {key: tuple(newest[key][name] for name in settings.latest_by) for key in expected.deleted}
    assert found == expected.deleted, table


def _check_position(shop: Harness, table: str) -> None:
    """After a run that ends well, what a table has consumed is its inputs' heads."""
    heads = {name: shop.state(name).refs["main"] for name in shop.record(table).inputs}
    assert {name: pin.snapshot for name, pin in shop.record(table).inputs.items()} == heads


ONE_BY_ONE = """
query: SELECT id, seq, op, val FROM bronze.log
key: [id]
latest_by: [seq]
delete_when: "op = 'D'"
"""
LOG = """
source:
  files: {path: landing/log/, pattern: "*.csv", format: csv}
columns: {id: int, seq: int, op: string, val: string}
"""


def test_a_delete_that_does_not_say_when_goes_to_quarantine(make_shop: MakeShop) -> None:
    """As the oldest version it would be lost. A history quarantines it too; ``nulls: newest`` counts it."""
    shop = make_shop(
        {
            "tables/bronze/log.yaml": LOG,
            "tables/silver/state.yaml": ONE_BY_ONE,
            "tables/silver/past.yaml": f"{ONE_BY_ONE}history: type2\n",
            "tables/silver/newest.yaml": f"{ONE_BY_ONE}nulls: newest\n",
        }
    )
    shop.take("landing/log/1.csv", "id,seq,op,val\n1,10,I,a\n2,10,I,b\n3,10,D,c\n3,,I,c\n")
    shop.take("landing/log/2.csv", "id,seq,op,val\n1,,D,\n2,,U,x\n")
    for table in ("silver.state", "silver.past"):
        assert shop.record(table).kind == "upsert"
        (bad,) = shop.quarantine(table)
        assert "latest_by column seq is null" in str(bad)
    assert shop.rows("silver.state", "id", "val") == [(1, "a"), (2, "b")]
    assert shop.rows("silver.newest", "id", "val") == [(2, "x"), (3, "c")]
    assert not shop.quarantine("silver.newest")


def test_deletes_and_what_comes_late(make_shop: MakeShop) -> None:
    """The fates of one key, each file a run of its own."""
    shop = make_shop({"tables/bronze/log.yaml": LOG, "tables/silver/state.yaml": ONE_BY_ONE})
    story = [
        ("1,5,D,\n2,1,I,x\n", [(2, 1, "I", "x")], {"absent_deletes": 1}),  # a delete before its insert
        ("1,4,I,late\n", [(2, 1, "I", "x")], {"superseded": 1}),
        (
            "1,6,U,back\n2,1,D,\n",
            [(1, 6, "U", "back")],
            {"inserted": 1, "deleted": 1},
        ),  # revived; equal: later wins
        ("1,5,D,\n2,1,I,x\n", [(1, 6, "U", "back"), (2, 1, "I", "x")], {"superseded": 1, "inserted": 1}),
        ("1,6,U,back\n", [(1, 6, "U", "back"), (2, 1, "I", "x")], {"unchanged": 1}),
    ]
    for number, (lines, expected, account) in enumerate(story):
        record = shop.take(f"landing/log/{number}.csv", "id,seq,op,val\n" + lines).published["silver.state"]
        assert shop.rows("silver.state") == expected, lines
        assert {name: getattr(record.account, name) for name in account} == account, lines
        assert record.kind == ("full" if number == 0 else "upsert")
