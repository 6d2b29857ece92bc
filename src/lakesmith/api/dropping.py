"""Takes a table and its sidecars out of the catalog, and with ``purge`` their files off the disk."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lakesmith.api.access import Access
from lakesmith.api.local_lake import LocalLake, not_there, open_local, parsed_name
from lakesmith.api.results import Change
from lakesmith.catalog.entries import (
    Entry,
    Unfinished,
    begin,
    change_entries,
    find_entries,
    finish,
    folder_of,
    mark,
    read_unfinished,
)
from lakesmith.catalog.family import family
from lakesmith.catalog.home import project_lock
from lakesmith.catalog.lost import tables_in
from lakesmith.catalog.progress import most_live_rows
from lakesmith.errors import EnvironmentProblem, Place, StateError
from lakesmith.exports.dropped import DroppedExport, exports_of, note_dropped, purge_exports
from lakesmith.project.definitions import TableDefinition, TableName

_SIDECARS = {"files": "file ledger", "quarantine": "quarantine", "tombstones": "tombstones"}


@dataclass(frozen=True, slots=True)
class DropPreview:
    """What a drop would do.

    Attributes:
        rows: the rows of the table; None if that is not known.
        sidecars: what is dropped with it, in words.
        readers: the tables whose queries read it, and where.
        exports: the places with its exports, which stay, or are deleted with ``purge``.
        declared_in: the file that declares it, if any; ``next_run`` says what the next run does.
    """

    table: TableName
    purge: bool
    rows: int | None
    sidecars: tuple[str, ...]
    readers: tuple[tuple[TableName, Place], ...]
    declared_in: str | None
    next_run: str
    exports: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "drop": str(self.table),
            "purge": self.purge,
            "rows": self.rows,
            "sidecars": list(self.sidecars),
            "readers": [{"table": str(name), "place": str(place)} for name, place in self.readers],
            "declared_in": self.declared_in,
            "next_run": self.next_run,
            "exports": list(self.exports),
        }


@dataclass(frozen=True, slots=True)
class Dropped:
    """A table that was dropped: the removed entries of the catalog, and the folders with files left, those of
    its exports among them."""

    table: TableName
    tables: tuple[TableName, ...]
    files_kept_in: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        tables = [str(each) for each in self.tables]
        return {"dropped": str(self.table), "tables": tables, "files_kept_in": list(self.files_kept_in)}


@dataclass(frozen=True, slots=True)
class _Found:
    """Entries of the catalog, and folders, each with the UUID of its table if that is known."""

    entries: tuple[Entry, ...]
    folders: tuple[tuple[Path, str | None], ...]
    rows: int | None
    head: int | None
    exports: tuple[DroppedExport, ...] = ()


def drop(access: Access, table: str, purge: bool) -> Change[DropPreview, Dropped]:
    lake, name = open_local(access), parsed_name(table)
    with project_lock(lake.project, _command(name, purge)):
        found = _find(lake, name, purge)
    definition = next((each for each in lake.project.tables if each.name == name), None)
    sidecars = [each.name.name.rpartition("__")[2] for each in found.entries if each.name != name]
    preview = DropPreview(
        name,
        purge,
        found.rows,
        tuple(_SIDECARS[kind] for kind in sidecars),
        tuple(lake.readers(name)),
        definition.place.file if definition else None,
        _next_run(definition),
        tuple(each.place for each in found.exports),
    )
    change = Change(
        preview,
        {name: found.head},
        lambda: project_lock(lake.project, _command(name, purge)),
        lambda: {name: _find(open_local(access), name, purge).head},
        partial(_drop, access),
    )
    return access.noted(change, lake.project, "drop", _command(name, purge).partition(" ")[2], [name])


def _find(lake: LocalLake, name: TableName, purge: bool) -> _Found:
    begun = read_unfinished(lake.project.state_dir)
    if begun is not None and begun.command != _command(name, purge):
        raise StateError(begun.problem())
    state, lost = lake.state(name), lake.lost(name)
    entries = find_entries(lake.catalog, family(name))
    again = [(Path(folder), None) for folder in begun.folders] if begun else []
    if not entries and not lost and not begun:
        raise not_there(lake, name)
    folders = [(folder_of(entry.location), _uuid(lake, entry)) for entry in entries]
    if lost is not None:
        found = (lake.lost(each) for each in family(name))
        folders += [(folder_of(each.state.metadata_location), each.state.uuid) for each in found if each]
    last = state or (lost.state if lost else None)
    head = last.head if last else None
    rows = most_live_rows(head) if head else None
    unique = tuple(dict.fromkeys([*folders, *again]))
    exports = exports_of(lake.project, name, last) if last else ()
    return _Found(entries, unique, rows, head.snapshot_id if head else None, exports)


def _command(name: TableName, purge: bool) -> str:
    """The command line that does the same; an unfinished drop is finished by the same one."""
    return f"lakesmith drop {name}" + (" --purge" if purge else "")


def _uuid(lake: LocalLake, entry: Entry) -> str | None:
    state = lake.state(entry.name)
    return state.uuid if state else None


def _next_run(definition: TableDefinition | None) -> str:
    if definition is None:
        return "does nothing"
    if not definition.is_sourced:
        return "rebuilds the table"
    if definition.has_topics:
        return "takes every record that is still in its topic"
    return "takes every file that is still in its landing folders"


def _drop(access: Access, preview: DropPreview) -> Dropped:
    lake, name, purge = open_local(access), preview.table, preview.purge
    found, state_dir = _find(lake, name, purge), lake.project.state_dir
    folders = [folder for folder, _ in found.folders]
    if purge:
        begin(state_dir, Unfinished(_command(name, purge), (str(name),), tuple(map(str, folders))))
    note_dropped(lake.project, found.exports)
    change_entries(lake.catalog, found.entries, ())
    # Killed before this, the table counts as lost, which a run says: better than marked and still there.
    for folder, uuid in found.folders:
        for each in [uuid] if uuid is not None else tables_in(folder):
            mark(folder, each, None)
    kept = [folder for folder in folders if not purge or not _purged(lake, folder)]
    exports = purge_exports(lake.project, name) if purge else (each.place for each in found.exports)
    there = (*(str(folder) for folder in kept if folder.exists()), *exports)
    finish(state_dir)
    return Dropped(name, tuple(entry.name for entry in found.entries), there)


def _purged(lake: LocalLake, folder: Path) -> bool:
    """Deletes a folder of the warehouse, unless files of another table lie in it."""
    inside = lake.catalog.warehouse in folder.parents
    used = (folder_of(location) for location in lake.catalog.locations())
    if not inside or any(
        folder == other or folder in other.parents or other in folder.parents for other in used
    ):
        return False
    try:
        shutil.rmtree(folder, ignore_errors=False)
    except FileNotFoundError:
        return True
    except OSError as error:
        what = f"{folder} cannot be deleted"
        hint = "correct that and run the command again: the table is out of the catalog already"
        raise EnvironmentProblem.of("LS329", what, None, found=str(error), hint=hint) from error
    return True
