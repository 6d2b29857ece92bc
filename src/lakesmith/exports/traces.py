"""Where exports of a table ever were: a property of the table, which stays with it when it is renamed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lakesmith.catalog.state import TableState
from lakesmith.project.definitions import (
    OBJECT_SCHEME,
    Project,
    TableDefinition,
    TableName,
    place_of_export,
    usual_place,
)

TRACES: Final = "lakesmith.exports"
"""The property: pairs of a place and the names that ``single_file`` had there, as JSON."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A place that an export wrote to, as ``known_as`` writes it, and its files with a fixed name."""

    place: str
    single_files: tuple[str, ...] = ()


def traces_of(state: TableState) -> tuple[Trace, ...]:
    """Returns the places that exports of a table were written to."""
    return tuple(
        Trace(place, tuple(names)) for place, names in json.loads(state.properties.get(TRACES, "[]"))
    )


def known_as(root: Path, path: str) -> str:
    """Returns one name for a place however it is written: relative if it is inside the project."""
    if path.startswith(OBJECT_SCHEME):
        return path
    folder = Path(os.path.abspath(root / path))  # noqa: PTH100 - links are kept
    top = Path(os.path.abspath(root))  # noqa: PTH100
    return f"{folder.relative_to(top) if folder.is_relative_to(top) else folder}/"


def current_place(project: Project, table: TableDefinition) -> str | None:
    """Returns the place of a table's export; None without one."""
    return None if table.export is None else known_as(project.root, place_of_export(table))


def noted(project: Project, table: TableDefinition, state: TableState, *earlier: str | None) -> str | None:
    """Returns the property with the table's export; None if it has it. ``earlier``: other names of single
    files in the place."""
    known = {trace.place: trace.single_files for trace in traces_of(state)}
    place = current_place(project, table)
    assert table.export is not None and place is not None
    names = {*filter(None, (table.export.single_file, *earlier))}
    if place in known and names.issubset(known[place]):
        return None
    known[place] = tuple(sorted(names.union(known.get(place, ()))))
    return json.dumps(list(known.items()))


def all_traces(project: Project, name: TableName, state: TableState) -> Iterator[Trace]:
    """Yields every place that may have an export of the table. Earlier versions of lakesmith kept no
    property: so the present place is among them, and the one that an export has by default."""
    known = {trace.place: trace for trace in traces_of(state)}
    present = (current_place(project, table) for table in project.tables if table.name == name)
    for place in filter(None, (*present, usual_place(name))):
        known.setdefault(place, Trace(place))
    yield from known.values()
