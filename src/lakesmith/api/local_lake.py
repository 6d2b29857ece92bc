"""The embedded catalog and the project's files, valid or not, for ``drop``, ``rename`` and ``register``."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from lakesmith.api.access import Access
from lakesmith.catalog.family import foreign_owner
from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.lost import Lost, lost_tables
from lakesmith.catalog.open import open_catalog
from lakesmith.catalog.state import TableState
from lakesmith.errors import EnvironmentProblem, Place, ProjectError, StateError, UsageError, did_you_mean
from lakesmith.graph.graph import CACHE
from lakesmith.graph.inputs import references_of
from lakesmith.project.definitions import Project, SqlQuery, TableName
from lakesmith.project.files import FolderFiles, scratch_folder
from lakesmith.project.layout import RESERVED_LAYER
from lakesmith.project.loaded import LoadedProject, load_cached
from lakesmith.sql.analysis import SqlAnalysis, SqlParseError, analyse


@dataclass(frozen=True)
class LocalLake:
    """A project as far as it can be read (a half-finished rename breaks references), and its catalog."""

    loaded: LoadedProject
    catalog: LocalCatalog

    @property
    def project(self) -> Project:
        """The project, with the tables that are right."""
        return self.loaded.project

    def state(self, name: TableName) -> TableState | None:
        """The table; None if it is missing or unreadable. Raises StateError LS503 for another project's."""
        try:
            state = self.catalog.table(name.layer, name.name)
        except StateError:
            return None
        # A file ledger says no owner: sidecars are their table's, by their names.
        asked = state if name.layer != RESERVED_LAYER else None
        problem = foreign_owner(asked, self.project.name) if asked else None
        if problem is not None:
            raise StateError(problem)
        return state

    def lost(self, name: TableName) -> Lost | None:
        """The table among those that the catalog does not name any more."""
        return next((each for each in lost_tables(self.catalog) if each.name == name), None)

    def readers(self, name: TableName) -> list[tuple[TableName, Place]]:
        """The project's tables whose queries read the table, and where they name it."""
        tables = {table.name: table for table in self.project.tables}
        analyses = {key: found for key, table in tables.items() if (found := _analysed(table.query))}
        return [
            (key, reference.place)
            for key, table in tables.items()
            for reference in references_of(table, analyses)
            if reference.name == name
        ]


def _analysed(query: object) -> SqlAnalysis | None:
    try:
        return analyse(query.text) if isinstance(query, SqlQuery) else None
    except SqlParseError:
        return None


def open_local(access: Access) -> LocalLake:
    """Opens the project with its embedded catalog.

    Raises ProjectError if it has no name or target, EnvironmentProblem LS328 if its catalog is not embedded.
    """
    root = access.folder
    loaded = load_cached(FolderFiles(root), access.target, os.environ, scratch_folder(root) / CACHE)
    if not loaded.project.name:
        raise ProjectError(loaded.problems)
    access.project = loaded.project
    # External tables are never dropped or renamed.
    catalog = open_catalog(replace(loaded.project, tables=()))
    if not isinstance(catalog, LocalCatalog):
        target = loaded.project.target
        raise EnvironmentProblem.of(
            "LS328",
            f"tables of target {target.name!r} cannot be dropped, renamed or registered by lakesmith",
            target.place,
            "a target of type local",
            target.type,
            "use the catalog's own tools",
        )
    return LocalLake(loaded, catalog)


def parsed_name(text: str) -> TableName:
    """Parses a table's name. Raises UsageError LS204 unless it has two parts."""
    parts = text.lower().split(".")
    if len(parts) != 2 or not all(parts):
        raise UsageError.of("LS204", f"{text} is not a table's name", None, "layer.table")
    return TableName(*parts)


def not_there(lake: LocalLake, name: TableName) -> UsageError:
    """LS250: nothing in the lake is called so."""
    layers = {table.layer for table in lake.loaded.declared} | {name.layer}
    known = [f"{layer}.{table}" for layer in sorted(layers) for table in lake.catalog.names(layer)]
    what = f"there is no table {name} in the lake"
    return UsageError.of("LS250", what, None, "a table that was built", hint=did_you_mean(str(name), known))
