"""Whose a table is: lakesmith never writes to one that another project, or somebody by hand, has made."""

from __future__ import annotations

from lakesmith.catalog.state import TableState
from lakesmith.errors import Problem

PROJECT = "lakesmith.project"
"""The table property that says which project made a table."""


def foreign_owner(state: TableState, project: str) -> Problem | None:
    """What to say when the table is not the project's own; None when it is."""
    owner = state.properties.get(PROJECT)
    if owner == project:
        return None
    return Problem(
        "LS503",
        f"{state.name} exists and belongs to somebody else; it is never overwritten",
        expected=f"no table of that name, or one made by project {project!r}",
        found=f"a table of project {owner!r}" if owner else "a table that was not made by lakesmith",
        hint="give your table another name, or choose another target; what made the other one can drop it",
    )
