"""What a table's file says beside its rows, held against the table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakesmith.catalog.state import ColumnState, TableState
from lakesmith.plan.settings import Partitioning, TextSetting, changed_settings
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
