"""Tables that keep versions: after any history of files and runs they hold what plain Python tells of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from harness import Harness, MakeShop, RunResult, in_order
from oracle import COLUMNS, Arrival, Keyed, random_history
from oracle_versions import current_rows, history_of
from soaking import SOAK, seeds

from lakesmith import limits
from lakesmith.catalog.record import Versions
from lakesmith.errors import Problem
from lakesmith.execute.events import PhaseStarted, TableFailed, TableRedone
from lakesmith.execute.verify import Verdict
from lakesmith.project.definitions import TableName

LANDING = "landing/events/"
REBUILT = ("silver.by_two", "silver.by_value")
SEEDS = seeds(419260661)

EVENTS = """
source:
  files: {path: landing/events/, pattern: "*.csv", format: csv}
columns: {id: int, seq: int, seq2: int, op: string, val: string, price: int}
"""
QUERY = "query: SELECT id, seq, seq2, op, val, price FROM bronze.events"
DELETES = "delete_when: op = 'D'\n"
TWO = (
    f'{QUERY}\nkey: [id]\nlatest_by: [seq, seq2]\n{DELETES}rules: |\n  Rules = [ ColumnValues "price" > 0 ]\n'
)
FILES = {
    "tables/bronze/events.yaml": EVENTS,
    "tables/silver/by_two.yaml": f"{TWO}history: type2\n",
    "tables/silver/by_two_now.yaml": TWO,
    "tables/silver/tracked.yaml": f"{QUERY} WHERE val IS NOT NULL\nkey: [id]\nlatest_by: [seq]\n"
    f"{DELETES}history: type2\ntrack: [val]\n",
    "tables/silver/plain.yaml": QUERY,
    "tables/silver/by_value.yaml": "inputs: {events: silver.plain}\ndeterministic: true\n"
    "key: [id]\nlatest_by: [seq]\n"
    f"{DELETES}history: type2\n",
    "tables/silver/by_value.py": "def by_value(events):\n"
    "    return events.select('id', 'seq', 'seq2', 'op', 'val', 'price')\n",
}


def _deletes(row: Any) -> bool:
    return bool(row["op"] == "D")


def _is_good(row: Any) -> bool:
    return row["price"] is not None and row["price"] > 0


TABLES = {
    "silver.by_two": (Keyed(("id",), ("seq", "seq2"), _deletes, _is_good), ("op", "val", "price")),
    "silver.tracked": (Keyed(("id",), ("seq",), _deletes, keep=lambda row: row["val"] is not None), ("val",)),
    "silver.by_value": (Keyed(("id",), ("seq",), _deletes, by_arrival=False), ("seq2", "op", "val", "price")),
}


@pytest.mark.parametrize("seed", SEEDS)
def test_any_history(seed: int, shop: Harness) -> None:
    arrived: list[Arrival] = []
    for number, files in enumerate(random_history(seed, batches=8 if SOAK else 3), start=1):
        for file in files:
            at = 1_000_000_000 * 10**9 if file.back_dated else None
            shop.land(f"{LANDING}{file.name}", file.text, modified_ns=at)
            arrived += file.arrivals(number, LANDING)
        # Half of the tables go on from a rebuild, the others from what they were refreshed to.
        rebuilt = REBUILT if number == 2 else ()
        for table, record in shop.must_run(full=rebuilt).published.items():
            anew = number == 1 or table in rebuilt
            assert anew or record.kind in {"files", "append", "upsert", "advance"}, table
        _check(shop, arrived)


def _check(shop: Harness, arrived: list[Arrival]) -> None:
    for table, (settings, track) in TABLES.items():
        expected = history_of(arrived, settings, track)
        assert shop.rows(table) == in_order(kept.values(COLUMNS) for kept in expected), table
    now = history_of(arrived, *TABLES["silver.by_two"])
    sibling = in_order(tuple(row[name] for name in COLUMNS) for row in current_rows(now))
    assert shop.rows("silver.by_two_now", *COLUMNS) == sibling


LOG = """
source:
  files: {path: landing/log/, pattern: "*.csv", format: csv}
