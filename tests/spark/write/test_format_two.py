"""Tables of format version 2: other engines read the same, and every count is as in a version 3 twin."""

from pathlib import Path
from textwrap import dedent

import pytest
from harness import Harness
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
from lakesmith.spark.start.session import SessionHandle

pytestmark = [pytest.mark.in_turn, pytest.mark.usefixtures("by_keys")]

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
HEADER = "id,at,op,city,name\n"
KINDS = {"files", "append", "upsert", "sums", "keys", "full"}


def _shop(root: Path, session: SessionHandle, version: int) -> Harness:
    return Harness(root, session, {"lakesmith.yaml": PROJECT.format(version=version), **FILES})


def _land_first(shop: Harness) -> None:
    rows = "".join(f"{number},1,I,{'Oslo' if number % 2 else 'Rome'},n{number}\n" for number in range(40))
    shop.land("landing/people/0.csv", HEADER + rows)


CHANGES = (
    "1,2,U,Oslo,one\n2,2,U,Oslo,moved\n3,2,D,,\n99,1,I,Rome,new\n98,1,I,Rome,much too long a name\n"
    "97,1,I,Rome,bad\n",
    "5,3,D,,\n1,3,U,Rome,uno\n2,1,U,Rome,late\n97,2,U,Rome,good\n3,1,I,Oslo,buried\n",
    "7,9,D,,\n9,9,D,,\n11,2,U,Oslo,bad\n99,2,D,,\n",
)


def _go_on(shop: Harness, changes: tuple[str, ...] = CHANGES) -> tuple[dict[str, list[Account]], set[str]]:
    """The accounts of each table's batches, and the strategies that there were."""
    _land_first(shop)
    accounts: dict[str, list[Account]] = {table: [] for table in TABLES}
    kinds: set[str] = set()
    for number in range(len(changes) + 1):
        if number:
            shop.land(f"landing/people/{number}.csv", HEADER + changes[number - 1])
        for table, record in shop.must_run().published.items():
            accounts[table].append(record.account)
            kinds.add(record.kind)
    return accounts, kinds


def test_every_strategy_makes_the_rows_and_the_accounts_of_version_3(
    tmp_path: Path, session: SessionHandle
) -> None:
    two, three = (
        _shop(tmp_path / name / "shop", session, version) for name, version in (("two", 2), ("three", 3))
    )
    of_two, kinds = _go_on(two)
    of_three, _ = _go_on(three)
    assert kinds == KINDS
    assert of_two == of_three
    for table in TABLES:
        assert (two.state(table).format_version, three.state(table).format_version) == (2, 3)
        assert two.rows(table) == three.rows(table) == by_pyiceberg(two, table) == by_duckdb(two, table)
        assert two.count(table) == len(two.rows(table))
    for table in ("silver.people", "silver.past", "gold.cities"):
        _has_one_file_of_positions_a_data_file(two, table)
    quarantine = sidecar_of(TableName.parse("silver.people"), SidecarKind.QUARANTINE)
    assert two.state(str(quarantine)).format_version == 2
    bad = two.rows(str(quarantine), "row")
    assert bad == by_duckdb(two, str(quarantine), "row") == by_pyiceberg(two, str(quarantine), "row") != []
    two.must_verify(*TABLES[1:])
    rebuilt = {table: two.rows(table) for table in TABLES}
    two.must_run(full=TABLES[1:])
    assert {table: two.rows(table) for table in TABLES} == rebuilt


def _has_one_file_of_positions_a_data_file(shop: Harness, table: str) -> None:
    found = shop.spark.sql(
        f"SELECT file_format, lower_bounds[2147483546], record_count FROM lake.{table}.delete_files"
    ).collect()
    assert found
    assert {row[0] for row in found} == {"PARQUET"}
    assert len({bytes(row[1]) for row in found}) == len(found)
    head = shop.head(table)
    assert sum(row[2] for row in found) == head.count("total-position-deletes")


