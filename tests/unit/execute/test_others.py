"""Tables of others, from when on they are read: which snapshot that is, and what of a plan begins there."""

from dataclasses import replace
from pathlib import Path

import pytest

from lakesmith.catalog.state import Snapshot, TableState
from lakesmith.errors import Place
from lakesmith.execute.decide import query_of
from lakesmith.execute.lake import Lake, external_facts
from lakesmith.graph.graph import Node
from lakesmith.plan.external_inputs import from_begin
from lakesmith.plan.facts import Query, TableFacts
from lakesmith.plan.fingerprint import NOTHING, Around
from lakesmith.plan.planner import plan_derived
from lakesmith.plan.steps import InputRange, Refused, Strategy, TableStep
from lakesmith.project.definitions import ExternalTable, History, SqlQuery, TableDefinition, TableName
from lakesmith.project.files import FolderFiles
from lakesmith.project.loader import parse_project
from lakesmith.sql.analysis import analyse

SALES = TableName("shop", "sales")
PLACE = Place("tables/shop/sales.yaml", 1)
EXTERNAL = ExternalTable(PLACE, TableName("bronze", "sales"), "../shop")
TABLE = TableDefinition(TableName("silver", "sales"), PLACE, query=SqlQuery("SELECT ...", PLACE))
QUERY = Query((SALES,), True, "v1", not_by_keys="shop.sales is read from a snapshot on")


def past(*operations: str) -> TableState:
    """A table with a snapshot of ten rows at each second after the epoch, as these operations made them."""
    snapshots = {
        number: Snapshot(
            number,
            number - 1 or None,
            number,
            number * 1000,
            operation,
            "",
            {"added-data-files": "1", "added-records": "10"},
        )
        for number, operation in enumerate(operations, 1)
    }
    shown = tuple((number, number * 1000) for number in snapshots)
    head = len(snapshots)
    return TableState(
        "shop.sales", "uuid", "", "", 2, (), snapshots, {"main": head}, frozenset(), shown, {}, (), {}, None
    )


THREE = past("append", "append", "append")


def facts(begin: str | None, state: TableState | None = THREE) -> TableFacts:
    return external_facts(SALES, replace(EXTERNAL, begin=begin), state)


@pytest.mark.parametrize(
    ("begin", "snapshot"),
    [("2", 2), ("1970-01-01T00:00:02Z", 2), ("1970-01-01T00:00:02.999+00:00", 2), (None, None)],
)
def test_a_snapshot_or_the_one_that_was_there_at_a_time(begin: str | None, snapshot: int | None) -> None:
    assert (facts(begin).begin, facts(begin).problem) == (snapshot, None)


@pytest.mark.parametrize("begin", ["9", "1970-01-01T00:00:00.500Z", "2999-01-01"])
def test_a_point_that_is_not_known(begin: str) -> None:
    found = facts(begin).problem
    assert found is not None and (found.code, found.place) == ("LS515", PLACE)


def test_a_table_that_is_not_there() -> None:
    found = facts(None, None).problem
    assert found is not None and (found.code, found.expected) == ("LS514", "bronze.sales of ../shop")


def test_a_whole_table_begins_there() -> None:
    inputs = {SALES: facts("2")}
    step = from_begin(plan_derived(TABLE, QUERY, TableFacts(), inputs), {SALES: EXTERNAL}, inputs)
    assert isinstance(step, TableStep) and step.strategy is Strategy.FULL
    assert step.inputs == (InputRange(SALES, "uuid", 2, 3, 10),)


@pytest.mark.parametrize("operation", ["overwrite", "delete"])
def test_rows_that_changed_since_are_refused(operation: str) -> None:
    inputs = {SALES: facts("1", past("append", operation, "append"))}
    found = from_begin(plan_derived(TABLE, QUERY, TableFacts(), inputs), {SALES: EXTERNAL}, inputs)
    assert isinstance(found, Refused) and found.problem.code == "LS515"
    assert found.problem.found == f"snapshot 2 ({operation}) changed or removed rows"
    # What changed before then does not matter.
    inputs = {SALES: facts("2", past("append", operation, "append"))}
    assert isinstance(
        from_begin(plan_derived(TABLE, QUERY, TableFacts(), inputs), {SALES: EXTERNAL}, inputs), TableStep
    )


def test_what_would_look_at_rows_from_before_is_left_out() -> None:
    text = "SELECT id, at FROM shop.sales"
    plain = replace(TABLE, query=SqlQuery(text, PLACE))
    keeping = replace(plain, key=("id",), latest_by=("at",), history=History.TYPE2)
    since = Around(begins={"shop.sales": "2"})
    whole, begun = (query_of(Node(plain, (SALES,), analyse(text)), besides) for besides in (NOTHING, since))
    assert (whole.row_wise, begun.row_wise) == (True, True)
    assert begun.not_by_keys == "shop.sales is read from a snapshot on"
    assert whole.fingerprint != begun.fingerprint
    # A late version of a key asks for all of them.
    versions = query_of(Node(keeping, (SALES,), analyse(text)), since)
    assert versions.row_wise is False
    assert versions.why_not == "it keeps versions, and shop.sales is read from a snapshot on"


def test_a_catalog_of_others_that_does_not_answer_is_a_problem_of_its_tables_alone(tmp_path: Path) -> None:
    """Its settings come from the environment: the address, which is one, is not shown."""
    (tmp_path / "tables/crm").mkdir(parents=True)
    (tmp_path / "lakesmith.yaml").write_text(
        'name: shop\ntargets: {local: {other_catalogs: {crm: {type: rest, uri: "http://${CRM}/api"}}}}\n'
    )
    (tmp_path / "tables/crm/customers.yaml").write_text("external: {catalog: crm, table: sales.customers}\n")
    project = parse_project(FolderFiles(tmp_path), environ={"CRM": "127.0.0.1:1"}).project
    problem = Lake.open(project).facts(TableName("crm", "customers")).problem
    assert problem is not None
    assert (problem.code, str(problem.place)) == ("LS325", "tables/crm/customers.yaml:1")
    assert "crm.customers, a table of others, cannot be looked at" in problem.what
    assert "127.0.0.1:1" not in "".join(problem.lines())
