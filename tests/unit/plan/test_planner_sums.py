"""When a plan says that sums are brought forward: where the text or the last batch tells, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from lakesmith import limits
from lakesmith.catalog.record import Account, Record
from lakesmith.catalog.state import ColumnState
from lakesmith.errors import Place
from lakesmith.plan.adding import why_not_sums
from lakesmith.plan.outlook import Move, move_of
from lakesmith.plan.planner import plan_derived
from lakesmith.plan.query import Query
from lakesmith.plan.steps import Strategy, TableStep
from lakesmith.project.definitions import SqlQuery, TableDefinition, TableName
from lakesmith.sql.model import SqlSums

if TYPE_CHECKING:
    from conftest import Table
    from lakesmith.plan.facts import TableFacts

ORDERS, CITIES = TableName("bronze", "orders"), TableName("bronze", "cities")
PLACE = Place("tables/gold/by_city.sql", 1)
PLAIN = TableDefinition(TableName("silver", "customers"), PLACE, query=SqlQuery("SELECT ...", PLACE))
SUMMED = Query(
    (ORDERS,), False, "v1", "GROUP BY city at line 3", sums=SqlSums(("bronze.orders",), ("amount",))
)
AVERAGED = replace(SUMMED, sums=SqlSums(("bronze.orders",), ("amount",), None, ("amount",), ("2 amount",)))
JOINED = replace(SUMMED, inputs=(ORDERS, CITIES))
UNKNOWN = replace(SUMMED, sums=SqlSums(against="WITH"))
EXACT = {ORDERS: {"amount": "decimal(10,2)"}}


def record(kind: str, fingerprint: str = "v1") -> Record:
    return Record("attempt", None, 7, kind, 0, fingerprint, Account())


@pytest.mark.parametrize(
    ("query", "moved", "types", "last", "reason"),
    [
        (SUMMED, [ORDERS], EXACT, None, None),
        (SUMMED, [ORDERS], {ORDERS: {"amount": "double"}}, None, "sum(amount) of double is not exact"),
        (SUMMED, [ORDERS], {}, None, "sum(amount), whose type only Spark's plan tells"),
        (SUMMED, [ORDERS], {**EXACT, CITIES: {"amount": "double"}}, None, "sum(amount) of double is not exact"),
        (AVERAGED, [ORDERS], {ORDERS: {"amount": "decimal(10,2)"}}, None, None),
        (AVERAGED, [ORDERS], {ORDERS: {"amount": "decimal(12,2)"}}, None, "avg(amount) of decimal(12,2) does not follow from a sum"),
        (AVERAGED, [ORDERS], {ORDERS: {"amount": "decimal(10,3)"}}, None,
         "sum(amount) of decimal(10,3) is rounded where it is cast to 2 places"),
        (SUMMED, [ORDERS], EXACT, record("full"), None),
        (SUMMED, [ORDERS], EXACT, record("keys"), "its last refresh, batch 7, was by keys"),
        (SUMMED, [ORDERS], EXACT, record("keys", "v0"), None),
        (UNKNOWN, [ORDERS], EXACT, None, "WITH"),
        (UNKNOWN, [ORDERS], EXACT, record("keys"), "WITH"),
        (UNKNOWN, [ORDERS], EXACT, record("sums"), None),
        (UNKNOWN, [ORDERS], EXACT, record("sums", "v0"), "WITH"),
        (replace(SUMMED, sums=None), [ORDERS], EXACT, None, "it does not group rows"),
        (replace(SUMMED, sums=None, row_wise=None), [ORDERS], EXACT, record("sums"), None),
        (JOINED, [ORDERS], EXACT, record("keys"), None),
        (JOINED, [ORDERS, CITIES], EXACT, record("sums"), "rows of bronze.orders and bronze.cities changed"),
        (JOINED, [CITIES], EXACT, record("sums"), "a row of bronze.cities may reach several rows that are added up,"
         " or fill up what is missing"),
    ],
)  # fmt: skip
def test_why_not_sums(
    query: Query,
    moved: list[TableName],
    types: dict[TableName, dict[str, str]],
    last: Record | None,
    reason: str | None,
) -> None:
    assert why_not_sums(PLAIN, query, moved, types, last) == reason


def test_tables_with_a_key_or_rules_are_refreshed_by_keys() -> None:
    keyed, ruled = replace(PLAIN, key=("id",)), replace(PLAIN, rules=("a rule",))  # type: ignore[arg-type]
    found = [why_not_sums(table, SUMMED, [ORDERS], EXACT, record("sums")) for table in (keyed, ruled)]
    assert found == ["it has a key", "it has rules"]


def with_amount(facts: TableFacts, kind: str) -> TableFacts:
    assert facts.state is not None
    columns = (ColumnState(1, "Amount", kind, False),)
    return replace(facts, state=replace(facts.state, columns=columns))


@pytest.mark.parametrize(("kind", "strategy"), [("bigint", Strategy.SUMS), ("double", Strategy.KEYS)])
def test_a_plan_says_sums_where_it_is_known(
    customers: Table, orders: Table, monkeypatch: pytest.MonkeyPatch, kind: str, strategy: Strategy
) -> None:
    monkeypatch.setattr(limits, "COMPUTED_WHOLE_BELOW_BYTES", 0)
    customers.publish(orders=orders)
    orders.change()
    before = customers.facts()
    state = with_amount(orders.facts(), kind)
    assert state.state is not None
    schemas = {0: state.state.columns}
    found = plan_derived(
        PLAIN, SUMMED, before, {ORDERS: replace(state, state=replace(state.state, schemas=schemas))}
    )
    assert isinstance(found, TableStep)
    assert (found.strategy, found.reason) == (strategy, "rows of bronze.orders changed")
    assert move_of(found) is Move.CHANGES


@pytest.mark.parametrize(
    ("kind", "size", "warm", "strategy"),
    [
        ("bigint", 3_000_000, True, Strategy.FULL),
        ("bigint", 5_000_000, True, Strategy.SUMS),
        ("bigint", 5_000_000, False, Strategy.FULL),
        ("double", 5_000_000, True, Strategy.FULL),
        ("double", 21_000_000, True, Strategy.KEYS),
        ("double", 21_000_000, False, Strategy.FULL),
        ("double", 101_000_000, False, Strategy.KEYS),
    ],
)
def test_a_warm_session_looks_at_what_changed_of_smaller_inputs(
    customers: Table, orders: Table, kind: str, size: int, warm: bool, strategy: Strategy
) -> None:
    orders.add(1_000, size)
    customers.publish(orders=orders)
    orders.change()
    given = with_amount(orders.facts(), kind)
    assert given.state is not None
    given = replace(given, state=replace(given.state, schemas={0: given.state.columns}))
    found = plan_derived(PLAIN, SUMMED, customers.facts(), {ORDERS: given}, warm=warm)
    assert isinstance(found, TableStep)
    assert found.strategy is strategy
    if strategy is Strategy.FULL:
        assert ("are small for a session that is warm (" in found.reason) is warm
