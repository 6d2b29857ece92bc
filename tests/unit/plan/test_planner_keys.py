"""When a table is refreshed by the keys of changed rows, and what is said when it is not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from lakesmith import limits
from lakesmith.errors import Place
from lakesmith.plan.facts import RULES, Query
from lakesmith.plan.planner import plan_derived
from lakesmith.plan.steps import InputRange, Strategy, TableStep
from lakesmith.project.definitions import SqlQuery, TableDefinition, TableName

if TYPE_CHECKING:
    from conftest import Table

ORDERS, CITIES = TableName("bronze", "orders"), TableName("bronze", "cities")
PLACE = Place("tables/gold/by_city.sql", 1)
PLAIN = TableDefinition(TableName("silver", "customers"), PLACE, query=SqlQuery("SELECT ...", PLACE))
GROUPED = Query((ORDERS,), False, "v1", "GROUP BY city at line 3")
JOINED = replace(GROUPED, inputs=(ORDERS, CITIES))
ROW_WISE = Query((ORDERS,), True, "v1")


@pytest.fixture(autouse=True)
def worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small inputs are worth it, too."""
    monkeypatch.setattr(limits, "COMPUTED_WHOLE_BELOW_BYTES", 0)


def step(
    table: Table, *inputs: Table, query: Query = GROUPED, definition: TableDefinition = PLAIN, gone: int = 0
) -> TableStep:
    facts = {TableName.parse(item.name): item.facts(gone) for item in inputs}
    found = plan_derived(definition, query, table.facts(), facts)
    assert isinstance(found, TableStep)
    return found


def test_what_changed_since_the_recorded_position_is_looked_at(customers: Table, orders: Table) -> None:
    customers.publish(orders=orders)
    start, end = orders.main, orders.change()
    found = step(customers, orders)
    assert (found.strategy, found.reason) == (Strategy.KEYS, "rows of bronze.orders changed")
    assert found.inputs == (InputRange(ORDERS, "bronze.orders", start, end),)
    assert not found.row_wise


def test_an_input_that_stood_still_is_at_one_position(customers: Table, orders: Table, cities: Table) -> None:
    customers.publish(orders=orders, cities=cities)
    orders.add(1)
    found = step(customers, orders, cities, query=JOINED)
    assert found.strategy is Strategy.KEYS
    assert found.inputs[1] == InputRange(CITIES, "bronze.cities", cities.main, cities.main)


def test_a_row_wise_table_is_appended_to_and_refreshed_by_keys_when_rows_went(
    customers: Table, orders: Table
) -> None:
    customers.publish(orders=orders)
    orders.add(1)
    assert step(customers, orders, query=ROW_WISE).strategy is Strategy.APPEND
    orders.change()
    assert step(customers, orders, query=ROW_WISE).strategy is Strategy.KEYS


def test_an_expired_position_is_said_and_makes_it_full_once(customers: Table, orders: Table) -> None:
    customers.publish(orders=orders)
    start = orders.main or 0
    orders.change()
    found = step(customers, orders, gone=start)
    assert found.strategy is Strategy.FULL
    assert found.reason == f"snapshot {start} of bronze.orders, up to which it was read, has expired"


def test_small_inputs_are_computed_as_a_whole(
    customers: Table, orders: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "COMPUTED_WHOLE_BELOW_BYTES", 1_000)
    customers.publish(orders=orders)
    orders.change()
    found = step(customers, orders)
    assert found.strategy is Strategy.FULL
    assert found.reason == (
        "GROUP BY city at line 3; its inputs are small (0.0 MB), so it is refreshed in full"
    )


@pytest.mark.parametrize("settings", [{"key": ("id",)}, {"rules": ("a rule",)}])
def test_with_a_key_or_rules_of_its_own_too(
    customers: Table, orders: Table, settings: dict[str, tuple[str, ...]]
) -> None:
    customers.publish(orders=orders)
    orders.change()
    definition = replace(PLAIN, **settings)  # type: ignore[arg-type]
    assert step(customers, orders, definition=definition).strategy is Strategy.KEYS


HIDDEN = "a window function has no PARTITION BY over columns of the inputs"


def _after_refusal(customers: Table, orders: Table, rules: str) -> TableStep:
    """The next step of a table whose last record says that its query does not allow keys."""
    customers.publish(orders=orders)
    orders.change()
    facts = customers.facts()
    assert facts.progress is not None
    assert facts.progress.record is not None
    record = replace(facts.progress.record, refused={"rules": rules, "keys": HIDDEN})
    knowing = replace(facts, progress=replace(facts.progress, record=record))
    found = plan_derived(PLAIN, GROUPED, knowing, {ORDERS: orders.facts()})
    assert isinstance(found, TableStep)
    return found


def test_what_the_last_batch_found_out_is_not_tried_again(customers: Table, orders: Table) -> None:
    found = _after_refusal(customers, orders, RULES)
    assert (found.strategy, found.refused) == (Strategy.FULL, {"keys": HIDDEN})
    assert found.reason == f"GROUP BY city at line 3; not incremental by key: {HIDDEN}"


def test_what_older_rules_refused_is_tried_again(customers: Table, orders: Table) -> None:
    assert _after_refusal(customers, orders, "0").strategy is Strategy.KEYS


@pytest.mark.parametrize(
    ("size", "warm", "strategy"),
    [
        (9_000_000, True, Strategy.FULL),
        (11_000_000, True, Strategy.KEYS),
        (11_000_000, False, Strategy.FULL),
        (101_000_000, False, Strategy.KEYS),
    ],
)
def test_a_warm_session_looks_at_what_changed_of_smaller_inputs(
    customers: Table,
    orders: Table,
    size: int,
    warm: bool,
    strategy: Strategy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    orders.add(1_000, size)
    customers.publish(orders=orders)
    orders.change()
    found = plan_derived(PLAIN, GROUPED, customers.facts(), {ORDERS: orders.facts()}, warm=warm)
    assert isinstance(found, TableStep)
    assert found.strategy is strategy
    if strategy is Strategy.FULL:
        assert ("are small for a session that is warm (" in found.reason) is warm
