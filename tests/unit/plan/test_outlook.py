"""The outlook of a waiting table: by the real planner, over inputs that moved as planned."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from lakesmith import limits
from lakesmith.errors import Place
from lakesmith.plan.cost import Amount
from lakesmith.plan.facts import Query, TableFacts
from lakesmith.plan.outlook import Move, Outlook, expected_move, move_of, outlook_of
from lakesmith.plan.steps import Base, FileIntake, Strategy, TableStep, Waiting
from lakesmith.project.definitions import FileSource, SqlQuery, TableDefinition, TableName
from lakesmith.project.formats import FileFormat
from lakesmith.sources.model import FileIdentity

if TYPE_CHECKING:
    from conftest import Table

PLACE = Place("tables/silver/customers.yaml", 1)
ORDERS, CITIES = TableName("bronze", "orders"), TableName("bronze", "cities")
PLAIN = TableDefinition(TableName("silver", "customers"), PLACE, query=SqlQuery("SELECT ...", PLACE))
KEYED = replace(PLAIN, key=("id",))
ROW_WISE = Query((ORDERS,), True, "v1")
GROUPED = Query((ORDERS,), False, "v1", "GROUP BY")
WHOLE = Query((ORDERS,), False, "v1", "LIMIT", not_by_keys="LIMIT")
JOINED = Query((ORDERS, CITIES), False, "v1", "it joins")


@pytest.fixture(autouse=True)
def _by_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COMPUTED_WHOLE_BELOW_BYTES", 1)


@pytest.fixture
def filled(customers: Table, orders: Table) -> Table:
    """The table that waits: 6 rows of 60 bytes, made from 30 rows of 300."""
    orders.add(20, size=300)
    customers.add(6, size=60)
    customers.publish(orders=orders)
    return customers


def outlook(
    table: TableFacts,
    move: Move,
    *inputs: Table,
    query: Query = ROW_WISE,
    definition: TableDefinition = PLAIN,
) -> Outlook:
    """Of silver.customers, when bronze.orders moves."""
    facts = {TableName.parse(item.name): item.facts() for item in inputs}
    return outlook_of(Waiting(definition, (ORDERS,)), query, table, facts, {ORDERS: move})


@pytest.mark.parametrize(
    ("query", "definition", "move", "strategy"),
    [
        (ROW_WISE, PLAIN, Move.APPENDS, Strategy.APPEND),
        (ROW_WISE, KEYED, Move.APPENDS, Strategy.UPSERT),
        (ROW_WISE, PLAIN, Move.NOTHING, Strategy.ADVANCE),
        (replace(ROW_WISE, not_by_keys="a clock"), PLAIN, Move.CHANGES, Strategy.FULL),
        (ROW_WISE, PLAIN, Move.CHANGES, Strategy.KEYS),
        (ROW_WISE, KEYED, Move.REBUILDS, Strategy.KEYS),
        (replace(ROW_WISE, not_by_keys="a clock"), KEYED, Move.REBUILDS, Strategy.FULL),
        (ROW_WISE, PLAIN, Move.APPENDS_OR_CHANGES, None),
        (GROUPED, PLAIN, Move.APPENDS, Strategy.KEYS),
        (GROUPED, PLAIN, Move.REBUILDS, Strategy.KEYS),
        (GROUPED, PLAIN, Move.APPENDS_OR_CHANGES, Strategy.KEYS),
        (WHOLE, PLAIN, Move.APPENDS_OR_CHANGES, Strategy.FULL),
    ],
)
def test_how_it_follows(
    filled: Table,
    orders: Table,
    query: Query,
    definition: TableDefinition,
    move: Move,
    strategy: Strategy | None,
) -> None:
    found = outlook(filled.facts(), move, orders, query=query, definition=definition)
    assert found.strategy is strategy
    assert (found.reads, found.replaces) == (
        (Amount(30, 300), Amount(6, 60)) if strategy is Strategy.FULL else (None, None)
    )


def test_a_rebuild_above_is_the_reason(filled: Table, orders: Table) -> None:
    told = [
        outlook(filled.facts(), move, orders, query=query).reason
        for move, query in (
            (Move.REBUILDS, WHOLE), (Move.REBUILDS, GROUPED), (Move.APPENDS, ROW_WISE),
            (Move.APPENDS_OR_CHANGES, ROW_WISE),
        )
    ]  # fmt: skip
    assert told == [
        "all rows of bronze.orders are replaced", "all rows of bronze.orders are replaced",
        "once bronze.orders is up to date", "decided once bronze.orders is up to date",
    ]  # fmt: skip


def test_its_own_edit_counts_whatever_moves(filled: Table, orders: Table) -> None:
    edited = replace(ROW_WISE, fingerprint="v2")
    found = outlook(filled.facts(), Move.APPENDS, orders, query=edited)
    assert found == Outlook(
        Strategy.FULL, "its definition has changed", Amount(30, 300), Amount(6, 60), rebuilds=True
    )


def test_a_table_that_is_not_there_is_built(orders: Table) -> None:
    found = outlook(TableFacts(), Move.APPENDS, orders)
    assert found == Outlook(Strategy.FULL, "the table is built for the first time", Amount(10, 0))


def test_nothing_is_there_yet() -> None:
    facts = {ORDERS: TableFacts()}
    found = outlook_of(Waiting(PLAIN, (ORDERS,)), ROW_WISE, TableFacts(), facts, {ORDERS: Move.APPENDS})
    assert found == Outlook(Strategy.FULL, "the table is built for the first time")


def test_an_input_that_will_not_be_there_leaves_it_open(orders: Table) -> None:
    facts = {ORDERS: orders.facts(), CITIES: TableFacts()}
    waiting = Waiting(PLAIN, (ORDERS, CITIES))
    found = outlook_of(waiting, JOINED, TableFacts(), facts, {ORDERS: Move.APPENDS})
    assert found == Outlook(None, "decided once bronze.orders, bronze.cities are up to date")


def test_an_input_that_does_not_move_is_as_it_is(customers: Table, orders: Table, cities: Table) -> None:
    cities.add(1, size=10)
    customers.publish(orders=orders, cities=cities)
    found = outlook(customers.facts(), Move.APPENDS, orders, cities, query=JOINED)
    assert found.strategy is Strategy.KEYS


def test_what_steps_do_to_rows() -> None:
    source = FileSource("files", "landing/", FileFormat.CSV, PLACE)
    taken, changed = (
        FileIntake(source, **{how: (FileIdentity("1.csv", 1, 0),)}) for how in ("take", "replace")
    )

    def move(strategy: Strategy, snapshot: int | None = 1, intake: FileIntake | None = None) -> Move:
        intakes = (intake,) if intake else ()
        return move_of(TableStep(PLAIN, strategy, "", Base("u", snapshot), "v1", intakes=intakes))

    assert move(Strategy.FILES, intake=taken) is Move.APPENDS
    assert move(Strategy.FILES, intake=changed) is Move.CHANGES
    assert move(Strategy.FULL) is Move.REBUILDS
    assert move(Strategy.FULL, snapshot=None) is Move.APPENDS
    assert move(Strategy.KEYS) is Move.CHANGES
    assert move(Strategy.ADVANCE) is Move.NOTHING
    assert move(Strategy.UPSERT) is Move.APPENDS_OR_CHANGES


def test_what_outlooks_do_to_rows() -> None:
    assert expected_move(Outlook(Strategy.FULL, "")) is Move.APPENDS
    assert expected_move(Outlook(Strategy.FULL, "", replaces=Amount(1, 1))) is Move.REBUILDS
    assert expected_move(Outlook(Strategy.APPEND, "")) is Move.APPENDS
    assert expected_move(Outlook(Strategy.KEYS, "")) is Move.CHANGES
    assert expected_move(Outlook(Strategy.UPSERT, "")) is Move.APPENDS_OR_CHANGES
    assert expected_move(Outlook(None, "")) is Move.APPENDS_OR_CHANGES
