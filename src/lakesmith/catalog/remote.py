"""Catalogs of others (Glue, S3 Tables, REST, a database over JDBC), read through PyIceberg, imported when first used."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from lakesmith.catalog.lease import Lease, LeaseTable, lease_name
from lakesmith.catalog.metadata import parse_metadata
from lakesmith.catalog.protocol import CATALOG_NAME
from lakesmith.catalog.remote_tables import RemoteTables, is_new_database, make_own_tables, tables_of
from lakesmith.catalog.state import TableState
from lakesmith.errors import EnvironmentProblem, LakesmithError, Problem
from lakesmith.project.definitions import AS_IN_PROJECT, Naming, TableName

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog as PyIcebergCatalog

Result = TypeVar("Result")

_AT_ONCE: Final = 16
"""Questions to a catalog under way at once."""


@dataclass(frozen=True)
class _ByOurNames:
    """A catalog of PyIceberg's, asked by the names that tables have in the project."""

    catalog: Any
    naming: Naming

    def load_table(self, identifier: str | tuple[str, ...]) -> Any:
        return self.catalog.load_table(self._physical(identifier))

    def create_table(self, identifier: str | tuple[str, ...], *given: Any, **options: Any) -> Any:
        return self.catalog.create_table(self._physical(identifier), *given, **options)

    def create_namespace_if_not_exists(self, layer: str) -> None:
        self.catalog.create_namespace_if_not_exists(self.naming.namespace(layer))

    def _physical(self, identifier: str | tuple[str, ...]) -> tuple[str, str]:
        parts = identifier.split(".") if isinstance(identifier, str) else identifier
        return self.naming.physical(TableName(*parts))


class RemoteCatalog:
    """A catalog reached through PyIceberg.

    Args:
        properties: PyIceberg's catalog properties, ``type`` among them.
        secrets: texts that must not show in any message.
        naming: what the project's tables are called in it.
    """

    def __init__(
        self, properties: Mapping[str, str], secrets: tuple[str, ...] = (), naming: Naming = AS_IN_PROJECT
    ) -> None:
        self._properties = dict(properties)
        self._secrets = secrets
        self._naming = naming
        # A metadata file never changes, so a state stays right for as long as the catalog names the same file.
        self._states: dict[TableName, TableState] = {}
        self._look = threading.local()

    def table(self, layer: str, name: str) -> TableState | None:
        """The state of ``layer.name`` now, None when there is no such table. Raises as ``Catalog`` says."""
        looked: dict[TableName, TableState | None] = getattr(self._look, "states", {})
        if (table := TableName(layer, name)) in looked:
            return looked[table]
        return self._read(table)

    @contextmanager
    def one_look(self, tables: Iterable[TableName]) -> Iterator[None]:
        """See ``Catalog.one_look``: they are asked for side by side."""
        names = list(dict.fromkeys(tables))
        self._ask(lambda: self._tables)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            self._look.states = dict(zip(names, pool.map(self._read, names), strict=True))
        try:
            yield
        finally:
            self._look.states = {}

    def _read(self, name: TableName) -> TableState | None:
        known = self._states.get(name)
        found = self._ask(
            lambda: self._tables.find(self.physical(name), known.metadata_location if known else None)
        )
        if found is None:
            return None
        if known is None or known.metadata_location != found.location:
            known = self._states[name] = parse_metadata(str(name), found.location, found.data or {})
        return known

    def physical(self, name: TableName) -> tuple[str, str]:
        """See ``Catalog.physical``."""
        return self._naming.physical(name)

    def names(self, layer: str) -> tuple[str, ...]:
        """The names of the tables in a layer, sorted. Raises as ``Catalog`` says."""
        return self._ask(lambda: self._list(layer))

    def reader(self) -> PyIcebergCatalog:
        """PyIceberg's catalog, which takes the project's names of tables."""
        return self._ask(lambda: cast("PyIcebergCatalog", _ByOurNames(self._catalog, self._naming)))

    def writer(self) -> PyIcebergCatalog:
        """As ``reader``, of a catalog that can be written to."""
        return self._ask(lambda: self._writer)

    @cached_property
    def _writer(self) -> PyIcebergCatalog:
        make_own_tables(self._catalog)
        return self.reader()

    @cached_property
    def _catalog(self) -> PyIcebergCatalog:
        from pyiceberg.catalog import load_catalog

        return load_catalog(CATALOG_NAME, **self._properties)

    @cached_property
    def _tables(self) -> RemoteTables:
        return tables_of(self._catalog)

    def _list(self, layer: str) -> tuple[str, ...]:
        from pyiceberg.exceptions import NoSuchNamespaceError

        try:
            found = self._catalog.list_tables((self._naming.namespace(layer),))
        except NoSuchNamespaceError:
            return ()
        except Exception as error:
            if is_new_database(self._catalog, error):
                return ()
            raise
        names = (self._naming.logical(layer, identifier[-1]) for identifier in found)
        return tuple(sorted(name for name in names if name is not None))

    def lease_table(self, project: str) -> LeaseTable:
        """The lease of a project in this catalog."""
        return LeaseTable(self.writer(), project, self._ask)

    def lease_holder(self, project: str) -> Lease | None:
        """Who holds the lease of a project now. Nothing is made where there is none."""
        name = lease_name(project)
        return self.lease_table(project).holder() if self.table(*name) is not None else None

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
