"""The embedded catalog: one SQLite file that Spark (JdbcCatalog, schema V1), PyIceberg (SqlCatalog) and we
read alike.

It is read with the standard library alone: importing PyIceberg's SqlCatalog and SQLAlchemy costs 1.7 s, one
query here a third of a millisecond, and an idle command has a second in all. The table is Iceberg's
``iceberg_tables`` (``org.apache.iceberg.jdbc.JdbcUtil``, V1: with ``iceberg_type``).
"""

from __future__ import annotations

import atexit
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from lakesmith.cache import Kept, Look
from lakesmith.catalog import busy
from lakesmith.catalog.metadata import load_metadata, local_path, plain_location
from lakesmith.catalog.protocol import CATALOG_NAME
from lakesmith.catalog.record_commit import RecordCommit
from lakesmith.catalog.state import TableState
from lakesmith.errors import EnvironmentProblem, LakesmithError, StateError
from lakesmith.project.definitions import STATE_DIR, ExternalTable, Project, TableName
from lakesmith.project.files import can_write

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog as PyIcebergCatalog

_IS_TABLE = " AND coalesce(iceberg_type, 'TABLE') = 'TABLE'"
_TABLES = f"FROM iceberg_tables WHERE catalog_name = ?{_IS_TABLE}"
_LOCATION = f"SELECT metadata_location {_TABLES} AND table_namespace = ? AND table_name = ?"
_SWAP = (
    "UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ?"
    " WHERE catalog_name = ? AND table_namespace = ? AND table_name = ? AND metadata_location = ?"
)
_ALL = f"SELECT table_namespace, table_name, metadata_location {_TABLES} ORDER BY table_namespace, table_name"
_NAMES = f"SELECT table_name {_TABLES} AND table_namespace = ? ORDER BY table_name"

_IN_EACH = "catalog_name VARCHAR(255) NOT NULL"
SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS iceberg_tables"
    f" ({_IN_EACH}, table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL, "
    "metadata_location VARCHAR(1000),"
    " previous_metadata_location VARCHAR(1000), iceberg_type VARCHAR(5), PRIMARY KEY (catalog_name, "
    "table_namespace, table_name))",
    "CREATE TABLE IF NOT EXISTS iceberg_namespace_properties"
    f" ({_IN_EACH}, namespace VARCHAR(255) NOT NULL, property_key VARCHAR(255), property_value VARCHAR(1000),"
    " PRIMARY KEY (catalog_name, namespace, property_key))",
)
"""As ``JdbcUtil`` makes them. Not left to it: up to Iceberg 1.10 it leaves a look for tables open, and what
goes by that connection later is as the file was then."""
_NO_SIDE_FILES = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
_COPY = "lakesmith-catalog-"