columns: {id: int, day: int, op: string, city: string, note: string}
"""
STATE = """
from: bronze.log
key: [id]
latest_by: [day]
delete_when: op = 'D'
history: type2
track: [city]
"""
FIRST = """\
1,1,I,Oslo,a
1,5,U,Rome,a
2,1,I,Oslo,a
3,3,D,,
4,2,I,Bonn,a
5,1,I,Bonn,a
5,4,D,,
"""


SETTINGS = "inputs: {log: bronze.log}\nkey: [id]\nlatest_by: [day]\nhistory: type2\ntrack: [town]\n"
LOG_FILES = {
    "tables/bronze/log.yaml": LOG,
    "tables/silver/state.yaml": STATE,
    "tables/silver/ceasing.yaml": STATE,
    "tables/silver/taken.py": "def taken(log):\n    return log.withColumnRenamed('city', 'Valid_To')\n",
    "tables/silver/taken.yaml": SETTINGS,
    "tables/silver/lacking.py": "def lacking(log):\n    return log.select('id', 'day', 'city')\n",
    "tables/silver/lacking.yaml": SETTINGS,
    "tables/silver/mapped.yaml": "query: SELECT id, map('a', day) AS m FROM bronze.log\n"
    "key: [id]\nlatest_by: [m]\nhistory: type2\n",
}
REFUSED = ("silver.taken", "silver.lacking", "silver.mapped")


Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Log:
    """Some keys, one of them deleted, one never there. ``refused``: the run of tables that cannot be.

    ``ceased``: the run in which ``silver.ceasing`` ceases to keep versions, its rows and columns then.
    ``versions``: those that it had before, and as it keeps them again.
    """

    shop: Harness
    refused: RunResult
    ceased: RunResult
    columns: list[str]
    current: Rows
    versions: tuple[Rows, Rows]


@pytest.fixture(scope="module")
def logged(make_lake: MakeShop) -> Log:
    shop, table, file = make_lake(LOG_FILES), "silver.ceasing", "tables/silver/ceasing.yaml"
    _take(shop, "1", FIRST, table)
    refused, before = shop.run(*REFUSED), _rows(shop, table)
    shop.write({file: STATE.replace("history: type2\ntrack: [city]\n", "")})
    ceased = shop.must_run(table, approve=[table])
    columns, current = shop.frame(table).columns, shop.rows(table, "id", "city")
    shop.redefine({file: STATE}, table)
    return Log(shop, refused, ceased, columns, current, (before, _rows(shop, table)))


@pytest.fixture
def log(logged: Log) -> Harness:
    return logged.shop


def _take(log: Harness, name: str, lines: str, *more: str) -> RunResult:
    content = "id,day,op,city,note\n" + lines
    return log.take(f"landing/log/{name}.csv", content, "bronze.log", "silver.state", *more)


def _rows(log: Harness, table: str = "silver.state") -> Rows:
    return log.rows(table, "id", "valid_from", "valid_to", "is_current", "city", "day", "note")


def _looks_back(result: RunResult) -> bool:
    """Whether the batch read its input as a whole."""
    phases = [event.phase for event in result.events if isinstance(event, PhaseStarted)]
    return any(phase.startswith("computing") for phase in phases)


def test_a_story(log: Harness) -> None:
    """What comes in order, what comes once more, and what comes late, each file a run of its own."""
    assert _rows(log) == [
        (1, 1, 5, False, "Oslo", 1, "a"),
        (1, 5, None, True, "Rome", 5, "a"),
        (2, 1, None, True, "Oslo", 1, "a"),
        (4, 2, None, True, "Bonn", 2, "a"),
        (5, 1, 4, False, "Bonn", 1, "a"),
    ]
    account = log.record("silver.state").account
    assert (account.read, account.inserted, account.absent_deletes) == (7, 5, 1)
    assert account.versions == Versions(opened=5, continued=0, closed=1)
    ids = _row_ids(log)
    early = _hide_data(log, "bronze.log")
    in_order = _take(log, "2", "1,6,U,Rome,b\n1,5,U,Rome,a\n2,2,D,,\n4,3,U,Lima,b\n5,5,D,,\n")
    after = [
        (1, 1, 5, False, "Oslo", 1, "a"), (1, 5, None, True, "Rome", 6, "b"),
        (2, 1, 2, False, "Oslo", 1, "a"), (4, 2, 3, False, "Bonn", 2, "a"),
        (4, 3, None, True, "Lima", 3, "b"), (5, 1, 4, False, "Bonn", 1, "a"),
    ]  # fmt: skip
    assert (_rows(log), _looks_back(in_order)) == (after, False)
    account = in_order.published["silver.state"].account
    assert (account.inserted, account.updated, account.deleted) == (1, 3, 0)
    assert (account.superseded, account.absent_deletes) == (1, 1)
    assert account.versions == Versions(opened=1, continued=1, closed=1)
    assert {at: row_id for at, row_id in _row_ids(log).items() if at in ids} == ids
    once_more = _take(log, "3", FIRST)
    assert (_rows(log), _looks_back(once_more)) == (after, False)
    account = once_more.published["silver.state"].account
    assert (account.inserted, account.updated, account.deleted) == (0, 0, 0)
    assert (account.superseded, account.absent_deletes) == (5, 1)
    assert account.versions == Versions(opened=0, continued=1, closed=0)
    for path, hidden in early:
        hidden.rename(path)
    late = _take(log, "4", "1,3,U,Rome,c\n3,1,I,Lima,c\n4,2,U,Paris,c\n5,2,D,,\n2,1,I,Oslo,c\n")
    assert (_rows(log), _looks_back(late)) == (
        [
            (1, 1, 3, False, "Oslo", 1, "a"),
            (1, 3, None, True, "Rome", 6, "b"),
            (2, 1, 2, False, "Oslo", 1, "c"),
            (3, 1, 3, False, "Lima", 1, "c"),
            (4, 2, 3, False, "Paris", 2, "c"),
            (4, 3, None, True, "Lima", 3, "b"),
            (5, 1, 2, False, "Bonn", 1, "a"),
        ],
        True,
    )
    account = late.published["silver.state"].account
    assert (account.inserted, account.updated, account.deleted) == (2, 4, 1)
    assert account.versions == Versions(opened=4, continued=0, closed=1)
    log.must_verify("silver.state")
    log.spark.sql("UPDATE lake.silver.state SET valid_to = 7 WHERE id = 5")
    assert log.verify("silver.state")["silver.state"].verdict is Verdict.DIFFERS


def _hide_data(log: Harness, table: str) -> list[tuple[Path, Path]]:
    """Takes away the data files the table has now: whoever reads them fails."""
    name = TableName.parse(table)
    folder = log.root / ".lakesmith/warehouse" / name.layer / name.name / "data"
    pairs = [(path, path.with_suffix(".hidden")) for path in folder.rglob("*.parquet")]
    assert pairs
    for path, hidden in pairs:
        path.rename(hidden)
    return pairs


def _row_ids(log: Harness) -> dict[tuple[int, int], int]:
    rows = log.spark.sql("SELECT id, valid_from, _row_id FROM lake.silver.state").collect()
    return {(row[0], row[1]): row[2] for row in rows}


def test_columns_that_come_and_batches_that_are_too_large(
    make_shop: MakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New columns tell versions apart once they exist, maps do too; no deletes leave no tombstones."""
    files = {
        "tables/bronze/log.yaml": "source: {files: {path: landing/log/, format: json, on_new_column:"
        " evolve}}\n"
        "columns: {id: int, day: int, tags: 'map<string,string>', at: 'struct<x: int>'}\n",
        "tables/silver/state.yaml": "from: bronze.log\nkey: [id]\nlatest_by: [day]\nhistory: type2\n",
    }
    shop = make_shop(files)
    shop.take(
        "landing/log/1.json",
        '{"id": 1, "day": 1, "tags": {"a": "1", "b": "2"}, "at": {"x": 1}}\n{"id": 1, "day": 9}\n',
    )
    shop.land(
        "landing/log/2.json",
        '{"id": 1, "day": 10, "size": 4}\n{"id": 1, "day": 11, "size": 4}\n{"id": 2, "day": 1}\n'
        '{"id": 1, "day": 2, "tags": {"b": "2", "a": "1"}, "at": {"x": 1}}\n'
        '{"id": 1, "day": 3, "at": {"x": 1, "y": 2}}\n',
    )
    assert shop.must_run().published["silver.state"].kind == "upsert"
    columns = ("id", "valid_from", "valid_to", "is_current", "day", "size", "at.y")
    rows = [
        (1, 1, 3, False, 2, None, None), (1, 3, 9, False, 3, None, 2), (1, 9, 10, False, 9, None, None),
        (1, 10, None, True, 11, 4, None), (2, 1, None, True, 1, None, None),
    ]  # fmt: skip
    assert shop.rows("silver.state", *columns) == rows
    monkeypatch.setattr(limits, "ROWS_REPLACED_BY_PLACE_UP_TO", 1)
    result = shop.take("landing/log/3.json", '{"id": 1, "day": 11, "size": 5}\n{"id": 2, "day": 2}\n')
    assert result.published["silver.state"].kind == "full"
    (redone,) = [event for event in result.events if isinstance(event, TableRedone)]
    assert redone.reason.startswith("2 versions are new")
    rows[3:] = [
        (1, 10, 11, False, 10, 4, None),
        (1, 11, None, True, 11, 5, None),
        (2, 1, None, True, 2, None, None),
    ]
    assert shop.rows("silver.state", *columns) == rows


