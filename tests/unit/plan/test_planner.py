"""What each table needs, from values alone: one case for every way a table and its inputs can stand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from lakesmith.catalog.state import ColumnState
from lakesmith.errors import Place, Problem
from lakesmith.plan.facts import Query, SourceFacts, TableFacts, as_recorded
from lakesmith.plan.planner import changed_columns, plan_derived
from lakesmith.plan.sourced import plan_sourced
from lakesmith.plan.steps import (
    Decision,
    FileIntake,
    InputRange,
    Refused,
    Strategy,
    TableStep,
    UpToDate,
    Waiting,
)
from lakesmith.project.definitions import Column, FileSource, SqlQuery, TableDefinition, TableName
from lakesmith.project.formats import FileFormat
from lakesmith.sources.model import FileIdentity

if TYPE_CHECKING:
    from conftest import Table

ORDERS, CITIES = TableName("bronze", "orders"), TableName("bronze", "cities")
PLACE = Place("tables/silver/customers.yaml", 1)
PLAIN = TableDefinition(TableName("silver", "customers"), PLACE, query=SqlQuery("SELECT ...", PLACE))
KEYED = TableDefinition(PLAIN.name, PLACE, query=PLAIN.query, key=("id",))
ROW_WISE = Query((ORDERS,), True, "v1")
GROUPED = Query((ORDERS,), False, "v1", "GROUP BY city at line 3")
JOINED = Query((ORDERS, CITIES), False, "v1", "it joins")
SMALL = "; its inputs are small (0.0 MB), so it is refreshed in full"
PYTHON = Query((ORDERS,), None, "v1")


def plan(
    table: TableFacts, *inputs: Table, query: Query = ROW_WISE, definition: TableDefinition = PLAIN
) -> Decision:
    """The decision for silver.customers."""
    return plan_derived(
        definition, query, table, {TableName.parse(item.name): item.facts() for item in inputs}
    )


def step(decision: Decision) -> TableStep:
    assert isinstance(decision, TableStep), decision
    return decision


def refused(decision: Decision) -> str:
    assert isinstance(decision, Refused), decision
    return decision.problem.code


def full_because(decision: Decision) -> str:
    """The reason of a full refresh, which reads every input whole."""
    found = step(decision)
    assert found.strategy is Strategy.FULL
    assert all(item.start is None for item in found.inputs)
    return found.reason


def test_a_table_that_is_not_there_is_built(orders: Table) -> None:
    found = step(plan(TableFacts(), orders))
    assert full_because(found) == "the table is built for the first time"
    assert found.inputs == (InputRange(ORDERS, "bronze.orders", None, 2, 10),)
    assert (found.base.uuid, found.base.snapshot, found.base.record) == (None, None, None)
    assert found.row_wise


def test_an_input_of_which_nothing_was_ever_published_is_waited_for(customers: Table) -> None:
    made = replace(customers, name="bronze.orders", snapshots={})
    decision = plan(customers.facts(), made)
    assert isinstance(decision, Waiting)
    assert decision.upstream == (ORDERS,)


def test_a_table_of_files_is_not_derived_all_at_once_nor_the_other_way_round(
    customers: Table, orders: Table
) -> None:
    customers.publish(orders=orders)
    assert refused(plan_sourced(SOURCED, "v1", customers.facts(), SourceFacts())) == "LS510"
    files = replace(customers, snapshots={}, main=None, of_files=True)
    files.publish(rows=3)
    assert refused(plan(files.facts(), orders)) == "LS510"
    asked = plan_derived(PLAIN, ROW_WISE, files.facts(), {ORDERS: orders.facts()}, full=True)
    assert refused(asked) == "LS510"


def test_a_full_refresh_that_was_asked_for_forgets_no_refusal(customers: Table, orders: Table) -> None:
    customers.publish(orders=orders)
    facts = customers.facts()
    assert facts.progress is not None
    assert facts.progress.record is not None
    record = replace(facts.progress.record, refused=as_recorded({"keys": "a clock"}))
    told = replace(facts, progress=replace(facts.progress, record=record))
    found = step(plan_derived(PLAIN, GROUPED, told, {ORDERS: orders.facts()}, full=True))
    assert found.refused == {"keys": "a clock"}


def test_a_table_that_was_made_and_never_published_is_built(customers: Table, orders: Table) -> None:
    found = step(plan(customers.facts(), orders))
    assert full_because(found) == "the table is built for the first time"
    assert (found.base.uuid, found.base.snapshot) == ("silver.customers", None)


def test_inputs_at_their_recorded_positions_are_nothing_to_do(customers: Table, orders: Table) -> None:
    customers.publish(orders=orders)
    decision = plan(customers.facts(), orders)
    assert isinstance(decision, UpToDate)
    assert decision.reason == "its inputs have not changed"


@pytest.mark.parametrize(("definition", "strategy"), [(PLAIN, Strategy.APPEND), (KEYED, Strategy.UPSERT)])
@pytest.mark.parametrize("query", [ROW_WISE, PYTHON], ids=["sql", "python"])
def test_appended_rows_alone_are_read(
    customers: Table, orders: Table, query: Query, definition: TableDefinition, strategy: Strategy
) -> None:
    customers.publish(orders=orders)
    orders.publish(rows=4)
    orders.publish(rows=5)
    found = step(plan(customers.facts(), orders, query=query, definition=definition))
    assert found.strategy is strategy
    assert found.inputs == (InputRange(ORDERS, "bronze.orders", 2, 6, 9),)
    assert found.reason == "bronze.orders has 9 new rows and no others changed"
    assert found.row_wise
    assert found.base.snapshot == 1


def test_an_input_that_was_empty_is_read_from_its_beginning(customers: Table) -> None:
    orders = replace(customers, name="bronze.orders", snapshots={})
    customers.publish(orders=orders)
    orders.publish(rows=7)
    found = step(plan(customers.facts(), orders))
    assert found.strategy is Strategy.APPEND
    assert found.inputs == (InputRange(ORDERS, "bronze.orders", None, 2, 7),)


def test_what_is_not_row_wise_is_recomputed_with_its_reason(customers: Table, orders: Table) -> None:
    customers.publish(orders=orders)
    orders.publish(rows=4)
    found = step(plan(customers.facts(), orders, query=GROUPED))
    assert full_because(found) == f"GROUP BY city at line 3{SMALL}"
    assert not found.row_wise


def test_rows_that_were_changed_in_the_input_make_it_full(customers: Table, orders: Table) -> None:
    customers.publish(orders=orders)
    orders.add(4)
    changed = orders.change()
    assert full_because(plan(customers.facts(), orders)) == (
        f"bronze.orders: snapshot {changed} (overwrite) changed or removed rows{SMALL}"
    )


def test_an_append_that_also_removes_is_not_an_append(customers: Table, orders: Table) -> None:
    customers.publish(orders=orders)
    orders.add(4, added_delete_files=1)
    assert "also removed rows" in full_because(plan(customers.facts(), orders))


def test_a_rolled_back_input_makes_it_full(customers: Table, orders: Table) -> None:
    orders.add(4)
    customers.publish(orders=orders)
    orders.main = 2
    assert "rolled back" in full_because(plan(customers.facts(), orders))


def test_an_emptied_input_makes_it_full(customers: Table, orders: Table) -> None:
    customers.publish(orders=orders)
    orders.main = None
    found = step(plan(customers.facts(), orders))
    assert full_because(found) == f"bronze.orders: it has been emptied by another tool{SMALL}"
    assert found.inputs == (InputRange(ORDERS, "bronze.orders", None, None, 0),)


def test_expired_snapshots_on_the_way_make_it_full(customers: Table, orders: Table) -> None:
    customers.publish(orders=orders)
    middle = orders.add(4)
    orders.add(5)
    inputs = {ORDERS: orders.facts(middle)}
    decision = plan_derived(PLAIN, ROW_WISE, customers.facts(), inputs)
    assert full_because(decision) == f"bronze.orders: snapshot {middle}, committed since, has expired{SMALL}"


def test_the_recorded_position_itself_may_have_expired(customers: Table, orders: Table) -> None:
    customers.publish(orders=orders)
    start = orders.main
    orders.publish(rows=5)
    decision = plan_derived(PLAIN, ROW_WISE, customers.facts(), {ORDERS: orders.facts(1, start or 0)})
    assert step(decision).strategy is Strategy.APPEND


@pytest.mark.parametrize("query", [ROW_WISE, GROUPED], ids=["row-wise", "grouped"])
def test_compaction_only_moves_the_position(customers: Table, orders: Table, query: Query) -> None:
    customers.publish(orders=orders)
    orders.compact()
    found = step(plan(customers.facts(), orders, query=query))
    assert found.strategy is Strategy.ADVANCE
    assert found.inputs == (InputRange(ORDERS, "bronze.orders", 2, 3, 0),)


def test_compaction_and_appends_are_appends(customers: Table, orders: Table) -> None:
    customers.publish(orders=orders)
    orders.add(4)
    orders.compact()
    found = step(plan(customers.facts(), orders))
    assert (found.strategy, found.inputs[0].rows) == (Strategy.APPEND, 4)


def test_one_of_two_inputs_compacted_moves_both_positions(
    customers: Table, orders: Table, cities: Table
) -> None:
    customers.publish(orders=orders, cities=cities)
    cities.compact()
    found = step(plan(customers.facts(), orders, cities, query=JOINED))
    assert found.strategy is Strategy.ADVANCE
    assert {item.table: item.end for item in found.inputs} == {ORDERS: 2, CITIES: 3}


def test_one_of_two_inputs_grown_recomputes_with_both(customers: Table, orders: Table, cities: Table) -> None:
    customers.publish(orders=orders, cities=cities)
    cities.add(1)
    found = step(plan(customers.facts(), orders, cities, query=JOINED))
    assert full_because(found) == f"it joins{SMALL}"
    assert {item.table: (item.end, item.rows) for item in found.inputs} == {ORDERS: (2, 10), CITIES: (3, 4)}


def test_a_changed_definition_is_built_anew_though_nothing_moved(customers: Table, orders: Table) -> None:
    customers.publish("v0", orders=orders)
    assert full_because(plan(customers.facts(), orders)) == "its definition has changed"


def test_a_recreated_input_is_read_anew(customers: Table, orders: Table) -> None:
    customers.publish(orders=orders)
    again = replace(orders, uuid="another")
    decision = plan(customers.facts(), again)
    assert full_because(decision) == "bronze.orders was dropped and created again"


def test_rows_that_others_wrote_into_a_derived_table_are_not_kept(customers: Table, orders: Table) -> None:
    customers.publish(orders=orders)
    foreign = customers.add(1)
    decision = plan(customers.facts(), orders)
    assert full_because(decision) == f"another engine changed its rows (snapshot {foreign}, append)"
    assert step(decision).base.snapshot == foreign


def test_a_compaction_of_the_table_itself_changes_nothing(customers: Table, orders: Table) -> None:
    customers.publish(orders=orders)
    compacted = customers.compact()
    assert isinstance(plan(customers.facts(), orders), UpToDate)
    orders.add(1)
    found = step(plan(customers.facts(), orders))
    assert (found.strategy, found.base.snapshot) == (Strategy.APPEND, compacted)


def test_a_table_without_a_record_is_refused_and_never_taken_for_new(customers: Table, orders: Table) -> None:
    customers.add(5)
    decision = plan(customers.facts(), orders)
    assert isinstance(decision, Refused)
    assert decision.problem.code == "LS501"


def test_a_full_refresh_mends_a_table_without_a_record(customers: Table, orders: Table) -> None:
    customers.add(5)
    decision = plan_derived(PLAIN, ROW_WISE, customers.facts(), {ORDERS: orders.facts()}, full=True)
    assert full_because(decision) == "a full refresh was asked for"
    assert (step(decision).base.uuid, step(decision).base.snapshot) == ("silver.customers", 1)


def test_inputs_that_are_not_there_are_waited_for(customers: Table, orders: Table) -> None:
    inputs = {ORDERS: orders.facts(), CITIES: TableFacts()}
    decision = plan_derived(PLAIN, JOINED, customers.facts(), inputs)
    assert decision == Waiting(PLAIN, (CITIES,))


def test_a_query_without_inputs_is_run_once(customers: Table) -> None:
    constant = Query((), False, "v1", "it reads nothing")
    assert full_because(plan(TableFacts(), query=constant)) == "the table is built for the first time"
    customers.publish(rows=1)
    assert isinstance(plan(customers.facts(), query=constant), UpToDate)


def test_rows_nobody_counted_leave_the_account_by_row_out(orders: Table) -> None:
    orders.add(1, total_equality_deletes=1)
    found = step(plan(TableFacts(), orders))
    assert found.inputs[0].rows is None
    assert not found.row_wise


# Sourced tables

SOURCE = FileSource("files", "landing", FileFormat.CSV, PLACE)
SOURCED = TableDefinition(ORDERS, PLACE, sources=(SOURCE,))
ONE, TWO = FileIdentity("landing/1.csv", 5, 1), FileIdentity("landing/2.csv", 5, 2)


def sourced(table: TableFacts, sources: SourceFacts) -> Decision:
    return plan_sourced(SOURCED, "v1", table, sources)


def test_new_files_are_taken(orders: Table) -> None:
    intake = FileIntake(SOURCE, (ONE, TWO))
    found = step(sourced(orders.facts(), SourceFacts((intake,), known=5)))
    assert (found.strategy, found.reason, found.file_count) == (Strategy.FILES, "2 new files", 2)
    assert found.base.snapshot == 2


def test_files_that_replace_others_are_taken(orders: Table) -> None:
    found = step(sourced(orders.facts(), SourceFacts((FileIntake(SOURCE, (), (ONE,)),))))
    assert found.file_count == 1


@pytest.mark.parametrize(
    ("there", "sources", "reason"),
    [
        (False, SourceFacts(), "no file has arrived yet"),
        (False, SourceFacts(waiting=2), "no file has arrived yet (2 too young)"),
        (True, SourceFacts(known=3), "all 3 files were ingested already"),
        (True, SourceFacts(known=1), "the only file was ingested already"),
        (True, SourceFacts(), "no file is there"),
        (True, SourceFacts(waiting=2), "no file is there, 2 too young"),
        (True, SourceFacts(known=3, skipped=1), "2 files were ingested already, 1 skipped"),
        (True, SourceFacts(known=3, skipped=2), "1 file was ingested already, 2 skipped"),
        (True, SourceFacts(known=2, skipped=2), "all 2 files were skipped"),
        (True, SourceFacts(known=1, skipped=1), "the only file was skipped"),
        (True, SourceFacts(known=3, waiting=1), "all 3 files were ingested already, 1 too young"),
    ],
)
def test_no_new_file_is_nothing_to_do(orders: Table, there: bool, sources: SourceFacts, reason: str) -> None:
    decision = sourced(orders.facts() if there else TableFacts(), sources)
    assert isinstance(decision, UpToDate)
    assert decision.reason == reason


def test_what_is_wrong_with_a_source_refuses_its_table(orders: Table) -> None:
    problem = Problem("LS410", "1 file changed")
    decision = sourced(orders.facts(), SourceFacts((FileIntake(SOURCE, (ONE,)),), (problem,)))
    assert decision == Refused(SOURCED, problem)


def test_a_python_table_is_rebuilt_for_a_new_column_and_that_is_called_what_it_is(
    customers: Table, orders: Table
) -> None:
    customers.publish(orders=orders)
    state, facts = orders.facts().state, customers.facts()
    record = facts.base.record
    assert state is not None
    assert record is not None
    before = (ColumnState(1, "id", "int", False),)
    now = (*before, ColumnState(2, "channel", "string", False))
    states = {ORDERS: replace(state, columns=now, schemas={0: before, 1: now}, schema_id=1)}
    record = replace(record, inputs={str(ORDERS): replace(record.inputs[str(ORDERS)], schema=0)})
    assert changed_columns(PLAIN, PYTHON, states, record) == (
        "its input bronze.orders has a new column: channel, which its Python may use"
    )
    passed_on = replace(PYTHON, computed=("id",), named=("id",))
    assert changed_columns(PLAIN, passed_on, states, record) is None


@pytest.mark.parametrize(
    ("there", "declared", "right"),
    [
        ("string", "bigint", False), ("bigint", "int", False), ("int", "bigint", True),
        ("float", "double", True), ("decimal(10,2)", "decimal(12,2)", True),
        ("decimal(10,2)", "decimal(12,4)", False), ("timestamp", "timestamp", True),
        ("struct<a:int,evolved:string>", "struct<a:bigint>", True),
        ("struct<a:int>", "struct<a:string>", False), ("map<int,string>", "map<bigint,string>", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("files", [(), (FileIdentity("2.csv", 1, 1),)])
def test_a_declared_type_that_the_table_cannot_get_is_told_before_anything_runs(
    orders: Table, there: str, declared: str, right: bool, files: tuple[FileIdentity, ...]
) -> None:
    at = Place("tables/bronze/orders.yaml", 4)
    table = replace(SOURCED, columns=(Column("Note", declared, place=at), Column("new", "date", place=at)))
    facts = orders.facts()
    assert facts.state is not None
    facts = replace(facts, state=replace(facts.state, columns=(ColumnState(1, "note", there, False),)))
    decision = plan_sourced(table, "v1", facts, SourceFacts((FileIntake(SOURCED.sources[0], files),)))
    if right:
        assert not isinstance(decision, Refused)
        return
    assert isinstance(decision, Refused)
    problem = decision.problem
    assert (problem.code, problem.place, problem.found) == ("LS507", at, declared)
    assert (problem.expected or "").startswith(there)
    assert "lakesmith drop bronze.orders" in (problem.hint or "")
    assert "--full-refresh" not in (problem.hint or "")


def test_what_is_wrong_with_the_table_comes_first(customers: Table) -> None:
    customers.add(1)
    decision = sourced(customers.facts(), SourceFacts(problems=(Problem("LS410", "1 file changed"),)))
    assert isinstance(decision, Refused)
    assert decision.problem.code == "LS501"
