"""A copy of the lake to try an event on, in a session of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copyfile
from typing import Any

from pyspark.sql import SparkSession

from lakesmith.catalog.copied import copy_tables
from lakesmith.catalog.family import family
from lakesmith.catalog.local import LocalCatalog
from lakesmith.errors import UsageError
from lakesmith.execute.lake import Lake
from lakesmith.execute.modules import module_file, project_modules
from lakesmith.execute.opened import Opened
from lakesmith.project.definitions import (
    STATE_DIR,
    ExternalTable,
    Project,
    PythonQuery,
    TableDefinition,
    TableName,
)
from lakesmith.sources.event_file import alone
from lakesmith.spark.jvm.gateway import close_catalogs
from lakesmith.spark.start.session import SessionHandle, local_catalog_conf
from lakesmith.spark.start.stop import asked_of_jvm


@dataclass(frozen=True, slots=True)
class EventText:
    """An event: the text of a landing file, or of a request, for a source of a table."""

    table: TableName
    source: str
    text: str


def copied(opened: Opened, event: EventText, root: Path, names: Sequence[TableName]) -> Opened:
    """Returns the project with a root of its own, and its lake with copies of the tables."""
    origin = opened.lake.catalog
    if not isinstance(origin, LocalCatalog):
        what = "an event can be followed only in a lake whose catalog is embedded"
        raise UsageError.of("LS279", what, None, "a target of type local", opened.project.target.type)
    definitions = {table.name: _moved(table, event, opened.project.root) for table in opened.project.tables}
    project = replace(opened.project, root=root, tables=tuple(definitions.values()), alerts=None)
    nodes = {node.name: replace(node, definition=definitions[node.name]) for node in opened.graph.nodes}
    for name in names:
        _bring_files(definitions[name], opened.project.root, root)
    lake = Lake.open(project)
    needed = {each for name in names for each in (name, *opened.graph.node(name).inputs)}
    assert isinstance(lake.catalog, LocalCatalog)
    copy_tables(origin, lake.catalog, [(each.layer, each.name) for name in needed for each in family(name)])
    return Opened(project, replace(opened.graph, _nodes=nodes), lake)


def _moved(table: TableDefinition, event: EventText, root: Path) -> TableDefinition:
    """Returns the definition for another root: what it reads elsewhere stays where it is."""
    if table.external is not None:
        return replace(table, external=_absolute(table.external, root))
    if table.name != event.table:
        return replace(table, export=None)
    return replace(table, export=None, sources=tuple(map(alone, table.sources)))


def _absolute(external: ExternalTable, root: Path) -> ExternalTable:
    metadata, project = external.metadata, external.project
    return replace(
        external,
        metadata=None if metadata is None else str(root / metadata),
        project=None if project is None else str(root / project),
    )


def _bring_files(table: TableDefinition, origin: Path, root: Path) -> None:
    """Creates the folders of sources, and copies the modules that a Python table imports."""
    for source in table.sources:
        (root / source.path).mkdir(parents=True, exist_ok=True)
    modules = project_modules(table.query, origin) if isinstance(table.query, PythonQuery) else {}
    for name in modules:
        if (file := module_file(origin, tuple(name.split(".")))) is not None:
            place = root / file.relative_to(origin)
            place.parent.mkdir(parents=True, exist_ok=True)
            copyfile(file, place)


@contextmanager
def session_of(session: SessionHandle, project: Project) -> Iterator[SessionHandle]:
    """Yields a session whose catalog is the copy's, in the same JVM."""
    clone = SparkSession(session.spark.sparkContext, session.spark._jsparkSession.cloneSession())
    state = project.root / STATE_DIR
    for key, value in local_catalog_conf(state / "catalog.db", state / "warehouse").items():
        clone.conf.set(key, value)

    def enter() -> None:
        session.enter()
        jvm: Any = clone._jvm
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(clone._jsparkSession)

    try:
        yield replace(session, spark=clone, enter=enter, stop=lambda: None, leave=None, lent=None)
    finally:
        asked_of_jvm(lambda: close_catalogs(clone))
        session.enter()
