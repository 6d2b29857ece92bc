"""Gathers the facts for a snippet: the project with references, and the tables' state in its catalog."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.protocol import Catalog
from lakesmith.catalog.state import TableState
from lakesmith.connect.model import Engine, Lake, Table
from lakesmith.connect.values import References, reference, variables, without_secrets
from lakesmith.errors import Problem, UsageError
from lakesmith.graph.graph import load, select
from lakesmith.project.definitions import Project, TableName

States = Mapping[TableName, TableState | None]


def read_lake(
    engine: Engine, root: Path, target: str | None, patterns: Sequence[str], opened: Callable[[], Catalog]
) -> Lake:
    """Returns the facts about the target's lake that ``engine`` needs.

    ``opened`` opens the target's catalog, with the values of the environment. It is called for a shared
    catalog if the engine requires the tables' metadata. Otherwise tables have the formats that they declare.

    Raises ProjectError; UsageError LS201 for an unknown table, LS253 if nothing is built; EnvironmentProblem
    LS325, LS326.
    """
    project, graph = load(root.resolve(), target, References(os.environ))
    chosen = set(select(graph, list(patterns))) if patterns else set(graph.order)
    names = [table.name for table in project.tables if table.name in chosen and table.external is None]
    states = _states(engine, project, names, opened)
    found = [_public(_table(project, name, states), project) for name in names]
    unbuilt = [table for table in found if states is not None and table.metadata is None]
    public, written_out = without_secrets(project.target)
    lake = Lake(
        project=project.name,
        target=public,
        state_dir=project.state_dir,
        tables=tuple(table for table in found if table not in unbuilt),
        unbuilt=tuple(table.name for table in unbuilt),
        written_out=written_out,
    )
    if not lake.tables and lake.kind in engine.reads:
        raise UsageError(_nothing(lake))
    return lake


def _states(
    engine: Engine, project: Project, names: Sequence[TableName], opened: Callable[[], Catalog]
) -> States | None:
    """Returns the tables' states; None if the engine needs nothing that only the catalog knows."""
    if project.target.is_local:
        return _asked(
            names, lambda: LocalCatalog(project.state_dir / "catalog.db", project.state_dir / "warehouse")
        )
    if project.target.type in engine.asks_for_metadata:
        return _asked(names, opened)
    return None


def _asked(names: Sequence[TableName], opened: Callable[[], Catalog]) -> States:
    catalog = opened()
    return {name: catalog.table(name.layer, name.name) for name in names}


def _table(project: Project, name: TableName, states: States | None) -> Table:
    namespace, table = project.target.naming.physical(name)
    state = states.get(name) if states else None
    version = state.format_version if state else project.table(name).format_version
    return Table(name, namespace, table, version, state.metadata_location if state else None)


def _public(table: Table, project: Project) -> Table:
    """Returns the table with references for values of the environment in its path (a bucket's name)."""
    place = table.metadata or ""
    names = variables("".join(value for _, value in project.target.catalog))
    values = {os.environ[name]: name for name in names if os.environ.get(name)}
    for value in sorted(values, key=len, reverse=True):
        place = place.replace(value, reference(values[value]))
    return replace(table, metadata=place or None)


def _nothing(lake: Lake) -> Problem:
    names: tuple[TableName, ...] = lake.unbuilt
    found = f"{', '.join(map(str, names))}: not built yet" if names else "none, or only external tables"
    what = f"no table can be read on target {lake.target.name!r}"
    return Problem(
        "LS253", what, lake.target.place, "a table that was built", found, "lakesmith run builds it"
    )