def test_a_table_that_begins_to_keep_versions_and_ceases_to(logged: Log) -> None:
    assert logged.ceased.published["silver.ceasing"].kind == "full"
    assert logged.columns == ["id", "day", "op", "city", "note"]
    assert logged.current == [(1, "Rome"), (2, "Oslo"), (4, "Bonn")]
    assert logged.versions[0] == logged.versions[1] != []


def test_columns_that_only_a_run_can_tell(logged: Log) -> None:
    """A Python table's columns are known in a run alone: reserved names, and a missing tracked column."""
    problems = _problems(logged.refused)
    assert problems["silver.taken"].code == "LS624"
    assert "cannot have a column Valid_To" in problems["silver.taken"].what
    lacking = problems["silver.lacking"]
    assert lacking.code == "LS615"
    assert lacking.what == "track names the column 'town', which the query does not give"
    assert str(lacking.place) == "tables/silver/lacking.yaml:5"


def test_versions_are_not_put_in_order_by_maps(logged: Log) -> None:
    problem = _problems(logged.refused)["silver.mapped"]
    assert (problem.code, "by the column 'm'" in problem.what) == ("LS615", True)


def _problems(run: RunResult) -> dict[str, Problem]:
    """The one problem of each table."""
    failed = {str(each.table): each.problems for each in run.events if isinstance(each, TableFailed)}
    return {table: problem for table, (problem,) in failed.items()}
