"""Where a catalog's client says that a table's metadata is, and its content as JSON: PyIceberg's validation
takes 100 ms for a few thousand snapshots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from lakesmith.catalog.metadata import json_of

Identifier = tuple[str, str]
"""A namespace and a table's name, as the catalog has them."""

Ahead = Mapping[Identifier, str | None]
"""Where the metadata of tables is that were asked for together; None: there is no such table."""

NOTHING_AHEAD: Final[Ahead] = {}
_NOT_MODIFIED: Final = 304
_NOT_FOUND: Final = 404
_IN_ONE_QUERY: Final = 500
"""Names of tables in one query: databases have limits."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """A table's metadata file, its content, and the ETag of a REST server. A metadata file never changes."""

    location: str
    data: Mapping[str, Any]
    etag: str | None = None


class RemoteTables(Protocol):
    """The tables of one catalog. What goes wrong raises what its client raises."""

    def key(self, identifier: Identifier) -> str:
        """What tells the table from others, those of other catalogs too; nothing in it is a secret."""

    def ahead(self, identifiers: Sequence[Identifier]) -> Ahead:
        """What can be asked of many tables at once, for ``find``; it need not have all of them."""

    def find(self, identifier: Identifier, known: Metadata | None, ahead: Ahead) -> Metadata | None:
        """Returns the table's metadata; None if there is none of it; ``known`` itself if still right."""


def tables_of(catalog: Any) -> RemoteTables:
    kinds: dict[str, Callable[[Any], RemoteTables]] = {
        "RestCatalog": _RestTables,
        "GlueCatalog": lambda catalog: _TablesInFiles(catalog, _InGlue(catalog)),
        "SqlCatalog": lambda catalog: _TablesInFiles(catalog, _InDatabase(catalog)),
    }
    return kinds[type(catalog).__name__](catalog)


@dataclass(frozen=True)
class _RestTables:
    """A REST catalog: answers contain the metadata, and some servers support ETags."""

    catalog: Any

    def key(self, identifier: Identifier) -> str:
        return f"{self._url(identifier)} {self.catalog.properties.get('warehouse')}"

    def ahead(self, identifiers: Sequence[Identifier]) -> Ahead:
        """Nothing: there is no such question."""
        return NOTHING_AHEAD

    def find(self, identifier: Identifier, known: Metadata | None, ahead: Ahead) -> Metadata | None:
        etag = known.etag if known else None
        response = self._get(identifier, {"If-None-Match": etag} if etag else {})
        if response.status_code == _NOT_FOUND:
            return None
        if response.status_code == _NOT_MODIFIED:
            return known
        answer = response.json()
        return Metadata(answer["metadata-location"], answer["metadata"], response.headers.get("ETag"))

    def _get(self, identifier: Identifier, headers: Mapping[str, str]) -> Any:
        url, session = self._url(identifier), self.catalog._session
        response = session.get(url, headers=headers)
        if not response.ok and response.status_code != _NOT_FOUND:
            # PyIceberg says what such an answer means, and asks again where that helps.
            self.catalog.load_table(identifier)
            response = session.get(url, headers=headers)
            response.raise_for_status()
        return response

    def _url(self, identifier: Identifier) -> str:
        from pyiceberg.catalog.rest import Endpoints

        catalog = self.catalog
        return str(catalog.url(Endpoints.load_table, **catalog._split_identifier_for_path(identifier)))


class _Locations(Protocol):
    def of(self, identifier: Identifier) -> str | None:
        """That of one; None when there is no such table."""

    def of_many(self, identifiers: Sequence[Identifier]) -> Ahead:
        """Those of several, by fewer questions; what it does not have is asked for by itself."""


@dataclass(frozen=True)
class _TablesInFiles:
    """A catalog that says where a metadata file is; PyIceberg's file client reads it."""

    catalog: Any
    locations: _Locations
    ios: dict[str, Any] = field(default_factory=dict)

    def key(self, identifier: Identifier) -> str:
        return (
            f"{type(self.catalog).__name__} {self.catalog.properties.get('warehouse')} {'.'.join(identifier)}"
        )

    def ahead(self, identifiers: Sequence[Identifier]) -> Ahead:
        return self.locations.of_many(identifiers)

    def find(self, identifier: Identifier, known: Metadata | None, ahead: Ahead) -> Metadata | None:
        location = ahead[identifier] if identifier in ahead else self.locations.of(identifier)
        while location is not None:
            if known is not None and known.location == location:
                return known
            try:
                return Metadata(location, self._read(location))
            except FileNotFoundError:
                gone, location = location, self.locations.of(identifier)
                # A commit in between may have deleted the old metadata file; the same one gone twice is a
                # loss.
                if location == gone:
                    raise
        return None

    def _read(self, location: str) -> dict[str, Any]:
        with self._io(location).new_input(location).open() as file:
            return json_of(file.read())

    def _io(self, location: str) -> Any:
        """Returns the client of a scheme, one for all its files."""
        from pyiceberg.io import load_file_io

        scheme = location.partition(":")[0]
        if scheme not in self.ios:
            self.ios[scheme] = load_file_io(self.catalog.properties, location)
        return self.ios[scheme]


