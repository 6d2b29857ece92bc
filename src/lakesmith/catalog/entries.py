"""Entries of the embedded catalog, several changed in one transaction, and what is noted on disk
meanwhile."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from lakesmith.catalog import busy
from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.protocol import CATALOG_NAME
from lakesmith.errors import Problem, StateError
from lakesmith.project.definitions import TableName
from lakesmith.whole_file import write_whole

_NAME: Final = "catalog_name = ? AND table_namespace = ? AND table_name = ?"


@dataclass(frozen=True, slots=True)
class Entry:
    """What the catalog knows of a table: where its metadata is. ``location`` is a path or a ``file:`` URI."""

    name: TableName
    location: str


def find_entries(catalog: LocalCatalog, names: Sequence[TableName]) -> tuple[Entry, ...]:
    """The entries of those tables that are there. Raises as ``Catalog`` says."""
    found = ((name, catalog.location(name.layer, name.name)) for name in names)
    return tuple(Entry(name, location) for name, location in found if location is not None)


def all_entries(catalog: LocalCatalog) -> tuple[Entry, ...]:
    """The entries of all tables. Raises as ``Catalog`` says."""
    return tuple(Entry(TableName(layer, name), location) for layer, name, location in catalog.entries())


def change_entries(catalog: LocalCatalog, take_out: Sequence[Entry], put_in: Sequence[Entry]) -> None:
    """Replaces entries in one transaction. Raises StateError LS511 if an entry is not as ``take_out``
    says."""
    catalog.prepare()
    try:
        with closing(busy.connect(catalog.db, catalog.busy_seconds)) as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                _change(db, take_out, put_in)
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")
    except sqlite3.Error as error:
        raise catalog.problem(error) from error


def _change(db: sqlite3.Connection, take_out: Sequence[Entry], put_in: Sequence[Entry]) -> None:
    for entry in take_out:
        sql = f"DELETE FROM iceberg_tables WHERE {_NAME} AND metadata_location = ?"
        if db.execute(sql, (*_key(entry), entry.location)).rowcount != 1:
            raise _moved(entry.name, "it has moved since it was looked at")
    for entry in put_in:
        _put_in(db, entry)


def _put_in(db: sqlite3.Connection, entry: Entry) -> None:
    space = "INSERT OR IGNORE INTO iceberg_namespace_properties VALUES (?, ?, 'exists', 'true')"
    db.execute(space, (CATALOG_NAME, entry.name.layer))
    columns = [row[1] for row in db.execute("PRAGMA table_info(iceberg_tables)")]
    kind = (", iceberg_type", ", 'TABLE'") if "iceberg_type" in columns else ("", "")
    sql = (
        f"INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location{kind[0]})"
        f" VALUES (?, ?, ?, ?{kind[1]})"
    )
    try:
        db.execute(sql, (*_key(entry), entry.location))
    except sqlite3.IntegrityError as error:
        raise _moved(entry.name, "there is a table of that name") from error


def _key(entry: Entry) -> tuple[str, str, str]:
    return (CATALOG_NAME, entry.name.layer, entry.name.name)


def _moved(name: TableName, found: str) -> StateError:
    hint = "end what writes to it, and try again: nothing was changed"
    return StateError.of("LS511", f"the catalog's entry of {name} cannot be changed", found=found, hint=hint)


def folder_of(location: str) -> Path:
    """The folder of the table whose metadata file is at ``location``."""
    from lakesmith.catalog.metadata import local_path

    return local_path(location).parent.parent


@dataclass(frozen=True, slots=True)
class Unfinished:
    """``command`` finishes it. ``tables`` are what it is about; ``folders`` are still to be deleted."""

    command: str
    tables: tuple[str, ...]
    folders: tuple[str, ...] = ()

    def problem(self) -> Problem:
        """LS513: why nothing is done with these tables before."""
        return Problem(
            "LS513",
            f"'{self.command}' was begun and did not finish",
            expected="a table that is complete under one name, or removed",
            found=f"one in between: {', '.join(self.tables)}",
            hint=f"{self.command} --yes finishes it",
        )


def read_unfinished(state_dir: Path) -> Unfinished | None:
    """What was begun, None when nothing was. Raises StateError LS513 where the note cannot be read."""
    try:
        data = json.loads(_unfinished(state_dir).read_bytes())
        return Unfinished(data["command"], tuple(data["tables"]), tuple(data["folders"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        what, hint = (
            f"{_unfinished(state_dir)} cannot be read",
            "call the drop or the rename again that was begun",
        )
        raise StateError.of("LS513", what, None, found=str(error), hint=hint) from error


def begin(state_dir: Path, unfinished: Unfinished) -> None:
    """Notes what is begun, on the disk itself before this returns."""
    write_whole(_unfinished(state_dir), json.dumps(asdict(unfinished)), to_disk=True)


def finish(state_dir: Path) -> None:
    _unfinished(state_dir).unlink(missing_ok=True)


def require_finished(state_dir: Path, name: TableName) -> None:
    """Raises StateError LS513 when a drop or a rename of the table was begun and not finished."""
    found = read_unfinished(state_dir)
    if found is not None and str(name) in found.tables:
        raise StateError(found.problem())


def _unfinished(state_dir: Path) -> Path:
    return state_dir / "unfinished.json"


def mark(folder: Path, uuid: str, name: TableName | None) -> None:
    """Notes in ``folder`` what the table ``uuid`` is called now; None: it was dropped."""
    file = _mark_file(folder, uuid)
    if file.parent.is_dir():
        write_whole(file, json.dumps({"name": None if name is None else str(name)}))


def unmark(folder: Path, uuid: str) -> None:
    _mark_file(folder, uuid).unlink(missing_ok=True)


def marked_name(folder: Path, uuid: str) -> TableName | None:
    """What the table ``uuid`` in ``folder`` is called; None when it was dropped."""
    try:
        name = json.loads(_mark_file(folder, uuid).read_bytes())["name"]
    except (OSError, ValueError, KeyError, TypeError):
        return TableName(folder.parent.name, folder.name)
    return None if name is None else TableName.parse(name)


def _mark_file(folder: Path, uuid: str) -> Path:
    return folder / "metadata" / f"lakesmith-{uuid}.json"
