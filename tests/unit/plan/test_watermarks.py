"""Which inputs have gone quiet, from when their rows last changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lakesmith.errors import Place
from lakesmith.plan.facts import Query
from lakesmith.plan.planner import plan_derived
from lakesmith.plan.steps import Strategy, TableStep, UpToDate
from lakesmith.plan.watermarks import ahead_in_words, arrivals_of, idle_inputs
from lakesmith.project.definitions import Emit, SqlQuery, TableDefinition, TableName, Watermark

if TYPE_CHECKING:
    from conftest import Table

ORDERS, CITIES = TableName("bronze", "orders"), TableName("bronze", "cities")
PLACE = Place("tables/silver/customers.yaml", 1)
QUERY = SqlQuery("SELECT ...", PLACE)
MARKS = (Watermark(ORDERS, "at"), Watermark(CITIES, "at"))
EMIT = Emit(QUERY, "window_end", MARKS, idle_after_seconds=60)
TABLE = TableDefinition(TableName("silver", "customers"), PLACE, query=QUERY, emit=EMIT)


def idle(orders: Table, cities: Table, now_ms: int, table: TableDefinition = TABLE) -> tuple[TableName, ...]:
    return idle_inputs(table, {ORDERS: orders.facts(), CITIES: cities.facts()}, now_ms)


def test_an_input_is_quiet_once_nothing_changed_for_long_enough(orders: Table, cities: Table) -> None:
    # Each commit of the fixtures is a second after the one before it, and each is shown.
    cities.main = 1
    orders.add(5)
    last, earlier = orders.main or 0, cities.main or 0
    assert earlier < last
    assert idle(orders, cities, earlier * 1000 + 59_999) == ()
    assert idle(orders, cities, earlier * 1000 + 60_000) == (CITIES,)
    assert idle(orders, cities, last * 1000 + 60_000) == (ORDERS, CITIES)


def test_compactions_and_empty_batches_are_nothing_that_came(orders: Table, cities: Table) -> None:
    quiet_at = (orders.main or 0) * 1000
    cities.add(1)
    for _ in range(9):
        cities.add(1)
    before = idle(orders, cities, quiet_at + 60_000)
    orders.compact()
    orders.publish()
    assert idle(orders, cities, quiet_at + 60_000) == before == (ORDERS,)


def test_without_idle_after_all_count_for_ever(orders: Table, cities: Table) -> None:
    assert idle(orders, cities, 10**15, replace(TABLE, emit=replace(EMIT, idle_after_seconds=None))) == ()
    assert idle(orders, cities, 10**15, replace(TABLE, emit=None)) == ()


def test_what_has_gone_quiet_is_work_once(customers: Table, orders: Table, cities: Table) -> None:
    customers.publish(orders=orders, cities=cities)
    inputs = {ORDERS: orders.facts(), CITIES: cities.facts()}
    query = Query((ORDERS, CITIES), False, "v1", "it joins")
    assert isinstance(plan_derived(TABLE, query, customers.facts(), inputs), UpToDate)
    quiet = replace(query, idle=(CITIES,))
    step = plan_derived(TABLE, quiet, customers.facts(), inputs)
    assert isinstance(step, TableStep)
    assert (step.strategy, step.idle) == (Strategy.FULL, (CITIES,))
    facts = customers.facts()
    assert facts.progress is not None
    known = replace(
        facts,
        progress=replace(facts.progress, record=replace(facts.progress.record, idle=("bronze.cities",))),
    )
    assert isinstance(plan_derived(TABLE, quiet, known, inputs), UpToDate)
    # That it is not quiet any more, without a change, a clock that was set back says: that is nothing.
    assert isinstance(plan_derived(TABLE, query, known, inputs), UpToDate)


def test_an_arrival_is_when_rows_last_changed(orders: Table, cities: Table) -> None:
    """Neither compactions nor empty batches are arrivals."""
    cities.main = 1
    orders.add(5)
    facts = {ORDERS: orders.facts(), CITIES: cities.facts()}
    expected = {"bronze.orders": (orders.main or 0) * 1000, "bronze.cities": 1000}
    assert arrivals_of(TABLE, facts) == expected
    orders.compact()
    orders.publish()
    assert arrivals_of(TABLE, {**facts, ORDERS: orders.facts()}) == expected
    assert arrivals_of(replace(TABLE, emit=None), facts) == {}


def test_times_ahead_are_said_by_watermark() -> None:
    assert ahead_in_words({"bronze.orders.at": (1, "9999-12-31 00:00:00")}) == (
        "1 row of bronze.orders with a time further ahead of arrival than max_ahead:"
        " at is up to 9999-12-31 00:00:00,"
        " and moves no watermark",
    )
