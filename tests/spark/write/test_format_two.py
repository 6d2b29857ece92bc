"""Tables of format version 2: other engines read the same, and every count is as in a version 3 twin.

Two lakes get the same files. That of version 2 has tables beside, which are merged or compacted by another.
The cases take both further, in their order.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from textwrap import dedent

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
BESIDE = {
    "tables/bronze/short.yaml": FILES["tables/bronze/people.yaml"].replace("landing/people/", "in/"),
    "tables/silver/merged.yaml": FILES["tables/silver/people.yaml"],
    "tables/silver/compacted.yaml": FILES["tables/silver/people.yaml"],
    "tables/gold/copy.yaml": "from: silver.compacted\n",
}
HEADER = "id,at,op,city,name\n"
KINDS = {"files", "append", "upsert", "sums", "keys", "full"}
WITH_DELETES = ("silver.people", "silver.past", "gold.cities")
PEOPLE = TableName.parse("silver.people")
CHANGES = (
    "".join(f"{number},1,I,{'Oslo' if number % 2 else 'Rome'},n{number}\n" for number in range(40)),
    "1,2,U,Oslo,one\n2,2,U,Oslo,moved\n3,2,D,,\n99,1,I,Rome,new\n98,1,I,Rome,much too long a name\n"
    "97,1,I,Rome,bad\n33,2,U,Oslo,much too long\n",
    "5,3,D,,\n1,3,U,Rome,uno\n2,1,U,Rome,late\n97,2,U,Rome,good\n3,1,I,Oslo,buried\n",
    "7,9,D,,\n9,9,D,,\n11,2,U,Oslo,bad\n99,2,D,,\n",
)
TAKEN = (TABLES, TABLES[:3], (*TABLES[:3], "gold.cities", "gold.first"), TABLES)
"""By batch of bronze.people: the tables that take it then. The others take it with their next."""


def _take(shop: Harness, number: int, tables: tuple[str, ...]) -> RunResult:
    return shop.take(f"landing/people/{number}.csv", HEADER + CHANGES[number], *tables)


@dataclass
class Twins:
    """By version the accounts of each table's batches; and the strategies that there were."""

    two: Harness
    three: Harness
    accounts: dict[int, dict[str, list[Account]]] = field(default_factory=lambda: {2: {}, 3: {}})
    kinds: set[str] = field(default_factory=set)

    def take(self, number: int) -> None:
        runs = [(2, _take(self.two, number, TAKEN[number])), (3, _take(self.three, number, TAKEN[number]))]
        self.kinds |= {record.kind for record in runs[0][1].published.values()}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(limits, "ROWS_REPLACED_BY_PLACE_UP_TO", 0)
            runs.append((2, self.two.must_run("silver.merged")))
        for version, run in runs:
            for table, record in run.published.items():
                self.accounts[version].setdefault(table, []).append(record.account)


def _positions(shop: Harness, table: str) -> int:
    head = shop.head(table)
    return head.count("total-position-deletes")


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
    for number in range(len(CHANGES)):
        twins.take(number)
        if number in (1, 2):
            twins.two.must_run("silver.compacted")
    return twins


def test_every_strategy_makes_the_rows_and_the_accounts_of_version_3(twins: Twins) -> None:
    two, three = twins.two, twins.three
    assert twins.kinds == KINDS
    for table, batches in zip(TABLES, (4, 4, 4, 2, 3, 3, 2), strict=True):
        assert twins.accounts[2][table] == twins.accounts[3][table]
        assert len(twins.accounts[2][table]) == batches
        assert (two.state(table).format_version, three.state(table).format_version) == (2, 3)
        assert two.rows(table) == three.rows(table) == by_pyiceberg(two, table) == by_duckdb(two, table)
        assert two.count(table) == len(two.rows(table))
    for table in WITH_DELETES:
        _has_one_file_of_positions_a_data_file(two, table)
    quarantine = str(sidecar_of(PEOPLE, SidecarKind.QUARANTINE))
    assert two.state(quarantine).format_version == 2
    bad = two.rows(quarantine, "row")
    assert bad == by_duckdb(two, quarantine, "row") == by_pyiceberg(two, quarantine, "row") != []
    two.must_verify(*TABLES[1:])


def _has_one_file_of_positions_a_data_file(shop: Harness, table: str) -> None:
    found = shop.spark.sql(
        f"SELECT file_format, lower_bounds[2147483546], record_count FROM lake.{table}.delete_files"
    ).collect()
    assert found
    assert {row[0] for row in found} == {"PARQUET"}
    assert len({bytes(row[1]) for row in found}) == len(found)
    assert sum(row[2] for row in found) == _positions(shop, table)


def test_what_is_too_much_for_the_driver_is_merged_to_the_same_rows(twins: Twins) -> None:
    shop = twins.two
    assert shop.rows("silver.merged") == shop.rows("silver.people") == by_duckdb(shop, "silver.merged")
    assert twins.accounts[2]["silver.merged"] == twins.accounts[2]["silver.people"]


def test_a_data_file_that_goes_as_a_whole_takes_its_deletes_along(twins: Twins) -> None:
    """Iceberg leaves them behind, and goes on counting them. Of so short a path its statistics know all."""
    shop, table = twins.two, "bronze.short"
    shop.take("in/0.csv", HEADER + "1,1,I,Oslo,a\n2,1,I,Oslo,b\n3,1,I,Oslo,c\n", table)
    shop.spark.sql("DELETE FROM lake.bronze.short WHERE id = 2")
    assert _positions(shop, table) == 1
    account = shop.take("in/0.csv", HEADER + "4,1,I,Oslo,d\n", table).published[table].account
    assert (account.rows_before, account.deleted, account.inserted, account.rows_after) == (2, 2, 1, 1)
    assert _positions(shop, table) == 0
    assert shop.count(table) == 1


