"""A table's Iceberg format version: 3, or 2 for engines that cannot read 3. Upgrades from 2 to 3 are final.

In version 2 rows have no ids, and deletes are files of positions in place of vectors.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lakesmith.catalog.state import DELETE_GRANULARITY, TableState
from lakesmith.errors import Problem
from lakesmith.project.definitions import FORMAT_VERSION_DEFAULT, TableDefinition

FORMAT_VERSION: Final = "format-version"
"""Iceberg's name for it, which is no property as others are: it is in the table's metadata."""


@dataclass(frozen=True, slots=True)
class FormatUpgrade:
    """A table's format version, to be raised."""

    found: int
    wanted: int

    def __str__(self) -> str:
        return (
            f"format_version {self.found} becomes {self.wanted}, for good (existing files stay as they are)"
        )


def format_properties(version: int) -> dict[str, str]:
    own = {} if version >= FORMAT_VERSION_DEFAULT else {DELETE_GRANULARITY: "file"}
    return {FORMAT_VERSION: str(version), **own}


def format_change(table: TableDefinition, state: TableState) -> Iterator[FormatUpgrade]:
    """Returns the declared upgrade, if there is one."""
    if table.format_version > state.format_version:
        yield FormatUpgrade(state.format_version, table.format_version)


def format_problem(table: TableDefinition, state: TableState | None) -> Problem | None:
    """Returns LS516 if the table has a later format version than declared."""
    if state is None or table.format_version >= state.format_version:
        return None
    place = dict(table.settings_from).get("format_version", table.place)
    again = (
        "its files that are still in their folder are ingested again"
        if table.is_sourced
        else "it is built again"
    )
    return Problem(
        "LS516",
        f"{table.name} is an Iceberg table of format version {state.format_version}, which cannot go back to"
        f" {table.format_version}",
        place=place,
        expected=f"format_version: {state.format_version}",
        found=f"format_version: {table.format_version}",
        hint=f"keep {state.format_version}; or `lakesmith drop {table.name}`, then `lakesmith run`: {again}",
    )
