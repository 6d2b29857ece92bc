"""Tables of others: where their metadata is. They are read, and nothing of theirs is ever written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.metadata import load_metadata
from lakesmith.catalog.state import TableState
from lakesmith.project.definitions import STATE_DIR, ExternalTable, Project, TableName

Reading = Callable[[], TableState | None]


def elsewhere(project: Project, own: LocalCatalog) -> dict[TableName, Reading]:
    """How the states of the project's tables of others are read, under the names that they have here."""
    return {
        table.name: _reading(project, own, table.name, table.external)
        for table in project.tables
        if table.external is not None
    }


def _reading(project: Project, own: LocalCatalog, name: TableName, external: ExternalTable) -> Reading:
    if external.metadata is not None:
        location = str(project.root / external.metadata)
        return lambda: _in_file(str(name), location)
    catalog = own
    if external.project is not None:
        folder = project.root / external.project / STATE_DIR
        catalog = LocalCatalog(folder / "catalog.db", folder / "warehouse")
    return lambda: _named(name, catalog.own_table(external.table.layer, external.table.name))


def _named(name: TableName, state: TableState | None) -> TableState | None:
    return None if state is None else replace(state, name=str(name))


def _in_file(name: str, location: str) -> TableState | None:
    try:
        return load_metadata(name, location)
    except FileNotFoundError:
        return None
