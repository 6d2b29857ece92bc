"""What steps read and replace, by the summaries of hand-made pasts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from lakesmith import limits
from lakesmith.catalog.progress import AppendRange
from lakesmith.catalog.state import Snapshot, TableState
from lakesmith.errors import Place
from lakesmith.plan.cost import UNKNOWN, Amount, Cost, DataSize, cost_of, held, is_small_part
from lakesmith.plan.facts import Query, TableFacts
from lakesmith.plan.planner import plan_derived
from lakesmith.plan.steps import Base, FileIntake, Strategy, TableStep
from lakesmith.project.definitions import FileSource, SqlQuery, TableDefinition, TableName
from lakesmith.project.formats import FileFormat
from lakesmith.sources.model import FileIdentity

if TYPE_CHECKING:
    from conftest import Table

PLACE = Place("tables/silver/customers.yaml", 1)
CUSTOMERS, ORDERS, CITIES = (
    TableName.parse(f"{name}") for name in ("silver.customers", "bronze.orders", "bronze.cities")
)
PLAIN = TableDefinition(CUSTOMERS, PLACE, query=SqlQuery("SELECT ...", PLACE))
ROW_WISE = Query((ORDERS,), True, "v1")
GROUPED = Query((ORDERS,), False, "v1", "GROUP BY")
JOINED = Query((ORDERS, CITIES), False, "v1", "it joins")


def cost(table: TableFacts, *inputs: Table, query: Query) -> tuple[Strategy, Cost]:
    """The strategy of silver.customers and what it costs."""
    facts = {TableName.parse(item.name): item.facts() for item in inputs}
    decision = plan_derived(PLAIN, query, table, facts)
    assert isinstance(decision, TableStep)
    states = {name: item.state for name, item in {**facts, CUSTOMERS: table}.items() if item.state}
    return decision.strategy, cost_of(decision, states)


def test_a_first_build_reads_all_and_replaces_nothing(orders: Table, cities: Table) -> None:
    orders.add(5, size=500)
    cities.add(1, size=20)
    assert cost(TableFacts(), orders, cities, query=JOINED) == (
        Strategy.FULL,
        Cost(reads=Amount(15 + 4, 520)),
    )


def test_a_rebuild_replaces_what_is_there(customers: Table, orders: Table) -> None:
    customers.add(7, size=70)
    customers.publish("v0", orders=orders)
    orders.add(5, size=500)
    assert cost(customers.facts(), orders, query=ROW_WISE) == (
        Strategy.FULL,
        Cost(reads=Amount(15, 500), replaces=Amount(7, 70)),
    )


def test_a_rebuild_of_an_empty_table_replaces_nothing(customers: Table, orders: Table) -> None:
    customers.publish("v0", orders=orders)
    assert cost(customers.facts(), orders, query=ROW_WISE)[1].replaces is None


def test_new_rows_alone_are_read(customers: Table, orders: Table) -> None:
    orders.add(100, size=9_000)
    customers.publish(orders=orders)
    orders.add(4, size=40)
    orders.compact()
    orders.add(5, size=50)
    assert cost(customers.facts(), orders, query=ROW_WISE) == (Strategy.APPEND, Cost(reads=Amount(9, 90)))


def test_a_move_without_a_change_costs_nothing(customers: Table, orders: Table) -> None:
    orders.add(100, size=9_000)
    customers.publish(orders=orders)
    orders.compact()
    assert cost(customers.facts(), orders, query=ROW_WISE) == (Strategy.ADVANCE, Cost())


def test_keys_read_between_what_changed_and_what_is_there(
    customers: Table, orders: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "COMPUTED_WHOLE_BELOW_BYTES", 0)
    orders.add(100, size=9_000)
    customers.publish(orders=orders)
    orders.add(4, size=40, deleted_records=3, removed_files_size=30)
    orders.compact()
    assert cost(customers.facts(), orders, query=GROUPED) == (
        Strategy.KEYS,
        Cost(reads=Amount(7, 70), at_most=Amount(121, 9_110)),
    )


def test_an_input_that_was_emptied_is_nothing_to_read(customers: Table, orders: Table) -> None:
    customers.publish(orders=orders)
    orders.main = None
    assert cost(customers.facts(), orders, query=ROW_WISE)[1].reads == Amount(0, 0)


def test_what_no_summary_tells_is_not_known(orders: Table) -> None:
    orders.add(5, size=500, total_equality_deletes=1)
    assert cost(TableFacts(), orders, query=ROW_WISE)[1].reads == Amount(None, 500)
    state = orders.facts().state
    assert state is not None
    head = replace(orders.snapshots[3], summary={})
    bare = replace(state, snapshots={**orders.snapshots, 3: head})
    assert held(bare, 3) == UNKNOWN
    assert Amount(1, 2) + Amount(None, 3) == Amount(None, 5)


def test_files_are_read_by_their_size() -> None:
    source = FileSource("files", "landing/", FileFormat.CSV, PLACE)
    one, two = FileIdentity("1.csv", 100, 0), FileIdentity("2.csv", 20, 0)
    states: dict[TableName, TableState] = {}
    step = TableStep(PLAIN, Strategy.FILES, "", Base(), "v1", intakes=(FileIntake(source, take=(one, two)),))
    assert cost_of(step, states) == Cost(2, Amount(None, 120))
    replacing = replace(step, intakes=(FileIntake(source, take=(one,), replace=(two,)),))
    assert cost_of(replacing, states) == Cost(2, Amount(None, 120), replaces=UNKNOWN)


def appended(*sizes: int | None, files: int = 1) -> AppendRange:
    counts = [{} if size is None else {"added-files-size": str(size)} for size in sizes]
    summaries = [{**count, "added-data-files": str(files)} for count in counts]
    return AppendRange(1, 9, tuple(snapshot_of(summary) for summary in summaries))


def snapshot_of(summary: dict[str, str]) -> Snapshot:
    return Snapshot(9, None, 9, 9000, "append", "", summary)


@pytest.mark.parametrize(
    ("added", "held", "besides", "small"),
    [
        (appended(1_000), 1_000_000, 0, True), (appended(1_000), 1_000, 0, False),
        (appended(1_000), 1_000, 1_000_000, True), (appended(600_000, 600_000), 2_000_000, 0, False),
        (appended(1_000, files=9), 1_000_000, 0, False), (appended(1_000, None), 1_000_000_000, 0, False),
        (appended(1_000), None, 0, False),
    ],
)  # fmt: skip
def test_appended_rows_are_looked_at_where_that_is_surely_cheap(
    added: AppendRange, held: int | None, besides: int, small: bool
) -> None:
    totals = {} if held is None else {"total-files-size": str(held), "total-data-files": "2"}
    assert is_small_part(added, snapshot_of(totals), besides) is small


@pytest.mark.parametrize(
    ("size", "rows", "stays", "found"),
    [
        (16 * 2**20, 999_999, True, DataSize.LITTLE),
        (16 * 2**20, 1_000_000, True, DataSize.MIXED),
        (16 * 2**20, 19_999_999, False, DataSize.LITTLE),
        (16 * 2**20, 20_000_000, False, DataSize.MIXED),
        (16 * 2**20 + 1, 0, True, DataSize.LARGE),
        (16 * 2**20 + 1, 10**9, True, DataSize.LARGE),
    ],
)
def test_what_a_session_is_set_up_for(size: int, rows: int, stays: bool, found: DataSize) -> None:
    assert DataSize.of(size, rows, stays) is found
