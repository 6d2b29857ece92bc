"""The format version of a table: raised with its next batch, and never lowered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakesmith.catalog.progress import rows_at
from lakesmith.catalog.record import Account, Record
from lakesmith.catalog.state import Snapshot, TableState
from lakesmith.plan.facts import SourceFacts
from lakesmith.plan.format_version import FormatUpgrade, format_problem, format_properties
from lakesmith.plan.settings import changed_settings
from lakesmith.plan.sourced import plan_sourced
from lakesmith.plan.steps import Refused
from lakesmith.project.definitions import FileSource, Place, TableDefinition, TableName
from lakesmith.project.formats import FileFormat

if TYPE_CHECKING:
    from conftest import Table

PLACE = Place(Path("orders.yaml"), 1)
THREE = TableDefinition(TableName("bronze", "orders"), PLACE)
TWO = replace(THREE, format_version=2, settings_from=(("format_version", Place(Path("lakesmith.yaml"), 7)),))


@pytest.fixture
def of_two(orders: Table) -> TableState:
    state = orders.facts().state
    assert state is not None
    return replace(state, format_version=2)


def test_what_is_declared_and_there_is_no_change(of_two: TableState) -> None:
    assert changed_settings(TWO, of_two) == ()
    assert format_problem(TWO, of_two) is None
    assert format_problem(TWO, None) is None


def test_a_table_of_version_2_is_raised(of_two: TableState) -> None:
    (change,) = changed_settings(THREE, of_two)
    assert change == FormatUpgrade(2, 3)
    assert str(change) == "format_version 2 becomes 3, for good (existing files stay as they are)"
    assert format_problem(THREE, of_two) is None


def test_a_table_of_version_3_is_refused_and_told_how(of_two: TableState) -> None:
    of_three = replace(of_two, format_version=3)
    assert changed_settings(TWO, of_three) == ()
    problem = format_problem(TWO, of_three)
    assert problem is not None
    assert problem.lines() == [
        "LS516 lakesmith.yaml:7: bronze.orders is an Iceberg table of format version 3,"
        " which cannot go back to 2",
        "    expected: format_version: 3",
        "    found: format_version: 2",
        "    to do: keep 3; or `lakesmith drop bronze.orders`, then `lakesmith run`: it is built again",
    ]


def test_of_a_table_of_files_it_is_said_that_those_have_to_be_there(orders: Table) -> None:
    source = FileSource("files", "landing/", FileFormat.CSV, PLACE)
    decision = plan_sourced(replace(TWO, sources=(source,)), "v1", orders.facts(), SourceFacts(()))
    assert isinstance(decision, Refused)
    assert decision.problem.code == "LS516"
    assert "files that are still in their folder are ingested again" in str(decision.problem.hint)


def test_only_tables_of_version_2_say_which_deletes_a_file_has() -> None:
    assert format_properties(3) == {"format-version": "3"}
    assert format_properties(2) == {"format-version": "2", "write.delete.granularity": "file"}


def _snapshot(number: int, operation: str, rows: int | None = None, **counts: int) -> Snapshot:
    texts = {key.replace("_", "-"): str(count) for key, count in counts.items()}
    account = Account(rows_after=rows or 0)
    record = Record("a", None, 1, "upsert", 0, "v1", account).to_summary() if rows is not None else {}
    parent = number - 1 if number > 1 else None
    return Snapshot(number, parent, number, number, operation, "", {**texts, **record})


@pytest.mark.parametrize(
    "state", [{"format_version": 2}, {"properties": {"write.delete.granularity": "file"}}]
)
def test_deletes_that_were_left_behind_do_not_make_rows_fewer(
    of_two: TableState, state: dict[str, object]
) -> None:
    published = _snapshot(1, "append", rows=90, total_records=100, total_position_deletes=10)
    compacted = _snapshot(2, "replace", total_records=90, total_position_deletes=10)
    deleted = _snapshot(3, "delete", total_records=90, total_position_deletes=12)
    table = replace(of_two, format_version=3, snapshots={1: published, 2: compacted, 3: deleted})
    there = replace(table, **state)  # type: ignore[arg-type]
    found = [rows_at(there, each) for each in (published, compacted, deleted)]
    assert found == [90, 90, 78]
    assert [rows_at(table, each) for each in (published, compacted)] == [90, 80]
