"""What a snippet is made of, and what an engine has to say of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lakesmith.catalog.protocol import CATALOG_NAME
from lakesmith.project.definitions import TableName, Target

ALIAS = CATALOG_NAME
"""What the catalog is called in every engine: in the rows of a JDBC catalog it has to be this."""

SQLITE = "sqlite"
"""The kind of a catalog over JDBC that is a file: like the embedded one, but for where it is."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table as an engine finds it. ``metadata``: its newest metadata file. Both it and the format are None where no catalog told."""

    name: TableName
    namespace: str
    table: str
    format_version: int | None
    metadata: str | None = None

    @property
    def path(self) -> str:
        """Its name with its namespace."""
        return f"{self.namespace}.{self.table}"


@dataclass(frozen=True, slots=True)
class Lake:
    """A target and tables of it. ``target`` has references where values are in the environment.

    ``unbuilt``: tables that are declared, and not there yet, where that is known. ``written_out``: the variables that stand for secrets
    which ``lakesmith.yaml`` has itself.
    """

    project: str
    target: Target
    catalog_db: Path
    warehouse: Path
    tables: tuple[Table, ...]
    unbuilt: tuple[TableName, ...] = ()
    written_out: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The type of its catalog, one over JDBC told apart by where it is: a file is not a server."""
        in_file = (self.setting("uri") or "").startswith("jdbc:sqlite:")
        return SQLITE if self.target.type == "jdbc" and in_file else self.target.type

    def setting(self, *keys: str) -> str | None:
        """The first of the settings of the target's catalog that is given."""
        given = dict(self.target.catalog)
        return next((given[key] for key in keys if key in given), None)


@dataclass(frozen=True, slots=True)
class Piece:
    """The part of a snippet that an engine writes. ``notes`` are told in comments above it."""

    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()


Write = Callable[[Lake], Piece]


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine.

    Args:
        name: as the command line has it.
        title: as people write it.
        comment: what a comment begins with.
        writes: for each kind of catalog that it reads (the types, and ``SQLITE``), what writes the snippet.
        refuses: for each other kind, why not.
        format_three: what is to be known of tables of format 3, where there is something.
        fills_in: how the values of environment variables get into the text.
        asks_for_metadata: types of catalog of which it needs each table's metadata file.
        package: the Python package with which it runs here; None: it runs elsewhere.
    """

    name: str
    title: str
    comment: str
    writes: Mapping[str, Write]
    refuses: Mapping[str, str] = field(default_factory=dict)
    format_three: str | None = None
    fills_in: str | None = None
    asks_for_metadata: frozenset[str] = frozenset()
    package: str | None = None
