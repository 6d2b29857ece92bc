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
    """A catalog of Iceberg tables, read at the time of each call. Methods raise EnvironmentProblem if it
    cannot be reached, LockedError if it stays locked, StateError for broken metadata."""

    def table(self, layer: str, name: str) -> TableState | None:
        """The state of table ``layer.name`` now; None when there is no such table."""

    def names(self, layer: str) -> tuple[str, ...]:
        """The names of the tables in a layer (a namespace), sorted; none for a layer that does not exist."""

    def physical(self, name: TableName) -> tuple[str, str]:
        """The namespace and the name that a table of the project has in the catalog."""

    def one_look(self, tables: Iterable[TableName]) -> AbstractContextManager[None]:
        """Makes ``table`` answer, in this thread and context, with the states at its beginning, read at once.
        Nested contexts share them."""

    def reader(self) -> PyIcebergCatalog:
        """Returns PyIceberg's catalog for reading; works where nothing can be written. Slow to import."""

    def writer(self) -> PyIcebergCatalog:
        """Returns PyIceberg's catalog for writing. Slow to import: only if there is something to write."""