class LocalCatalog:
    """The embedded catalog of a project.

    Args:
        db: the SQLite file; it need not exist, and reading never makes it.
        warehouse: the folder below which tables are made.
        busy_seconds: how long to wait for another process that keeps the file locked.
        elsewhere: external tables, by the names that they have here: how to read their states. They are not
            in the file.
        kept: states that other catalogs of this process have read.
    """

    def __init__(
        self,
        db: Path,
        warehouse: Path,
        busy_seconds: float = busy.WAIT_SECONDS,
        elsewhere: Mapping[TableName, Callable[[], TableState | None]] = MappingProxyType({}),
        kept: Kept | None = None,
    ) -> None:
        self.db = db
        self.warehouse = warehouse
        self.busy_seconds = busy_seconds
        self.elsewhere = elsewhere
        self._kept = kept or Kept()
        self._look = Look()

    def table(self, layer: str, name: str) -> TableState | None:
        """The state of ``layer.name`` now, None when there is no such table. Raises as ``Catalog`` says."""
        if (read := self.elsewhere.get(TableName(layer, name))) is not None:
            return read()
        return self.own_table(layer, name)

    def own_table(self, layer: str, name: str) -> TableState | None:
        """As ``table``, of those that are in this catalog."""
        return self._look.get((layer, name), lambda: self._read_table(layer, name))

    def _read_table(self, layer: str, name: str) -> TableState | None:
        location = self.location(layer, name)
        while location is not None:
            try:
                return self._state(f"{layer}.{name}", location)
            except FileNotFoundError as error:
                gone, location = location, self._location(layer, name)
                # A commit in between may have deleted the old metadata file; the same one gone twice is a
                # loss.
                if location == gone:
                    raise _lost(f"{layer}.{name}", gone) from error
        return None

    def physical(self, name: TableName) -> tuple[str, str]:
        return name.layer, name.name

    @contextmanager
    def one_look(self, tables: Iterable[TableName]) -> Iterator[None]:
        """See ``Catalog.one_look``: one query finds where all metadata is, which never changes."""
        with self._look.one():
            # What is wrong with the file is said of each table that is asked for.
            with suppress(LakesmithError):
                self._locations()
            yield

    def names(self, layer: str) -> tuple[str, ...]:
        """The names of the tables in a layer, sorted. Raises as ``Catalog`` says."""
        return tuple(row[0] for row in self._rows(_NAMES, layer))

    def locations(self) -> frozenset[str]:
        """Where the metadata of every table is. Raises as ``Catalog`` says."""
        return frozenset(location for _, _, location in self.entries())

    def entries(self) -> tuple[tuple[str, str, str], ...]:
        """The layer, the name and the metadata file of every table, sorted. Raises as ``Catalog`` says."""
        return tuple((layer, name, location) for layer, name, location in self._rows(_ALL))

    def writer(self) -> PyIcebergCatalog:
        """PyIceberg's catalog over the same file; makes the file and the warehouse when they are missing."""
        self.prepare()
        return self._pyiceberg(self.db)

    def reader(self) -> PyIcebergCatalog:
        """Returns PyIceberg's catalog for reading; over a copy of a file that cannot be written."""
        return self.writer() if self.can_write() else self._pyiceberg(self.copied())

    def can_write(self) -> bool:
        """Whether this user may write to the file, or make it. Nothing is written to find out."""
        return can_write(self.db.parent) and (not self.db.exists() or os.access(self.db, os.W_OK))

    def copied(self) -> Path:
        """Returns a copy of the file, which ends with the process: WAL files can be read only where SQLite
        can write beside them. Raises EnvironmentProblem LS320."""
        folder = tempfile.mkdtemp(prefix=_COPY)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        try:
            self._copy_to(Path(folder))
        except (OSError, sqlite3.Error) as error:
            raise self.problem(error) from error
        return Path(folder, self.db.name)

    def _pyiceberg(self, db: Path) -> PyIcebergCatalog:
        from pyiceberg.catalog.sql import SqlCatalog
        from sqlalchemy import URL

        url = URL.create("sqlite", database=str(db), query={"timeout": str(self.busy_seconds)})
        return SqlCatalog(CATALOG_NAME, uri=url.render_as_string(), warehouse=f"file://{self.warehouse}")

    def swap(self, layer: str, name: str, commit: RecordCommit) -> bool:
        """Swaps in a written commit if the table is where it began; else removes it and returns False. Raises
        as ``Catalog``; an unknown outcome is looked up first."""
        moved = (commit.location, commit.base, CATALOG_NAME, layer, name, commit.base)
        try:
            with closing(busy.connect(self.db, self.busy_seconds)) as connection:
                made = connection.execute(_SWAP, moved).rowcount == 1
        except sqlite3.Error as error:
            made = self.location(layer, name) == commit.location
            if not made:
                commit.undo()
                raise self.problem(error) from error
        if made:
            commit.tidy()
        else:
            commit.undo()
        return made

    def prepare(self) -> None:
        """Creates the file with its tables in WAL mode, and the warehouse folder. Raises EnvironmentProblem
        LS320."""
        try:
            self.db.parent.mkdir(parents=True, exist_ok=True)
            self.warehouse.mkdir(parents=True, exist_ok=True)
            busy.try_until(self.busy_seconds, self._make)
        except (OSError, sqlite3.Error) as error:
            raise self.problem(error) from error

    def _make(self) -> None:
        with closing(busy.connect(self.db, self.busy_seconds)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            for statement in SCHEMA:
                connection.execute(statement)

    def prepared(self) -> Path:
        """The file, made where it is missing. Raises as ``prepare``."""
        self.prepare()
        return self.db

    def has_below(self, location: str) -> bool:
        """Whether a location is below the warehouse, by its path."""
        return plain_location(location).startswith(f"{self.warehouse}/")

    def location(self, layer: str, name: str) -> str | None:
        """Returns the place of a table's metadata; None if there is no such table. Raises as ``Catalog``."""
        is_one = self._look.known is not None
        return self._locations().get((layer, name)) if is_one else self._location(layer, name)

    def _locations(self) -> Mapping[tuple[str, str], str]:
        return self._look.get("locations", lambda: {(each[0], each[1]): each[2] for each in self.entries()})

    def _location(self, layer: str, name: str) -> str | None:
        rows = self._rows(_LOCATION, layer, name)
        return rows[0][0] if rows else None

    def _state(self, name: str, location: str) -> TableState:
        """Returns the state in a metadata file, which never changes. Raises as ``load_metadata``."""
        return self._kept.get(
            (name, location.rpartition("/")[0]),
            (location, _identity(location)),
            lambda: load_metadata(name, location),
            lambda state: 1 + len(state.snapshots),
        )

    def _rows(self, sql: str, *arguments: str) -> list[Any]:
        try:
            return self._read(sql, (CATALOG_NAME, *arguments)) if self.db.exists() else []
        except (OSError, sqlite3.Error) as error:
            if "no such table" in str(error):
                return []
            if "no such column: iceberg_type" in str(error):
                # Schema V0, which knows no views. Spark makes a catalog so, and adds the column a moment
                # later.
                return self._rows(sql.replace(_IS_TABLE, ""), *arguments)
            raise self.problem(error) from error

    def _read(self, sql: str, arguments: tuple[str, ...]) -> list[Any]:
        try:
            return self._select(self.db, sql, arguments)
        except sqlite3.OperationalError as error:
            if busy.code_of(error) not in _NO_SIDE_FILES:
                raise
            return self._read_copy(sql, arguments)

    def _read_copy(self, sql: str, arguments: tuple[str, ...]) -> list[Any]:
        """Reads a copy. A file in WAL mode cannot be read where its side files are missing and cannot be
        made: in a folder that is read-only. (``immutable=1`` would read it too, but leave out what is still
        in the WAL.)"""
        with tempfile.TemporaryDirectory(prefix=_COPY) as folder:
            self._copy_to(Path(folder))
            return self._select(Path(folder, self.db.name), sql, arguments)

    def _copy_to(self, folder: Path) -> None:
        for suffix in ("", "-wal"):
            source = self.db.with_name(self.db.name + suffix)
            if source.exists():
                shutil.copyfile(source, folder / source.name)

    def _select(self, db: Path, sql: str, arguments: tuple[str, ...]) -> list[Any]:
        uri = f"file:{quote(str(db.absolute()))}?mode=ro"
        with closing(busy.connect(uri, self.busy_seconds, uri=True)) as connection:
            return connection.execute(sql, arguments).fetchall()

    def problem(self, error: OSError | sqlite3.Error) -> LakesmithError:
        """What it means that the file cannot be read or written: LS702 or LS320."""
        if busy.is_busy(error):
            return busy.locked(self.db, self.busy_seconds)
        return EnvironmentProblem.of(
            "LS320",
            f"the catalog {self.db} cannot be used",
            expected="an SQLite file with Iceberg's table iceberg_tables (schema V1)",
            found=str(error),
            hint="fix the folder's permissions, or restore the file (and its -wal) from a backup;"
            " the tables' own files are not touched",
        )


def _identity(location: str) -> tuple[int, ...] | None:
    """Returns what a file is known by; None if it cannot be looked at. Raises FileNotFoundError."""
    path = plain_location(location)
    if not path.startswith("/"):
        return None
    try:
        found = os.stat(path)  # noqa: PTH116 - of hundreds of files, for each view of a page
    except FileNotFoundError:
        raise
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _lost(name: str, location: str) -> StateError:
    others = any(local_path(location).parent.glob("*.metadata.json"))
    back = "; or 'lakesmith register' enters the newest state whose files are there" if others else ""
    return StateError.of(
        "LS504",
        f"the Iceberg metadata of {name} cannot be read",
        expected=location,
        found="no such file, though the catalog names it",
        hint=f"restore the warehouse's files{back}; or, to build the table again from its inputs, run: "
        f"lakesmith drop {name}",
    )


Reading = Callable[[], TableState | None]
InCatalog = Callable[[ExternalTable], TableState | None]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Metadata of an external table; ``catalog``: the catalog whose settings reach it (None: the
    target's)."""

    location: str
    catalog: str | None = None


def elsewhere(project: Project, in_catalog: InCatalog, kept: Kept | None = None) -> dict[TableName, Reading]:
    """Returns how the states of external tables are read; ``in_catalog`` finds those in the target's
    catalogs."""
    return {
        table.name: _reading(project, in_catalog, table.name, table.external, kept)
        for table in project.tables
        if table.external is not None
    }


def _reading(
    project: Project, in_catalog: InCatalog, name: TableName, external: ExternalTable, kept: Kept | None
) -> Reading:
    if external.metadata is not None:
        location = str(project.root / external.metadata)
        return lambda: _in_file(str(name), location)
    if external.project is not None:
        folder = project.root / external.project / STATE_DIR
        theirs = LocalCatalog(folder / "catalog.db", folder / "warehouse", kept=kept)
        return lambda: _named(name, theirs.own_table(external.table.layer, external.table.name))
    return lambda: _named(name, in_catalog(external))


def _named(name: TableName, state: TableState | None) -> TableState | None:
    return None if state is None else replace(state, name=str(name))


def _in_file(name: str, location: str) -> TableState | None:
    try:
        return load_metadata(name, location)
    except FileNotFoundError:
        return None