def test_deletes_that_a_compaction_of_another_tool_left_are_not_counted(twins: Twins) -> None:
    shop, table = twins.two, "silver.compacted"
    rows = len(shop.rows(table))
    shop.spark.sql(
        "CALL lake.system.rewrite_data_files(table => 'silver.compacted', where => 'city = \"Oslo\"',"
        " options => map('rewrite-all', 'true'))"
    ).collect()
    head = shop.head(table)
    assert live_rows(head) < rows  # type: ignore[operator]
    assert _shown_rows(shop, table) == rows
    record = shop.must_run(table).published[table]
    assert (record.kind, record.account.rows_before) == ("upsert", rows)
    assert _shown_rows(shop, table) == len(shop.rows(table))
    # The input of a full refresh is counted so, too: rows read are rows placed.
    assert shop.must_run("gold.copy").published["gold.copy"].account.read == len(shop.rows(table))


def test_maintenance_leaves_no_deletes_behind(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = twins.two
    rows = shop.rows("silver.people")
    monkeypatch.setattr(limits, "FRESH_FILES", 2)
    maintainer = Maintainer(shop.handle, shop.lake(), Turns(shop.lake(), "maintain"))
    assert maintain_slice(maintainer, PEOPLE).files > 1
    table = JavaTables(shop.spark).load(PEOPLE)
    head = shop.head("silver.people")
    assert deleted_rows(shop.spark, table, head.snapshot_id) == head.count("total-position-deletes")
    assert shop.rows("silver.people") == rows == by_duckdb(shop, "silver.people")
    assert shop.count("silver.people") == len(rows)
    assert {record.kind for record in shop.must_run(*TABLES).published.values()} == {"advance"}


def test_bad_rows_come_back_from_quarantine(twins: Twins) -> None:
    shop = twins.two
    assert len(shop.quarantine("bronze.people")) == 2
    files = FILES["tables/bronze/people.yaml"].replace("< 9", "< 14")
    shop.write({"tables/bronze/people.yaml": files})
    account = replay(shop, BadRows(reason="name"), "bronze.people").published["bronze.people"].account
    assert (account.read, account.inserted, account.quarantined) == (2, 1, 1)
    assert [row["raw"] is None for row in shop.quarantine("bronze.people")] == [True]
    shop.must_run(*WITH_DELETES)
    assert ("much too long",) in shop.rows("silver.people", "name")


def test_a_full_refresh_makes_the_same_rows(twins: Twins) -> None:
    shop = twins.two
    rows = {table: shop.rows(table) for table in WITH_DELETES}
    shop.must_run(*WITH_DELETES, full=WITH_DELETES)
    assert {table: shop.rows(table) for table in WITH_DELETES} == rows


def test_a_table_is_taken_to_version_3_by_its_next_batch(make_shop: MakeShop, twins: Twins) -> None:
    shop = make_shop({"lakesmith.yaml": PROJECT.format(version=2), **FILES})
    _take(shop, 0, TAKEN[0])
    shop.land("landing/people/1.csv", HEADER + CHANGES[1])
    _take(shop, 2, TAKEN[2])
    shop.write({"lakesmith.yaml": PROJECT.format(version=3)})
    project, graph = shop.load()
    decided = Decider(graph, Lake.open(project)).decide(PEOPLE)
    (note,) = decided.notes  # type: ignore[union-attr]
    assert note.startswith("with its next batch, format_version 2 becomes 3")
    assert {shop.state(table).format_version for table in TABLES} == {2}
    published = _take(shop, 3, TAKEN[3]).published
    assert any("format_version 2 becomes 3" in text for text in published["silver.people"].notes)
    assert {table: record.account for table, record in published.items()} == {
        table: twins.accounts[3][table][-1] for table in TABLES
    }
    for table in published:
        assert shop.state(table).format_version == 3
        assert shop.rows(table) == twins.three.rows(table) == by_pyiceberg(shop, table)
    shop.land("landing/people/4.csv", HEADER + "13,5,U,Oslo,last\n15,5,D,,\n")
    account = shop.must_run(*TABLES[:2]).published["silver.people"].account
    assert (account.updated, account.deleted) == (1, 1)
    assert shop.count("silver.people") == len(shop.rows("silver.people"))
    ids = [row[0] for row in shop.frame("silver.people").select("_row_id").collect()]
    assert None not in ids
    assert len(set(ids)) == len(ids)


def test_a_table_does_not_go_back_to_version_2_and_is_built_anew_once_it_was_dropped(twins: Twins) -> None:
    shop, rows = twins.three, twins.three.rows("silver.people")
    settings = dedent(FILES["tables/silver/people.yaml"]).removeprefix("\n")
    shop.write({"tables/silver/people.yaml": f"{settings}format_version: 2\n"})
    for full in ([], ["silver.people"]):
        result = shop.run("silver.people", full=full)
        assert [problem.code for problem in result.problems] == ["LS516"]
    (problem,) = result.problems
    assert "lakesmith drop silver.people" in str(problem.hint)
    assert shop.rows("silver.people") == rows
    Lakehouse(shop.root).drop("silver.people").apply()
    shop.must_run("silver.people", "gold.cities")
    assert shop.state("silver.people").format_version == 2
    assert shop.rows("silver.people") == rows == by_duckdb(shop, "silver.people")
