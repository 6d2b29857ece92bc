"""Catalogs of others (Glue, S3 Tables, REST, a database over JDBC), read through PyIceberg, imported when first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from lakesmith.catalog.metadata import parse_metadata
from lakesmith.catalog.protocol import CATALOG_NAME
from lakesmith.catalog.state import TableState
from lakesmith.errors import EnvironmentProblem, LakesmithError, Problem

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog as PyIcebergCatalog
    from pyiceberg.table import Table

Result = TypeVar("Result")


class RemoteCatalog:
    """A catalog reached through PyIceberg.

    Args:
        properties: PyIceberg's catalog properties, ``type`` among them.
        secrets: texts that must not show in any message.
    """

    def __init__(self, properties: Mapping[str, str], secrets: tuple[str, ...] = ()) -> None:
        self._properties = dict(properties)
        self._secrets = secrets

    def table(self, layer: str, name: str) -> TableState | None:
        """The state of ``layer.name`` now, None when there is no such table. Raises as ``Catalog`` says."""
        table = self._ask(lambda: self._load(layer, name))
        if table is None:
            return None
        data = table.metadata.model_dump(mode="json", by_alias=True)
        return parse_metadata(f"{layer}.{name}", table.metadata_location, data)

    def names(self, layer: str) -> tuple[str, ...]:
        """The names of the tables in a layer, sorted. Raises as ``Catalog`` says."""
        return self._ask(lambda: self._list(layer))

    def reader(self) -> PyIcebergCatalog:
        """PyIceberg's catalog itself."""
        return self.writer()

    def writer(self) -> PyIcebergCatalog:
        """PyIceberg's catalog itself."""
        return self._ask(lambda: self._catalog)

    @cached_property
    def _catalog(self) -> PyIcebergCatalog:
        from pyiceberg.catalog import load_catalog

        return load_catalog(CATALOG_NAME, **self._properties)

    def _load(self, layer: str, name: str) -> Table | None:
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            return self._catalog.load_table((layer, name))
        except (NoSuchTableError, NoSuchNamespaceError):
            return None

    def _list(self, layer: str) -> tuple[str, ...]:
        from pyiceberg.exceptions import NoSuchNamespaceError

        try:
            return tuple(sorted(identifier[-1] for identifier in self._catalog.list_tables((layer,))))
        except NoSuchNamespaceError:
            return ()

    def _ask(self, question: Callable[[], Result]) -> Result:
        """Asks the catalog. What goes wrong has as many classes as there are clients: all mean it cannot be reached."""
        try:
            return question()
        except LakesmithError:
            raise
        except Exception as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> EnvironmentProblem:
        found = f"{type(error).__name__}: {error}".splitlines()[0]
        for secret in self._secrets:
            found = found.replace(secret, "***") if secret else found
        return EnvironmentProblem(
            Problem(
                "LS325",
                f"the {self._properties.get('type')} catalog does not answer",
                found=found,
                hint="check the target's catalog settings in lakesmith.yaml, the credentials and the network",
            )
        )
