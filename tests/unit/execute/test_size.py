"""How much data a plan is said to touch."""

from dataclasses import replace
from pathlib import Path

import pytest
from memory import MemoryLake, project_of

from lakesmith import limits
from lakesmith.execute.lake import planned_bytes
from lakesmith.plan.steps import Base, Decision, FileIntake, InputRange, Strategy, TableStep, Waiting
from lakesmith.project.definitions import TableDefinition, TableName
from lakesmith.sources.model import FileIdentity

MEGABYTE = 1024 * 1024
ORDERS, NEWEST = TableName("bronze", "orders"), TableName("silver", "newest")


class Sizes:
    """Two tables, one made of the other, of which a size can be given to each."""

    def __init__(self, root: Path) -> None:
        tables = {"bronze__orders": "files", "silver__newest": "SELECT id FROM bronze.orders"}
        project, self.graph = project_of(root, **tables)
        self.lake = MemoryLake(project)

    def fill(self, name: TableName, size: int) -> None:
        self.lake.commit(name, "append", 1)
        state = self.lake.tables[name]
        head = replace(state.snapshots[1], summary={"total-files-size": str(size), "total-records": "1000"})
        self.lake.tables[name] = replace(state, snapshots={1: head})

    def definition(self, name: TableName) -> TableDefinition:
        return self.graph.node(name).definition

    def take(self, size: int) -> TableStep:
        """The step that takes one new file."""
        orders = self.definition(ORDERS)
        intake = FileIntake(orders.sources[0], (FileIdentity("landing/orders/1.csv", size, 1),))
        return TableStep(orders, Strategy.FILES, "", Base(), "", intakes=(intake,))

    def wait(self) -> Waiting:
        return Waiting(self.definition(NEWEST), (ORDERS,))

    def step(self, strategy: Strategy, *inputs: InputRange) -> TableStep:
        return TableStep(self.definition(NEWEST), strategy, "", Base(), "", inputs)

    def planned(self, *decisions: Decision) -> int:
        return planned_bytes(self.lake, decisions)  # type: ignore[arg-type]


@pytest.fixture
def sizes(tmp_path: Path) -> Sizes:
    return Sizes(tmp_path)


def test_nothing_is_there_but_files(sizes: Sizes) -> None:
    assert sizes.planned(sizes.take(5 * MEGABYTE), sizes.wait()) == 5 * MEGABYTE


def test_of_large_tables_a_part_counts_when_few_rows_come(sizes: Sizes) -> None:
    sizes.fill(ORDERS, 64 * MEGABYTE)
    sizes.fill(NEWEST, 48 * MEGABYTE)
    part = (64 + 48) * MEGABYTE // limits.INCREMENTAL_ONE_BYTE_IN
    assert sizes.planned(sizes.take(MEGABYTE), sizes.wait()) == MEGABYTE + part


def test_a_table_that_was_never_built_reads_all_of_its_input(sizes: Sizes) -> None:
    sizes.fill(ORDERS, 64 * MEGABYTE)
    assert sizes.planned(sizes.take(MEGABYTE), sizes.wait()) == 65 * MEGABYTE


def test_a_step_reads_an_input_whole_or_what_came(sizes: Sizes) -> None:
    sizes.fill(ORDERS, 64 * MEGABYTE)
    sizes.fill(NEWEST, 16 * MEGABYTE)
    whole = sizes.step(Strategy.FULL, InputRange(ORDERS, "uuid", None, 1))
    some = sizes.step(Strategy.KEYS, InputRange(ORDERS, "uuid", 1, 1))
    assert sizes.planned(whole) == 64 * MEGABYTE + 16 * MEGABYTE // limits.INCREMENTAL_ONE_BYTE_IN
    assert sizes.planned(some) == (64 + 16) * MEGABYTE // limits.INCREMENTAL_ONE_BYTE_IN


@pytest.mark.parametrize(("rows", "parts"), [(62, 1), (63, limits.INCREMENTAL_ONE_BYTE_IN)])
def test_many_rows_that_came_are_counted_as_the_whole_input(sizes: Sizes, rows: int, parts: int) -> None:
    sizes.fill(ORDERS, 64 * MEGABYTE)
    step = sizes.step(Strategy.APPEND, InputRange(ORDERS, "uuid", 1, 1, rows))
    assert sizes.planned(step) == 64 * parts * MEGABYTE // limits.INCREMENTAL_ONE_BYTE_IN


def test_bad_rows_are_tried_again_against_the_whole_table(sizes: Sizes) -> None:
    sizes.fill(NEWEST, 16 * MEGABYTE)
    assert sizes.planned(sizes.step(Strategy.REPLAY)) == 16 * MEGABYTE
