"""Renames a table in the catalog and in the project's files; its progress stays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
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
from lakesmith.errors import Place, StateError, UsageError
from lakesmith.project.definitions import MANIFEST, TableName, usual_place
from lakesmith.project.files import TABLES, FolderFiles
from lakesmith.project.layout import TableFiles, layout


@dataclass(frozen=True, slots=True)
class Renamed:
    """A table that is renamed: to be, or done.

    Attributes:
        moved: the project's files, each with its new path.
        to_change: the tables whose queries read the old name, and where.
    """

    old: TableName
    new: TableName
    moved: tuple[tuple[str, str], ...]
    to_change: tuple[tuple[TableName, Place], ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "renamed": str(self.old),
            "to": str(self.new),
            "moved": [{"from": source, "to": wanted} for source, wanted in self.moved],
            "to_change": [
                {"table": str(name), "file": at.file, "line": at.line} for name, at in self.to_change
            ],
        }


_Entries = tuple[tuple[Entry, Entry], ...]
"""Entries of the catalog and their successors; none if a renaming that was cut off has changed them."""


def rename(access: Access, old: str, new: str) -> Change[Renamed, Renamed]:
    lake, before, after = open_local(access), parsed_name(old), parsed_name(new)
    with project_lock(lake.project, _command(before, after)):
        preview, _ = _prepared(lake, before, after)
        head = _head(lake, before)
    change = Change(
        preview,
        {before: head},
        lambda: project_lock(lake.project, _command(before, after)),
        lambda: {before: _head(open_local(access), before)},
        lambda preview: _rename(open_local(access), preview),
    )
    text = _command(before, after).partition(" ")[2]
    return access.noted(change, lake.project, "rename", text, [before, after])


def _command(old: TableName, new: TableName) -> str:
    """The command line that does the same; an unfinished renaming is finished by the same one."""
    return f"lakesmith rename {old} {new}"


def _head(lake: LocalLake, name: TableName) -> int | None:
    state = lake.state(name)
    return state.head_id if state else None


def _prepared(lake: LocalLake, old: TableName, new: TableName) -> tuple[Renamed, _Entries]:
    begun = read_unfinished(lake.project.state_dir)
    if begun is not None and begun.command != _command(old, new):
        raise StateError(begun.problem())
    files = _files(lake, old, new)
    lake.state(old)
    there = find_entries(lake.catalog, (old,))
    if not there and begun is None:
        raise not_there(lake, old)
    if there:
        _require_free(lake, new, bool(files))
    entries = tuple(
        (entry, Entry(after, entry.location))
        for before, after in zip(family(old), family(new), strict=True)
        for entry in (find_entries(lake.catalog, (before,)) if there else ())
    )
    return Renamed(old, new, files, tuple(lake.readers(old))), entries


def _files(lake: LocalLake, old: TableName, new: TableName) -> tuple[tuple[str, str], ...]:
    """Returns the table's files with their new paths. Raises UsageError LS251 if a name is not free."""
    paths = FolderFiles(lake.project.root).table_paths()
    before = layout(paths)
    mine = [path for table in before.tables if table.name == old for path in _paths(table)]
    moved = {path: _moved(path, new) for path in mine}
    after = [moved.get(path, path) for path in paths]
    wanted = layout([*after, *([] if mine else [_moved(f"{TABLES}/{old.layer}/{old.name}.sql", new)])])
    taken = set(moved.values()) & set(paths)
    problem = next((problem for problem in wanted.problems if problem not in before.problems), None)
    if mine and (taken or problem is not None):
        raise _cannot_be_called(new, problem.what if problem else f"{min(taken)} is there already")
    if not mine and problem is not None and problem.code == "LS110":
        raise _cannot_be_called(new, problem.what)
    return (*moved.items(), *_export(lake, old, new))


def _export(lake: LocalLake, old: TableName, new: TableName) -> Iterator[tuple[str, str]]:
    """Yields the folder that the table's export has by default, with its new path, unless that is taken. One
    that was declared stays."""
    declared = [table.export for table in lake.project.tables if table.name in (old, new) and table.export]
    if not any(export.to for export in declared):
        before, after = usual_place(old), usual_place(new)
        root = lake.project.root
        if (root / before / MANIFEST).is_file() and not (root / after).exists():
            yield before, after


def _paths(table: TableFiles) -> list[str]:
    return [path for path in (table.yaml, table.sql, table.py) if path]


def _moved(path: str, new: TableName) -> str:
    """``tables/bronze/shop/orders.sql`` -> ``tables/<layer>/shop/<name>.sql``."""
    parts = PurePosixPath(path).parts
    return str(PurePosixPath(parts[0], new.layer, *parts[2:-1], new.name + PurePosixPath(path).suffix))


def _require_free(lake: LocalLake, new: TableName, moving: bool) -> None:
    """Requires that the lake and the project have no table of the new name, nor a sidecar of one."""
    there = find_entries(lake.catalog, family(new))
    if there or lake.lost(new):
        what = str(there[0].name) if there else str(new)
        raise _cannot_be_called(new, f"{what} is in the lake: lakesmith drop {new}")
    if moving and new in lake.loaded.declared:
        raise _cannot_be_called(new, "the project has a table of that name")


def _cannot_be_called(new: TableName, found: str) -> UsageError:
    what = f"the table cannot be called {new}"
    return UsageError.of("LS251", what, None, "a name that is free and allowed", found)


def _rename(lake: LocalLake, preview: Renamed) -> Renamed:
    """Notes what it begins, changes the catalog's entries in one transaction, then moves the files."""
    done, entries = _prepared(lake, preview.old, preview.new)
    state_dir, root = lake.project.state_dir, lake.project.root
    begin(state_dir, Unfinished(_command(done.old, done.new), (str(done.old), str(done.new))))
    for entry, other in entries:
        if state := lake.state(entry.name):
            mark(folder_of(entry.location), state.uuid, other.name)
    if entries:
        before, after = zip(*entries, strict=True)
        change_entries(lake.catalog, before, after)
    for source, wanted in done.moved:
        (root / wanted).parent.mkdir(parents=True, exist_ok=True)
        (root / source).rename(root / wanted)
    finish(state_dir)
    return done
