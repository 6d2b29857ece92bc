"""What every catalog can do, wherever it is: the one interface the planner and the commands see."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from lakesmith.catalog.state import TableState
from lakesmith.project.definitions import TableName

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog as PyIcebergCatalog

CATALOG_NAME = "lake"
"""The catalog's name in Spark, in PyIceberg and in the rows of a JDBC catalog, which must agree."""

SPARK_CATALOG = f"spark.sql.catalog.{CATALOG_NAME}"
"""Prefix of Spark's settings of the catalog."""


class Catalog(Protocol):
    """A catalog of Iceberg tables, read as it is at the moment of the call.

    Every method raises EnvironmentProblem when the catalog cannot be reached or read, LockedError when
    another process keeps it locked, StateError when a table's metadata is broken.
    """

    def table(self, layer: str, name: str) -> TableState | None:
        """The state of table ``layer.name`` now; None when there is no such table."""

    def names(self, layer: str) -> tuple[str, ...]:
        """The names of the tables in a layer (a namespace), sorted; none for a layer that does not exist."""

    def physical(self, name: TableName) -> tuple[str, str]:
        """The namespace and the name that a table of the project has in the catalog."""

    def one_look(self, tables: Iterable[TableName]) -> AbstractContextManager[None]:
        """Has ``table`` answer, within it and in this thread, with how these tables were when it began: asked
        for all at once.

        One inside another begins when that did, for the tables that both are about.
        """

    def reader(self) -> PyIcebergCatalog:
        """Returns PyIceberg's catalog for reading; works where nothing can be written. Slow to import."""

    def writer(self) -> PyIcebergCatalog:
        """Returns PyIceberg's catalog for writing. Slow to import: only if there is something to write."""