def test_what_is_too_much_for_the_driver_is_merged_to_the_same_rows(
    tmp_path: Path, session: SessionHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (_shop(tmp_path / name / "shop", session, 2) for name in ("one", "other"))
    accounts, _ = _go_on(one)
    monkeypatch.setattr(limits, "ROWS_REPLACED_BY_PLACE_UP_TO", 0)
    merged, _ = _go_on(other)
    assert other.rows("silver.people") == one.rows("silver.people") == by_duckdb(other, "silver.people")
    assert merged["silver.people"] == accounts["silver.people"]


def test_a_data_file_that_goes_as_a_whole_takes_its_deletes_along(
    tmp_path: Path, session: SessionHandle
) -> None:
    """Iceberg leaves them behind, and goes on counting them. Of so short a path its statistics know all."""
    shop = _shop(tmp_path / "shop", session, 2)
    shop.write(
        {"tables/bronze/people.yaml": FILES["tables/bronze/people.yaml"].replace("landing/people/", "in/")}
    )
    shop.take("in/0.csv", HEADER + "1,1,I,Oslo,a\n2,1,I,Oslo,b\n3,1,I,Oslo,c\n")
    shop.spark.sql("DELETE FROM lake.bronze.people WHERE id = 2")
    assert _positions(shop, "bronze.people") == 1
    account = shop.take("in/0.csv", HEADER + "4,1,I,Oslo,d\n").published["bronze.people"].account
    assert (account.rows_before, account.deleted, account.inserted, account.rows_after) == (2, 2, 1, 1)
    assert _positions(shop, "bronze.people") == 0
    assert shop.count("bronze.people") == 1


def _positions(shop: Harness, table: str) -> int:
    head = shop.head(table)
    return head.count("total-position-deletes")


def test_deletes_that_a_compaction_of_another_tool_left_are_not_counted(
    tmp_path: Path, session: SessionHandle
) -> None:
    shop = _shop(tmp_path / "shop", session, 2)
    _go_on(shop, CHANGES[:2])
    rows = len(shop.rows("silver.people"))
    shop.spark.sql(
        "CALL lake.system.rewrite_data_files(table => 'silver.people', where => 'city = \"Oslo\"',"
        " options => map('rewrite-all', 'true'))"
    ).collect()
    head = shop.head("silver.people")
    assert live_rows(head) < rows  # type: ignore[operator]
    assert _shown_rows(shop, "silver.people") == rows
    published = shop.take("landing/people/3.csv", HEADER + CHANGES[2]).published
    assert published["silver.people"].kind == "upsert"
    assert published["silver.people"].account.rows_before == rows
    assert _shown_rows(shop, "silver.people") == len(shop.rows("silver.people"))
    # The input of a full refresh is counted so, too: rows read are rows placed.
    shop.write({"tables/gold/copy.yaml": "from: silver.people\n"})
    assert shop.must_run("gold.copy").published["gold.copy"].account.read == len(shop.rows("silver.people"))


def _shown_rows(shop: Harness, table: str) -> int | None:
    project, graph = shop.load()
    (status,) = statuses(Decider(graph, Lake.open(project)), (TableName.parse(table),))
    return status.rows


def test_maintenance_leaves_no_deletes_behind(
    tmp_path: Path, session: SessionHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = _shop(tmp_path / "shop", session, 2)
    _go_on(shop)
    rows = shop.rows("silver.people")
    monkeypatch.setattr(limits, "FRESH_FILES", 2)
    maintainer = Maintainer(shop.handle, shop.lake(), Turns(shop.lake(), "maintain"))
    assert maintain_slice(maintainer, TableName.parse("silver.people")).files > 1
    table = JavaTables(shop.spark).load(TableName.parse("silver.people"))
    head = shop.head("silver.people")
    assert deleted_rows(shop.spark, table, head.snapshot_id) == head.count("total-position-deletes")
    assert shop.rows("silver.people") == rows == by_duckdb(shop, "silver.people")
    assert shop.count("silver.people") == len(rows)
    assert {record.kind for record in shop.must_run().published.values()} == {"advance"}


def test_bad_rows_come_back_from_quarantine(tmp_path: Path, session: SessionHandle) -> None:
    shop = _shop(tmp_path / "shop", session, 2)
    _go_on(shop, ("1,2,U,Oslo,much too long\n2,2,U,Oslo,much too long as well\n",))
    assert len(shop.quarantine("bronze.people")) == 2
    files = FILES["tables/bronze/people.yaml"].replace("< 9", "< 14")
    shop.write({"tables/bronze/people.yaml": files})
    account = replay(shop, BadRows(reason="name"), "bronze.people").published["bronze.people"].account
    assert (account.read, account.inserted, account.quarantined) == (2, 1, 1)
    assert [row["raw"] is None for row in shop.quarantine("bronze.people")] == [True]
    shop.must_run()
    assert ("much too long",) in shop.rows("silver.people", "name")


def test_a_table_is_taken_to_version_3_by_its_next_batch(tmp_path: Path, session: SessionHandle) -> None:
    shop = _shop(tmp_path / "shop", session, 2)
    twin = _shop(tmp_path / "twin" / "shop", session, 3)
    _go_on(shop, CHANGES[:2])
    accounts, _ = _go_on(twin)
    shop.write({"lakesmith.yaml": PROJECT.format(version=3)})
    project, graph = shop.load()
    decided = Decider(graph, Lake.open(project)).decide(TableName.parse("silver.people"))
    (note,) = decided.notes  # type: ignore[union-attr]
    assert note.startswith("with its next batch, format_version 2 becomes 3")
    published = shop.take("landing/people/3.csv", HEADER + CHANGES[2]).published
    assert any("format_version 2 becomes 3" in text for text in published["silver.people"].notes)
    assert {table: record.account for table, record in published.items()} == {
        table: accounts[table][-1] for table in published
    }
    for table in published:
        assert shop.state(table).format_version == 3
        assert shop.rows(table) == twin.rows(table) == by_pyiceberg(shop, table)
    shop.land("landing/people/4.csv", HEADER + "13,5,U,Oslo,last\n15,5,D,,\n")
    account = shop.must_run().published["silver.people"].account
    assert (account.updated, account.deleted) == (1, 1)
    assert shop.count("silver.people") == len(shop.rows("silver.people"))
    ids = [row[0] for row in shop.frame("silver.people").select("_row_id").collect()]
    assert None not in ids
    assert len(set(ids)) == len(ids)


def test_a_table_does_not_go_back_to_version_2_and_is_built_anew_once_it_was_dropped(
    tmp_path: Path, session: SessionHandle
) -> None:
    shop = _shop(tmp_path / "shop", session, 3)
    _go_on(shop, CHANGES[:1])
    rows = shop.rows("silver.people")
    shop.write({"tables/silver/people.yaml": f"{_dedented('tables/silver/people.yaml')}format_version: 2\n"})
    for full in ([], ["silver.people"]):
        result = shop.run("silver.people", full=full)
        assert [problem.code for problem in result.problems] == ["LS516"]
    (problem,) = result.problems
    assert "lakesmith drop silver.people" in str(problem.hint)
    assert shop.rows("silver.people") == rows
    Lakehouse(shop.root).drop("silver.people").apply()
    shop.must_run()
    assert shop.state("silver.people").format_version == 2
    assert shop.rows("silver.people") == rows == by_duckdb(shop, "silver.people")


def _dedented(name: str) -> str:
    return dedent(FILES[name]).removeprefix("\n")
