"""External tables: where their metadata is. They are read, and nothing of theirs is ever written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.metadata import load_metadata
from lakesmith.catalog.state import TableState
from lakesmith.project.definitions import STATE_DIR, ExternalTable, Project, TableName

Reading = Callable[[], TableState | None]
InCatalog = Callable[[ExternalTable], TableState | None]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Metadata of an external table; ``catalog``: the catalog whose settings reach it (None: the
    target's)."""

    location: str
    catalog: str | None = None


def elsewhere(project: Project, in_catalog: InCatalog) -> dict[TableName, Reading]:
    """Returns how the states of external tables are read; ``in_catalog`` finds those in the target's
    catalogs."""
    return {
        table.name: _reading(project, in_catalog, table.name, table.external)
        for table in project.tables
        if table.external is not None
    }


def _reading(project: Project, in_catalog: InCatalog, name: TableName, external: ExternalTable) -> Reading:
    if external.metadata is not None:
        location = str(project.root / external.metadata)
        return lambda: _in_file(str(name), location)
    if external.project is not None:
        folder = project.root / external.project / STATE_DIR
        theirs = LocalCatalog(folder / "catalog.db", folder / "warehouse")
        return lambda: _named(name, theirs.own_table(external.table.layer, external.table.name))
    return lambda: _named(name, in_catalog(external))


def _named(name: TableName, state: TableState | None) -> TableState | None:
    return None if state is None else replace(state, name=str(name))


def _in_file(name: str, location: str) -> TableState | None:
    try:
        return load_metadata(name, location)
    except FileNotFoundError:
        return None