@dataclass(frozen=True)
class _InGlue:
    """Tables in Glue, which lists a database in pages of 100."""

    catalog: Any

    def of(self, identifier: Identifier) -> str | None:
        glue = self.catalog.glue
        try:
            found = glue.get_table(DatabaseName=identifier[0], Name=identifier[1])["Table"]
        except glue.exceptions.EntityNotFoundException:
            return None
        return _location_in(found)

    def of_many(self, identifiers: Sequence[Identifier]) -> Ahead:
        """What is not found is asked for by itself: some may be hidden from whoever asks for all."""
        names: dict[str, set[str]] = defaultdict(set)
        for database, name in identifiers:
            names[database].add(name)
        found: dict[Identifier, str | None] = {}
        for database, wanted in names.items():
            found |= {(database, name): at for name, at in self._in_pages(database, wanted).items()}
        return found

    def _in_pages(self, database: str, wanted: set[str]) -> dict[str, str | None]:
        """Returns locations from Glue's pages, until asking for the rest one by one costs less."""
        glue, found = self.catalog.glue, dict[str, str | None]()
        pages = glue.get_paginator("get_tables").paginate(DatabaseName=database) if len(wanted) > 1 else ()
        try:
            for at, page in enumerate(pages, 1):
                found |= {
                    each["Name"]: _location_in(each) for each in page["TableList"] if each["Name"] in wanted
                }
                if len(wanted) - len(found) <= at:
                    break
        except (glue.exceptions.EntityNotFoundException, glue.exceptions.AccessDeniedException):
            return {}
        return found


def _location_in(table: Any) -> str | None:
    location = table.get("Parameters", {}).get("metadata_location")
    return None if location is None else str(location)


def make_own_tables(catalog: Any) -> None:
    """Creates the tables that a catalog in a database keeps for itself, if they are missing."""
    if not hasattr(catalog, "create_tables"):
        return
    from sqlalchemy.exc import SQLAlchemyError

    try:
        catalog.create_tables()
    except SQLAlchemyError:
        # It looks and then makes them, so two first writers get in each other's way. Now they are there.
        catalog.create_tables()


def is_new_database(catalog: Any, error: Exception) -> bool:
    """Returns whether a question failed because the catalog's database has no tables yet."""
    if not hasattr(catalog, "create_tables") or not isinstance(getattr(error, "orig", None), Exception):
        return False
    from pyiceberg.catalog.sql import SqlCatalogBaseTable
    from sqlalchemy import inspect

    there = inspect(catalog.engine).get_table_names()
    return not set(SqlCatalogBaseTable.metadata.tables) <= set(there)


@dataclass(frozen=True)
class _InDatabase:
    catalog: Any

    def of(self, identifier: Identifier) -> str | None:
        return self.of_many([identifier])[identifier]

    def of_many(self, identifiers: Sequence[Identifier]) -> Ahead:
        from sqlalchemy.exc import SQLAlchemyError

        found: dict[Identifier, str | None] = dict.fromkeys(identifiers)
        try:
            for begin in range(0, len(identifiers), _IN_ONE_QUERY):
                found |= self._query(identifiers[begin : begin + _IN_ONE_QUERY])
        except SQLAlchemyError as error:
            if not is_new_database(self.catalog, error):
                raise
        return found

    def _query(self, identifiers: Sequence[Identifier]) -> dict[Identifier, str | None]:
        from pyiceberg.catalog.sql import IcebergTables
        from sqlalchemy import select

        namespace, name = IcebergTables.table_namespace, IcebergTables.table_name
        asked = select(namespace, name, IcebergTables.metadata_location).where(
            IcebergTables.catalog_name == self.catalog.name,
            namespace.in_({each[0] for each in identifiers}),
            name.in_({each[1] for each in identifiers}),
        )
        with self.catalog.engine.connect() as connection:
            rows = connection.execute(asked).all()
        return {(row[0], row[1]): row[2] for row in rows if (row[0], row[1]) in identifiers}
