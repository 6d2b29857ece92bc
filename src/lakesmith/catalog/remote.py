"""Shared catalogs (Glue, S3 Tables, REST, a database over JDBC), read through PyIceberg."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from lakesmith.cache import Cache, Look
from lakesmith.catalog.lease import Lease, LeaseTable, lease_name
from lakesmith.catalog.local import Reading
from lakesmith.catalog.metadata import parse_metadata
from lakesmith.catalog.protocol import CATALOG_NAME
from lakesmith.catalog.remote_tables import (
    NOTHING_AHEAD,
    Ahead,
    Metadata,
    RemoteTables,
    is_new_database,
    make_own_tables,
    tables_of,
)
from lakesmith.catalog.state import TableState
from lakesmith.errors import EnvironmentProblem, LakesmithError
from lakesmith.project.definitions import AS_IN_PROJECT, Naming, TableName
from lakesmith.redaction import library_message

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog as PyIcebergCatalog

Result = TypeVar("Result")

_CACHED: Final = "1"
"""The version of what is kept of a table's metadata."""

_AT_ONCE: Final = 10
"""Questions to a catalog under way at once: as many connections as its clients keep."""


def _is_not_of_old_metadata(record: logging.LogRecord) -> bool:
    """Filters PyIceberg's warnings about old metadata files that a REST server has deleted itself."""
    return not record.getMessage().startswith("Failed to delete metadata file")


@lru_cache(maxsize=4)
def _opened(properties: frozenset[tuple[str, str]]) -> PyIcebergCatalog:
    """Opens a catalog once for a process, which logs in once and keeps its connections."""
    from pyiceberg.catalog import load_catalog

    given = dict(properties)
    if given.get("type") == "rest":
        logging.getLogger("pyiceberg.catalog").addFilter(_is_not_of_old_metadata)
    return load_catalog(CATALOG_NAME, **given)


@dataclass(frozen=True)
class _ByOurNames:
    """PyIceberg's catalog by the project's names of tables."""

    catalog: Any
    naming: Naming

    def load_table(self, identifier: str | tuple[str, ...]) -> Any:
        return self.catalog.load_table(self._physical(identifier))

    def create_table(self, identifier: str | tuple[str, ...], *given: Any, **options: Any) -> Any:
        return self.catalog.create_table(self._physical(identifier), *given, **options)

    def create_namespace_if_not_exists(self, layer: str) -> None:
        name = self.naming.namespace(layer)
        # A role that may not create any, as a deployed job's, uses what is there.
        if not self.catalog.namespace_exists(name):
            self.catalog.create_namespace_if_not_exists(name)

    def _physical(self, identifier: str | tuple[str, ...]) -> tuple[str, str]:
        parts = identifier.split(".") if isinstance(identifier, str) else identifier
        return self.naming.physical(TableName(*parts))


class RemoteCatalog:
    """A catalog reached through PyIceberg.

    Args:
        properties: PyIceberg's catalog properties, ``type`` among them.
        secrets: texts that must not show in any message.
        naming: what the project's tables are called in it.
        cache: the folder of the cache of metadata; None: nothing is kept.
        elsewhere: external tables, by the names that they have here: how to read their states.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        secrets: tuple[str, ...] = (),
        naming: Naming = AS_IN_PROJECT,
        cache: Path | None = None,
        elsewhere: Mapping[TableName, Reading] = MappingProxyType({}),
    ) -> None:
        self._properties = dict(properties)
        self._secrets = secrets
        self._naming = naming
        self._cache = Cache(cache, "metadata", _CACHED) if cache else None
        self._elsewhere = elsewhere
        self._known: dict[TableName, tuple[Metadata, TableState]] = {}
        self._look = Look()

    def table(self, layer: str, name: str) -> TableState | None:
        """The state of ``layer.name`` now, None when there is no such table. Raises as ``Catalog`` says."""
        table = TableName(layer, name)
        found = self._look.get(table, lambda: self._looked(table))
        if isinstance(found, LakesmithError):
            raise found
        return found

    @contextmanager
    def one_look(self, tables: Iterable[TableName]) -> Iterator[None]:
        """See ``Catalog.one_look``: they are asked for side by side."""
        with self._look.one() as known:
            names = [name for name in dict.fromkeys(tables) if name not in known]
            own = [self.physical(name) for name in names if name not in self._elsewhere]
            ahead = self._ask(lambda: self._tables.ahead(own))
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                found = pool.map(lambda name: self._looked(name, ahead), names)
                known |= zip(names, found, strict=True)
            yield

    def _looked(self, name: TableName, ahead: Ahead = NOTHING_AHEAD) -> TableState | LakesmithError | None:
        """Returns a table's state or its error, which is raised when the table is asked for."""
        try:
            return self._read(name, ahead)
        except LakesmithError as error:
            return error

    def _read(self, name: TableName, ahead: Ahead) -> TableState | None:
        if (read := self._elsewhere.get(name)) is not None:
            return read()
        key = self._ask(lambda: self._tables.key(self.physical(name)))
        known, state = self._known.get(name) or (self._cached(key), None)
        found = self._ask(lambda: self._tables.find(self.physical(name), known, ahead))
        if found is None:
            return None
        if state is None or known is None or found.location != known.location:
            state = parse_metadata(str(name), found.location, found.data)
        if self._cache and (known is None or (found.location, found.etag) != (known.location, known.etag)):
            self._cache.save(key, (found.location, found.data, found.etag))
        self._known[name] = replace(found, data={}), state
        return state

    def _cached(self, key: str) -> Metadata | None:
        """Returns what another process read: right for as long as the catalog names the same file or ETag."""
        found = self._cache.load(key) if self._cache else None
        return Metadata(*found) if found else None

    def physical(self, name: TableName) -> tuple[str, str]:
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

    def register(self, name: TableName, location: str) -> None:
        """Enters a table by its metadata file. Raises as ``Catalog`` says."""
        namespace = self._naming.namespace(name.layer)
        self._ask(lambda: self._writer.create_namespace_if_not_exists(name.layer))
        self._ask(lambda: self._catalog.register_table((namespace, self.physical(name)[1]), location))

    @cached_property
    def _writer(self) -> PyIcebergCatalog:
        make_own_tables(self._catalog)
        return self.reader()

    @cached_property
    def _catalog(self) -> PyIcebergCatalog:
        return _opened(frozenset(self._properties.items()))

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
        # A database has the paths that it was given. Glue and REST servers place tables themselves.
        home = self._properties.get("warehouse") if self._properties.get("type") == "sql" else None
        return LeaseTable(self.writer(), project, self._ask, home=home)

    def lease_holder(self, project: str) -> Lease | None:
        """Who holds the lease of a project now. Nothing is created."""
        name = lease_name(project)
        return self.lease_table(project).holder() if self.table(*name) is not None else None

    def _ask(self, question: Callable[[], Result]) -> Result:
        try:
            return question()
        except LakesmithError:
            raise
        except Exception as error:  # noqa: BLE001 - a stack trace would repeat what the client said
            raise self._unreachable(error) from None

    def _unreachable(self, error: Exception) -> EnvironmentProblem:
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        found = library_message(said, (), self._secrets)
        return EnvironmentProblem.of(
            "LS325",
            f"the {self._properties.get('type')} catalog does not answer",
            found=found,
            hint="check the target's catalog settings in lakesmith.yaml, the credentials and the network",
        )
