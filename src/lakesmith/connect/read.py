"""Gathers what a snippet is made of: the project with references, and what its catalog knows of the tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.protocol import Catalog
from lakesmith.connect.model import Engine, Lake, Table
from lakesmith.connect.render import FORMAT_THREE
from lakesmith.connect.secrets import without_secrets
from lakesmith.connect.values import References, reference, variables
from lakesmith.errors import Problem, UsageError
from lakesmith.graph.load import load
from lakesmith.graph.selection import select
from lakesmith.project.definitions import Project, TableDefinition, TableName


def read_lake(
    engine: Engine,
    root: Path,
    target: str | None,
    patterns: Sequence[str],
    opened: Callable[[], Catalog],
) -> Lake:
    """The target's lake as ``engine`` needs to know it. ``opened``: the target's catalog, with the values of the environment; it is
    called where another catalog than that of this machine has to be asked.

    Raises ProjectError; UsageError LS201 for an unknown table, LS253 where no table is there; EnvironmentProblem LS325, LS326.
    """
    project, graph = load(root.resolve(), target, References(os.environ))
    chosen = set(select(graph, list(patterns))) if patterns else set(graph.order)
    definitions = [table for table in project.tables if table.name in chosen]
    catalog = _catalog(engine, project, opened)
    found = [_public(_table(project, table, catalog), project) for table in definitions if _is_asked(table)]
    unbuilt = [table for table in found if catalog is not None and table.metadata is None]
    public, written_out = without_secrets(project.target)
    lake = Lake(
        project=project.name,
        target=public,
        catalog_db=project.state_dir / "catalog.db",
        warehouse=project.state_dir / "warehouse",
        tables=tuple(table for table in found if table not in unbuilt),
        unbuilt=tuple(table.name for table in unbuilt),
        written_out=written_out,
    )
    if not lake.tables and lake.kind in engine.writes:
        raise UsageError(_nothing(lake))
    return lake


def _is_asked(table: TableDefinition) -> bool:
    """A table of others is read where it is."""
    return table.external is None


def _catalog(engine: Engine, project: Project, opened: Callable[[], Catalog]) -> Catalog | None:
    """What is asked for metadata: the file here always, another catalog where the engine cannot do without."""
    if project.target.type == "local":
        return LocalCatalog(project.state_dir / "catalog.db", project.state_dir / "warehouse")
    if project.target.type not in engine.asks_for_metadata:
        return None
    return opened()


def _table(project: Project, definition: TableDefinition, catalog: Catalog | None) -> Table:
    namespace, name = project.target.naming.physical(definition.name)
    state = catalog.table(definition.name.layer, definition.name.name) if catalog else None
    version = state.format_version if state else FORMAT_THREE
    return Table(definition.name, namespace, name, version, state.metadata_location if state else None)


def _public(table: Table, project: Project) -> Table:
    """The table with references where its metadata's place has values of the environment: a bucket's name, say."""
    place = table.metadata or ""
    names = variables("".join(value for _, value in project.target.catalog))
    values = {os.environ[name]: name for name in names if os.environ.get(name)}
    for value in sorted(values, key=len, reverse=True):
        place = place.replace(value, reference(values[value]))
    return replace(table, metadata=place or None)


def _nothing(lake: Lake) -> Problem:
    names: tuple[TableName, ...] = lake.unbuilt
    found = f"{', '.join(map(str, names))}: not built yet" if names else "none, or tables of others alone"
    what = f"there is no table to read on target {lake.target.name!r}"
    return Problem(
        "LS253", what, lake.target.place, "a table that was built", found, "lakesmith run builds it"
    )
