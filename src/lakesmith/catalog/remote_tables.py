"""Where the metadata of a table is, by the client of its catalog, and what is in it: as JSON, which PyIceberg would hold against its own models
first (some 100 ms for a few thousand snapshots)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

from lakesmith.catalog.metadata import GZIP_MAGIC

Identifier = tuple[str, str]
"""A namespace and a table's name, as the catalog has them."""

_NOT_FOUND: Final = 404


@dataclass(frozen=True, slots=True)
class Metadata:
    """Where a table's metadata is, and what it says; ``data`` is None where that is known already."""

    location: str
    data: Mapping[str, Any] | None


class RemoteTables(Protocol):
    """The tables of one catalog. What goes wrong raises what its client raises."""

    def find(self, identifier: Identifier, known: str | None) -> Metadata | None:
        """The table's metadata now; None when there is no such table. ``known``: the location of what is known of it already."""


def tables_of(catalog: Any) -> RemoteTables:
    """The tables of one of PyIceberg's catalogs."""
    kinds: dict[str, Callable[[Any], RemoteTables]] = {
        "RestCatalog": _RestTables,
        "GlueCatalog": partial(_TablesInFiles, location=_in_glue),
        "SqlCatalog": partial(_TablesInFiles, location=_in_database),
    }
    return kinds[type(catalog).__name__](catalog)


@dataclass(frozen=True)
class _RestTables:
    """A REST catalog answers with the metadata itself."""

    catalog: Any

    def find(self, identifier: Identifier, known: str | None) -> Metadata | None:
        from pyiceberg.catalog.rest import Endpoints

        catalog = self.catalog
        path = catalog.url(Endpoints.load_table, **catalog._split_identifier_for_path(identifier))
        response = catalog._session.get(path)
        if response.status_code == _NOT_FOUND:
            return None
        if not response.ok:
            # PyIceberg says what such an answer means, and asks again where that helps.
            catalog.load_table(identifier)
            response = catalog._session.get(path)
            response.raise_for_status()
        answer = response.json()
        return Metadata(answer["metadata-location"], answer["metadata"])


@dataclass(frozen=True)
class _TablesInFiles:
    """The catalog says where a metadata file is, and that is read as PyIceberg is set up to read."""

    catalog: Any
    location: Callable[[Any, Identifier], str | None]

    def find(self, identifier: Identifier, known: str | None) -> Metadata | None:
        location = self.location(self.catalog, identifier)
        if location is None:
            return None
        return Metadata(location, None if location == known else self._read(location))

    def _read(self, location: str) -> dict[str, Any]:
        from pyiceberg.io import load_file_io

        with load_file_io(self.catalog.properties, location).new_input(location).open() as file:
            content = file.read()
        data: dict[str, Any] = json.loads(
            gzip.decompress(content) if content.startswith(GZIP_MAGIC) else content
        )
        return data


def _in_glue(catalog: Any, identifier: Identifier) -> str | None:
    glue = catalog.glue
    try:
        found = glue.get_table(DatabaseName=identifier[0], Name=identifier[1])["Table"]
    except glue.exceptions.EntityNotFoundException:
        return None
    location = found.get("Parameters", {}).get("metadata_location")
    return None if location is None else str(location)


def make_own_tables(catalog: Any) -> None:
    """Makes the tables in which a catalog in a database keeps its own, where they are missing: for whoever writes first."""
    if not hasattr(catalog, "create_tables"):
        return
    from sqlalchemy.exc import SQLAlchemyError

    try:
        catalog.create_tables()
    except SQLAlchemyError:
        # It looks and then makes them, so two first writers get in each other's way. Now they are there.
        catalog.create_tables()


def is_new_database(catalog: Any, error: Exception) -> bool:
    """Whether a question failed because nobody has written to the catalog's database yet: it has no table then."""
    if not hasattr(catalog, "create_tables") or not isinstance(getattr(error, "orig", None), Exception):
        return False
    from pyiceberg.catalog.sql import SqlCatalogBaseTable
    from sqlalchemy import inspect

    there = inspect(catalog.engine).get_table_names()
    return not set(SqlCatalogBaseTable.metadata.tables) <= set(there)


def _in_database(catalog: Any, identifier: Identifier) -> str | None:
    from sqlalchemy.exc import SQLAlchemyError

    try:
        return _in_own_tables(catalog, identifier)
    except SQLAlchemyError as error:
        if is_new_database(catalog, error):
            return None
        raise


def _in_own_tables(catalog: Any, identifier: Identifier) -> str | None:
    from pyiceberg.catalog.sql import IcebergTables
    from sqlalchemy import select

    asked = select(IcebergTables.metadata_location).where(
        IcebergTables.catalog_name == catalog.name,
        IcebergTables.table_namespace == identifier[0],
        IcebergTables.table_name == identifier[1],
    )
    with catalog.engine.connect() as connection:
        found = connection.execute(asked).scalar()
    return None if found is None else str(found)
