"""Tables of format version 2: other engines read the same, and every count is as in a version 3 twin.

Two lakes get the same files. Beside what both have, that of version 2 has tables which other cases change.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

import pytest
from harness import Harness, MakeShop, RunResult, refresh_by_keys
from out_of_quarantine import replay
from read_elsewhere import by_duckdb, by_pyiceberg

from lakesmith import limits
from lakesmith.api.lakehouse import Lakehouse
from lakesmith.catalog.family import sidecar_of
from lakesmith.catalog.progress import live_rows
from lakesmith.catalog.record import Account
from lakesmith.execute.decide import Decider
from lakesmith.execute.lake import Lake
from lakesmith.execute.locking import Turns
from lakesmith.execute.status import statuses
from lakesmith.execute.verify import Verdict
from lakesmith.plan.steps import BadRows
from lakesmith.project.definitions import TableName
from lakesmith.spark.batch.sidecar import SidecarKind
from lakesmith.spark.iceberg.commits import JavaTables
from lakesmith.spark.iceberg.deletes import deleted_rows
from lakesmith.spark.maintenance.maintainer import Maintainer
from lakesmith.spark.maintenance.tasks import maintain_slice

PROJECT = "name: shop\ntargets: {{local: {{}}}}\ndefaults: {{format_version: {version}}}\n"
FILES = {
    "tables/bronze/people.yaml": """
        source:
          files: {path: landing/people/, format: csv, on_changed_file: replace}
        columns: {id: int, at: int, op: string, city: string, name: string}
        rules: 'Rules = [ ColumnLength "name" < 9 ]'
        """,
    "tables/silver/people.yaml": """
        query: SELECT id, at, op, city, name FROM bronze.people
        key: [id]
        latest_by: [at]
        delete_when: op = 'D'
        partition_by: [city]
        rules: 'Rules = [ ColumnValues "name" != "bad" ]'
        """,
    "tables/silver/past.yaml": """
        query: SELECT id, at, op, city, name FROM bronze.people
        key: [id]
        latest_by: [at]
        delete_when: op = 'D'
        history: type2
        """,
    "tables/silver/names.sql": "SELECT id, upper(name) AS name FROM bronze.people WHERE op <> 'D'",
    "tables/gold/cities.sql": "SELECT city, count(*) AS n, sum(at) AS total FROM silver.people GROUP BY city",
    "tables/gold/first.sql": "SELECT city, first_value(name) OVER (PARTITION BY city ORDER BY id) AS first"
    " FROM silver.people",
    "tables/gold/whole.sql": "SELECT count(*) AS n FROM silver.people",
}
TABLES = (
    "bronze.people", "silver.people", "silver.past", "silver.names", "gold.cities", "gold.first",
    "gold.whole",
)  # fmt: skip


def _dedented(name: str) -> str:
    return dedent(FILES[name]).removeprefix("\n")


STAYS_TWO = f"{_dedented('tables/silver/people.yaml')}format_version: 2\n"
BESIDE = {
    "tables/bronze/short.yaml": f"{_dedented('tables/bronze/people.yaml')}format_version: 2\n".replace(
        "landing/people/", "in/"
    ),
    "tables/silver/short.yaml": "from: bronze.short\nkey: [id]\nformat_version: 2\n",
    "tables/silver/merged.yaml": STAYS_TWO,
    "tables/silver/compacted.yaml": STAYS_TWO,
    "tables/gold/merged.yaml": "from: silver.merged\n",
    "tables/gold/compacted.yaml": "from: silver.compacted\n",
}
HEADER = "id,at,op,city,name\n"
KINDS = {"files", "append", "upsert", "sums", "keys", "full"}
FIRST = "".join(f"{number},1,I,{'Oslo' if number % 2 else 'Rome'},n{number}\n" for number in range(40))
CHANGES = (
    "1,2,U,Oslo,one\n2,2,U,Oslo,moved\n3,2,D,,\n99,1,I,Rome,new\n98,1,I,Rome,much too long a name\n"
    "97,1,I,Rome,bad\n",
    "5,3,D,,\n1,3,U,Rome,uno\n2,1,U,Rome,late\n97,2,U,Rome,good\n3,1,I,Oslo,buried\n"
    "7,9,D,,\n9,9,D,,\n11,2,U,Oslo,bad\n99,2,D,,\n",
    "17,2,U,Rome,moved\n19,9,D,,\n1,4,U,Oslo,eins\n97,1,I,Rome,late\n",
)
WITH_DELETES = ("silver.people", "silver.past", "gold.cities")
QUARANTINE = str(sidecar_of(TableName.parse("silver.people"), SidecarKind.QUARANTINE))
Rows = list[tuple[Any, ...]]


@dataclass
class Twins:
    """``accounts``: by version and table those of each batch. ``rows``: by reader and table.

    ``before``, ``live``, ``shown``: rows of ``silver.compacted``, and how many were counted once it was.
    """

    two: Harness
    three: Harness
    accounts: dict[int, dict[str, list[Account]]] = field(default_factory=lambda: {2: {}, 3: {}})
    kinds: set[str] = field(default_factory=set)
    rows: dict[str, dict[str, Rows]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    versions: dict[str, tuple[int, int]] = field(default_factory=dict)
    verified: dict[str, Verdict] = field(default_factory=dict)
    position_files: dict[str, Rows] = field(default_factory=dict)
    position_deletes: dict[str, int] = field(default_factory=dict)
    before: int = 0
    live: int | None = None
    shown: int | None = None

    def batch(self, number: int, rows: str) -> None:
        """A batch of all tables of both. That of ``silver.merged`` is too large for the driver."""
        for version, shop in ((2, self.two), (3, self.three)):
            shop.land(f"landing/people/{number}.csv", HEADER + rows)
            runs = [shop.must_run(*TABLES, *(["silver.compacted"] if version == 2 else []))]
            if version == 2:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(limits, "ROWS_REPLACED_BY_PLACE_UP_TO", 0)
                    runs.append(shop.must_run("silver.merged"))
            for table, record in (each for run in runs for each in run.published.items()):
                self.accounts[version].setdefault(table, []).append(record.account)
                self.kinds |= {record.kind} if version == 2 else set()

    def look(self) -> None:
        two, three = self.two, self.three
        readers = {"two": two.rows, "three": three.rows}
        self.rows = {name: {table: rows(table) for table in TABLES} for name, rows in readers.items()}
        self.rows["two"]["silver.merged"] = two.rows("silver.merged")
        self.rows["pyiceberg"] = {table: by_pyiceberg(two, table) for table in TABLES}
        self.rows["duckdb"] = {table: by_duckdb(two, table) for table in (*TABLES, "silver.merged")}
        self.rows["two"][QUARANTINE] = two.rows(QUARANTINE, "row")
        self.rows["pyiceberg"][QUARANTINE] = by_pyiceberg(two, QUARANTINE, "row")
        self.rows["duckdb"][QUARANTINE] = by_duckdb(two, QUARANTINE, "row")
        self.counts = {table: two.count(table) for table in TABLES}
        tables = {table: table for table in TABLES} | {QUARANTINE: "silver.people"}
        self.versions = {
            table: (two.state(table).format_version, three.state(twin).format_version)
            for table, twin in tables.items()
        }
        self.verified = {table: each.verdict for table, each in two.verify(*TABLES[1:]).items()}
        for table in WITH_DELETES:
            found = two.spark.sql(
                f"SELECT file_format, lower_bounds[2147483546], record_count FROM lake.{table}.delete_files"
            )
            self.position_files[table] = [tuple(row) for row in found.collect()]
            self.position_deletes[table] = _positions(two, table)


def _positions(shop: Harness, table: str) -> int:
    return shop.head(table).count("total-position-deletes")


def _shown_rows(shop: Harness, table: str) -> int | None:
    project, graph = shop.load()
    (status,) = statuses(Decider(graph, Lake.open(project)), (TableName.parse(table),))
    return status.rows


@pytest.fixture(scope="module")
def by_keys_here() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        refresh_by_keys(patch)
        yield


@pytest.fixture(scope="module")
def twins(make_lake: MakeShop, by_keys_here: None) -> Twins:
    files = {version: {"lakesmith.yaml": PROJECT.format(version=version), **FILES} for version in (2, 3)}
    twins = Twins(make_lake({**files[2], **BESIDE}), make_lake(files[3]))
    twins.batch(0, FIRST)
    twins.batch(1, CHANGES[0])
    _compact_as_another(twins)
    twins.batch(2, CHANGES[1])
    twins.look()
    return twins


def _compact_as_another(twins: Twins) -> None:
    shop, table = twins.two, "silver.compacted"
    twins.before = len(shop.rows(table))
    shop.spark.sql(
        f"CALL lake.system.rewrite_data_files(table => '{table}', where => 'city = \"Oslo\"',"
        " options => map('rewrite-all', 'true'))"
    ).collect()
    twins.live, twins.shown = live_rows(shop.head(table)), _shown_rows(shop, table)


def test_every_strategy_makes_the_rows_and_the_accounts_of_version_3(twins: Twins) -> None:
    assert twins.kinds == KINDS
    for table in TABLES:
        assert twins.accounts[2][table] == twins.accounts[3][table], table
        rows = twins.rows["two"][table]
        assert [twins.rows[reader][table] for reader in ("three", "pyiceberg", "duckdb")] == [rows] * 3
        assert twins.counts[table] == len(rows)
    assert twins.versions == {**dict.fromkeys(TABLES, (2, 3)), QUARANTINE: (2, 3)}
    for table, files in twins.position_files.items():
        _are_one_file_of_positions_a_data_file(files, twins.position_deletes[table])
    bad = twins.rows["two"][QUARANTINE]
    assert bad == twins.rows["duckdb"][QUARANTINE] == twins.rows["pyiceberg"][QUARANTINE] != []
    assert twins.verified == dict.fromkeys(TABLES[1:], Verdict.SAME)


def _are_one_file_of_positions_a_data_file(files: Rows, positions: int) -> None:
    assert files
    assert {row[0] for row in files} == {"PARQUET"}
    assert len({bytes(row[1]) for row in files}) == len(files)
    assert sum(row[2] for row in files) == positions


def test_what_is_too_much_for_the_driver_is_merged_to_the_same_rows(twins: Twins) -> None:
    merged = twins.rows["two"]["silver.merged"]
    assert merged == twins.rows["two"]["silver.people"] == twins.rows["duckdb"]["silver.merged"]
    assert twins.accounts[2]["silver.merged"] == twins.accounts[2]["silver.people"]


def test_a_data_file_that_goes_as_a_whole_takes_its_deletes_along(twins: Twins) -> None:
    """Iceberg leaves them behind, and goes on counting them. Of so short a path its statistics know all."""
    shop = twins.two
    shop.take("in/0.csv", HEADER + "1,1,I,Oslo,a\n2,1,I,Oslo,b\n3,1,I,Oslo,c\n", "bronze.short")
    shop.spark.sql("DELETE FROM lake.bronze.short WHERE id = 2")
    assert _positions(shop, "bronze.short") == 1
    taken = shop.take("in/0.csv", HEADER + "4,1,I,Oslo,d\n", "bronze.short")
    account = taken.published["bronze.short"].account
    assert (account.rows_before, account.deleted, account.inserted, account.rows_after) == (2, 2, 1, 1)
    assert _positions(shop, "bronze.short") == 0
    assert shop.count("bronze.short") == 1


def test_deletes_that_a_compaction_of_another_tool_left_are_not_counted(twins: Twins) -> None:
    shop, table = twins.two, "silver.compacted"
    assert twins.live is not None
    assert twins.live < twins.before == twins.shown
    account = twins.accounts[2][table][-1]
    assert (account.rows_before, account) == (twins.before, twins.accounts[2]["silver.people"][-1])
    rows = twins.rows["two"]["silver.people"]
    assert shop.rows(table) == rows
    assert _shown_rows(shop, table) == len(rows)
    # The input of a full refresh is counted so, too: rows read are rows placed.
    assert shop.must_run("gold.compacted").published["gold.compacted"].account.read == len(rows)
    shop.must_run(table, full=[table])
    assert (shop.rows(table), shop.count(table), _positions(shop, table)) == (rows, len(rows), 0)


def test_maintenance_leaves_no_deletes_behind(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    shop, name = twins.two, TableName.parse("silver.merged")
    shop.must_run("gold.merged")
    monkeypatch.setattr(limits, "FRESH_FILES", 2)
    assert _positions(shop, "silver.merged") > 0
    maintainer = Maintainer(shop.handle, shop.lake(), Turns(shop.lake(), "maintain"))
    assert maintain_slice(maintainer, name).files > 1
    table = JavaTables(shop.spark).load(name)
    head = shop.head("silver.merged")
    assert deleted_rows(shop.spark, table, head.snapshot_id) == head.count("total-position-deletes")
    rows = twins.rows["two"]["silver.merged"]
    assert shop.rows("silver.merged") == rows == by_duckdb(shop, "silver.merged")
    assert shop.count("silver.merged") == len(rows)
    assert {record.kind for record in shop.must_run("gold.merged").published.values()} == {"advance"}


def test_bad_rows_come_back_from_quarantine(twins: Twins) -> None:
    shop = twins.two
    rows = "1,1,I,Oslo,Ann\n6,2,U,Oslo,much too long\n7,2,U,Oslo,much too long as well\n"
    shop.take("in/1.csv", HEADER + rows, "*.short")
    assert len(shop.quarantine("bronze.short")) == 2
    rule = BESIDE["tables/bronze/short.yaml"].replace("< 9", "< 14")
    shop.write({"tables/bronze/short.yaml": rule})
    account = replay(shop, BadRows(reason="name"), "bronze.short").published["bronze.short"].account
    assert (account.read, account.inserted, account.quarantined) == (2, 1, 1)
    assert [row["raw"] is None for row in shop.quarantine("bronze.short")] == [True]
    shop.must_run("silver.short")
    assert ("much too long",) in shop.rows("silver.short", "name")


@dataclass(frozen=True)
class Upgraded:
    """Both lakes after the batch that took the first to version 3; then a batch of ``silver.people``."""

    notes: tuple[str, ...]
    run: RunResult
    accounts: dict[str, Account]
    rows: dict[str, list[Rows]]
    versions: dict[str, int]
    last: RunResult


@pytest.fixture(scope="module")
def upgraded(twins: Twins) -> Upgraded:
    two, three = twins.two, twins.three
    two.write({"lakesmith.yaml": PROJECT.format(version=3)})
    decided = Decider(two.load()[1], two.lake()).decide(TableName.parse("silver.people"))
    runs = []
    for shop in (two, three):
        shop.land("landing/people/3.csv", HEADER + CHANGES[2])
        runs.append(shop.must_run(*TABLES))
    rows = {table: [two.rows(table), three.rows(table), by_pyiceberg(two, table)] for table in TABLES}
    versions = {table: two.state(table).format_version for table in TABLES}
    two.land("landing/people/4.csv", HEADER + "13,5,U,Oslo,last\n15,5,D,,\n")
    last = two.must_run("bronze.people", "silver.people")
    accounts = {table: record.account for table, record in runs[1].published.items()}
    return Upgraded(decided.notes, runs[0], accounts, rows, versions, last)  # type: ignore[union-attr]


def test_a_table_is_taken_to_version_3_by_its_next_batch(upgraded: Upgraded, twins: Twins) -> None:
    (note,) = upgraded.notes
    assert note.startswith("with its next batch, format_version 2 becomes 3")
    published = upgraded.run.published
    assert any("format_version 2 becomes 3" in text for text in published["silver.people"].notes)
    assert {table: record.account for table, record in published.items()} == upgraded.accounts
    assert set(published) == set(TABLES)
    assert upgraded.versions == dict.fromkeys(TABLES, 3)
    for table, (rows, of_twin, by_another) in upgraded.rows.items():
        assert rows == of_twin == by_another, table
    account, shop = upgraded.last.published["silver.people"].account, twins.two
    assert (account.updated, account.deleted) == (1, 1)
    assert account.rows_after == shop.count("silver.people") == len(shop.rows("silver.people"))
    ids = [row[0] for row in shop.frame("silver.people").select("_row_id").collect()]
    assert None not in ids
    assert len(set(ids)) == len(ids)


def test_a_table_does_not_go_back_to_version_2_and_is_built_anew_once_it_was_dropped(
    upgraded: Upgraded, twins: Twins
) -> None:
    shop = twins.two
    rows = shop.rows("silver.people")
    shop.write({"tables/silver/people.yaml": STAYS_TWO})
    for full in ([], ["silver.people"]):
        result = shop.run("silver.people", full=full)
        assert [problem.code for problem in result.problems] == ["LS516"]
    (problem,) = result.problems
    assert "lakesmith drop silver.people" in str(problem.hint)
    assert shop.rows("silver.people") == rows
    Lakehouse(shop.root).drop("silver.people").apply()
    shop.must_run("silver.people")
    assert shop.state("silver.people").format_version == 2
    assert shop.rows("silver.people") == rows == by_duckdb(shop, "silver.people")
