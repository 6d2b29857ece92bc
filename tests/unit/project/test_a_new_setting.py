"""A setting that is declared once is validated, documented, explained and, if it decides rows, in the
fingerprint.
"""

from dataclasses import dataclass, replace
from typing import Literal

import pytest
from setting_pages import json_schema, section

from lakesmith.api.explaining import settings_of
from lakesmith.plan.fingerprint import definition_fingerprint, definition_parts
from lakesmith.project.declaring import Rows, duration, setting
from lakesmith.project.definitions import TableDefinition, TableName
from lakesmith.project.loaded import LoadedProject
from lakesmith.project.loader import parse_project
from lakesmith.project.tables import TableBuilder
from lakesmith.project.written import defaults_model, model_of
from memory_files import MemoryFiles

PRICES = TableName("silver", "prices")


@dataclass(frozen=True, slots=True)
class Extended(TableDefinition):
    """A table with two settings that no table has."""

    grain: Literal["day", "hour"] = setting("day", shared=True, rows=Rows("its grain"))
    """Of what the rows are."""
    patience_seconds: float = setting(60.0, key="patience", form=str, read=duration())
    """How long to wait."""


@pytest.fixture(autouse=True)
def extended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TableBuilder, "kind", Extended)


def read(written: str, defaults: str = "") -> LoadedProject:
    files = {
        "lakesmith.yaml": "name: shop\n",
        "tables/_defaults.yaml": defaults,
        "tables/silver/prices.yaml": f"query: SELECT 1 AS price\n{written}",
    }
    return parse_project(MemoryFiles(files), None, {})


def test_it_is_read_from_the_nearest_file() -> None:
    table = read("patience: 5 minutes\n", "grain: hour\n").project.table(PRICES)
    assert isinstance(table, Extended)
    assert (table.grain, table.patience_seconds) == ("hour", 300.0)
    assert settings_of(table)[-2:] == [
        ("grain", "hour", "tables/_defaults.yaml:1"),
        ("patience", "5 minutes", "tables/silver/prices.yaml:2"),
    ]


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("grain: week", "LS105 grain has a wrong value, one of day, hour, the text 'week'"),
        ("patience: long", "LS105 patience is not a valid duration, a number and a unit: 30 seconds, 5 "
                           "minutes, 2 hours, 1 day, 'long'"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_a_problem_at_its_line(written: str, problem: str) -> None:
    (found,) = read(written).problems
    assert f"{found.code} {found.what}, {found.expected}, {found.found}" == problem
    assert str(found.place) == "tables/silver/prices.yaml:2"


def test_it_is_in_the_schemas_and_in_the_reference() -> None:
    table, defaults = json_schema(model_of(Extended)), json_schema(defaults_model(Extended))
    assert table["properties"]["patience"]["description"] == "How long to wait."
    assert "grain" in defaults["properties"] and "patience" not in defaults["properties"]
    assert "| `grain` | `day` · `hour` | Of what the rows are. |" in section("", Extended, shared=True)
    assert "| `patience` | text | How long to wait. |" in section("", Extended, shared=False)


def test_one_that_decides_rows_is_in_the_fingerprint() -> None:
    table = read("").project.table(PRICES)
    usual = TableDefinition(table.name, table.place, query=table.query)
    hourly, patient = replace(table, grain="hour"), replace(table, patience_seconds=1.0)
    assert definition_fingerprint(table) == definition_fingerprint(patient) == definition_fingerprint(usual)
    assert definition_fingerprint(hourly) != definition_fingerprint(table)
    assert definition_parts(hourly).keys() - definition_parts(table).keys() == {"grain"}
