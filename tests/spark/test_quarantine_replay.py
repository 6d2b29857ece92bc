"""The ways out of quarantine: back through the present definition, exactly once, or away for good."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from harness import ProjectHarness, RunResult

from lakesmith.execute.events import Event
from lakesmith.execute.observe import Lake
from lakesmith.execute.quarantine import QuarantineDecider
from lakesmith.execute.session import Run
from lakesmith.plan.steps import BadRows, Strategy
from lakesmith.project.definitions import TableName
from lakesmith.spark.engine import SparkEngine

if TYPE_CHECKING:
    from lakesmith.spark.session import SessionHandle

pytestmark = pytest.mark.spark

SOURCE = "source:\n  files: {path: landing/orders/, pattern: '*.csv', format: csv}\n"
STRICT = (
    SOURCE
    + "columns: {id: bigint, price: 'decimal(10,2)'}\nrules: |\n  Rules = [ ColumnValues \"price\" > 0 ]\n"
)
LENIENT = (
    SOURCE
    + "columns: {id: bigint, price: 'decimal(10,2)'}\nrules: |\n  Rules = [ ColumnValues \"price\" > -10 ]\n"
)
ALL = BadRows()
COPY = "SELECT id, price FROM bronze.orders"
FILE = "id,price\n1,1.50\nx,2.00\n3,-1.00\n4,-20.00\n5,1.2345\n"


@pytest.fixture
def shop(tmp_path: Path, session: SessionHandle) -> ProjectHarness:
    files = {"tables/bronze/orders.yaml": STRICT, "tables/silver/orders.sql": COPY}
    shop = ProjectHarness(tmp_path / "shop", session, files)
    shop.land("landing/orders/1.csv", FILE)
    shop.must_run()
    return shop


def out_of_quarantine(shop: ProjectHarness, table: str, strategy: Strategy, rows: BadRows = ALL) -> RunResult:
    project, graph = shop.load()
    lake = Lake.open(project)
    decider = QuarantineDecider(graph, lake, strategy=strategy, bad_rows=rows)
    events: list[Event] = []
    run = Run(decider, (TableName.parse(table),), lambda *_: SparkEngine(shop.handle, lake), events.append)
    return RunResult(run.run(), tuple(events))


def replay(shop: ProjectHarness, rows: BadRows = ALL, table: str = "bronze.orders") -> RunResult:
    result = out_of_quarantine(shop, table, Strategy.REPLAY, rows)
    assert result.code == 0, result.problems
    return result


def drop(shop: ProjectHarness, rows: BadRows = ALL, table: str = "bronze.orders") -> RunResult:
    result = out_of_quarantine(shop, table, Strategy.DROP, rows)
    assert result.code == 0, result.problems
    return result


def positions(shop: ProjectHarness, table: str = "bronze.orders") -> list[int]:
    return [row["source_position"] for row in shop.quarantine(table)]


def test_a_corrected_rule_lets_its_rows_in_once(shop: ProjectHarness) -> None:
    assert positions(shop) == [2, 3, 4, 5]
    modified = shop.rows("bronze.orders", "_source_modified_at")
    shop.write({"tables/bronze/orders.yaml": LENIENT})
    record = replay(shop).published["bronze.orders"]
    assert (record.kind, record.batch, record.files) == ("replay", 2, 0)
    account = record.account
    assert (account.read, account.inserted, account.quarantined) == (4, 1, 3)
    assert (account.rows_before, account.rows_after) == (1, 2)
    rows = shop.rows("bronze.orders", "id", "_source_file", "_source_position", "_batch")
    assert rows == [(1, "landing/orders/1.csv", 1, 1), (3, "landing/orders/1.csv", 3, 2)]
    assert shop.rows("bronze.orders", "_source_modified_at") == modified * 2
    reasons = {row["source_position"]: row["reasons"] for row in shop.quarantine("bronze.orders")}
    assert reasons == {
        2: ["id: not a bigint: 'x'"],
        4: ['ColumnValues "price" > -10'],
        5: ["price: not a decimal(10,2): '1.2345'"],
    }
    assert {row["batch"] for row in shop.quarantine("bronze.orders")} == {1}
    assert record.checks == {'ColumnValues "price" > -10': 1}
    # Replayed again: nothing changes, and nothing is in twice.
    again = replay(shop).published["bronze.orders"].account
    assert (again.read, again.inserted, again.quarantined) == (3, 0, 3)
    assert shop.count("bronze.orders") == 2
    # Downstream sees an appended row.
    below = shop.must_run("silver.orders").published["silver.orders"]
    assert (below.kind, below.account.read, below.account.inserted) == ("append", 1, 1)
    assert [row[0] for row in shop.rows("silver.orders", "id")] == [1, 3]
    # The next file is taken as ever.
    shop.land("landing/orders/2.csv", "id,price\n6,6\n")
    shop.must_run()
    assert [row[0] for row in shop.rows("silver.orders", "id")] == [1, 3, 6]


def test_a_corrected_type_lets_texts_be_parsed_again(shop: ProjectHarness) -> None:
    shop.write({"tables/bronze/orders.yaml": STRICT.replace("decimal(10,2)", "decimal(12,2)")})
    account = replay(shop).published["bronze.orders"].account
    assert (account.read, account.inserted, account.quarantined) == (4, 0, 4)


def test_only_the_rows_that_are_meant(shop: ProjectHarness) -> None:
    shop.land("landing/orders/2.csv", "id,price\n7,-2\n")
    shop.must_run()
    shop.write({"tables/bronze/orders.yaml": LENIENT})
    account = replay(shop, BadRows(batch=2)).published["bronze.orders"].account
    assert (account.read, account.inserted) == (1, 1)
    account = replay(shop, BadRows(file="1.csv", reason='PRICE" >')).published["bronze.orders"].account
    assert (account.read, account.inserted, account.quarantined) == (2, 1, 1)
    result = out_of_quarantine(shop, "bronze.orders", Strategy.REPLAY, BadRows(file="3.csv"))
    assert (result.code, [problem.code for problem in result.problems]) == (2, ["LS225"])


def test_dropped_rows_are_gone_and_on_record(shop: ProjectHarness) -> None:
    before = shop.rows("bronze.orders", "id", "_batch")
    record = drop(shop, BadRows(reason="decimal")).published["bronze.orders"]
    assert (record.kind, record.account.read, record.account.rows_after) == ("drop", 0, 1)
    assert record.notes == ("1 row was dropped from quarantine (reason 'decimal')",)
    assert positions(shop) == [2, 3, 4]
    assert shop.rows("bronze.orders", "id", "_batch") == before
    assert drop(shop).published["bronze.orders"].notes == ("3 rows were dropped from quarantine (all rows)",)
    assert positions(shop) == []
    events = out_of_quarantine(shop, "bronze.orders", Strategy.DROP).events
    assert [getattr(event, "reason", "") for event in events][1] == "nothing is in its quarantine"
    # The record still says what was taken, so nothing is read again.
    assert shop.must_run("bronze.orders").published == {}


def test_a_drop_does_not_pass_for_a_changed_definition(shop: ProjectHarness) -> None:
    shop.write({"tables/silver/orders.yaml": "rules: 'Rules = [ ColumnValues \"id\" > 1 ]'\n"})
    shop.must_run()
    assert shop.rows("silver.orders", "id") == []
    shop.write({"tables/silver/orders.yaml": "rules: 'Rules = [ ColumnValues \"id\" > 0 ]'\n"})
    drop(shop, table="silver.orders")
    record = shop.must_run("silver.orders").published["silver.orders"]
    assert record.kind == "full"
    assert shop.rows("silver.orders", "id") == [(1,)]
