"""What a table's file says beside its rows, held against the table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakesmith.catalog.state import ColumnState, TableState
from lakesmith.plan.settings import Partitioning, TextSetting, changed_settings, not_renamed, renamings
from lakesmith.project.definitions import Column, Place, TableDefinition, TableName

if TYPE_CHECKING:
    from conftest import Table

DECLARED = TableDefinition(TableName("bronze", "orders"), Place(Path("orders.yaml"), 1))


@pytest.fixture
def state(orders: Table) -> TableState:
    """A table without any setting, with two columns."""
    found = orders.facts().state
    assert found is not None
    columns = (ColumnState(1, "id", "bigint", False), ColumnState(2, "City", "string", False, "a place"))
    return replace(found, columns=columns)


def test_nothing_declared_and_nothing_there_is_no_change(state: TableState) -> None:
    assert changed_settings(DECLARED, state) == ()


def test_the_order_and_the_case_of_partition_fields_do_not_count(state: TableState) -> None:
    declared = replace(DECLARED, partition_by=("days(at)", "City"))
    assert changed_settings(declared, replace(state, partitioning=("city", "days(at)"))) == ()


def test_a_field_that_is_not_declared_any_more_goes(state: TableState) -> None:
    there = replace(state, partitioning=("city",))
    assert changed_settings(DECLARED, there) == (Partitioning(("city",), ()),)


def test_documentation_of_columns_that_are_not_declared_is_left_alone(state: TableState) -> None:
    declared = replace(DECLARED, columns=(Column("ID", "bigint", "the order"),))
    (change,) = changed_settings(declared, state)
    assert change == TextSetting("doc of column id", None, "the order", column="id")


def test_properties_of_others_are_left_alone(state: TableState) -> None:
    assert changed_settings(DECLARED, replace(state, properties={"comment2": "x", "owner": "y"})) == ()


def named(state: TableState, *names: str) -> TableState:
    return replace(
        state,
        columns=tuple(ColumnState(number, name, "string", False) for number, name in enumerate(names, 1)),
    )


@pytest.mark.parametrize(
    ("there", "declared", "renamed", "said"),
    [
        ("a", {"b": "a"}, ["a>b"], 0),
        ("A x", {"b": "a", "x": None}, ["A>b"], 0),
        ("b", {"b": "a"}, [], 0),
        # Both are there: the earlier one came back.
        ("a b", {"b": "a"}, [], 1),
        ("A b c", {"b": "a", "c": None}, [], 1),
    ],
)
def test_columns_that_are_renamed(
    state: TableState, there: str, declared: dict[str, str | None], renamed: list[str], said: int
) -> None:
    columns = tuple(Column(name, "string", renamed_from=earlier) for name, earlier in declared.items())
    table, found = replace(DECLARED, columns=columns), named(state, *there.split())
    assert [f"{change.found}>{change.wanted}" for change in renamings(table, found)] == renamed
    assert len(not_renamed(table, found)) == said
