"""``lakesmith rename``: gives a table another name, in the catalog and in the project; what it has consumed stays what it was."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated

import typer

from lakesmith.api.local_lake import LocalLake, not_there, open_local, parsed_name
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
from lakesmith.cli.asking import agreed
from lakesmith.cli.opening import open_lake
from lakesmith.cli.options import (
    HERE,
    JsonOption,
    ProjectOption,
    TableArgument,
    TargetOption,
    YesOption,
    command_app,
)
from lakesmith.errors import Place, Problem, StateError, UsageError
from lakesmith.project.definitions import TableName
from lakesmith.project.files import TABLES, FolderFiles
from lakesmith.project.layout import TableFiles, layout

app = command_app()


@dataclass(frozen=True, slots=True)
class _Renaming:
    """Entries to be changed, none when they were already, and the project's files to be moved."""

    old: TableName
    new: TableName
    entries: tuple[tuple[Entry, Entry], ...]
    files: tuple[tuple[str, str], ...]
    readers: tuple[tuple[TableName, Place], ...]


@app.command()
def rename(
    old: TableArgument,
    new: Annotated[str, typer.Argument(help="Its new name: bronze.sales.", show_default=False)],
    yes: YesOption = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``rename_command`` takes them."""
    raise typer.Exit(rename_command(project, target, (old, new), yes, json))


def rename_command(root: Path, target: str | None, names: tuple[str, str], yes: bool, as_json: bool) -> int:
    """Renames the table when that is agreed to; 0.

    Raises UsageError LS227 (nobody to ask), LS250 (no such table), LS251 (a name that cannot be had), StateError LS503 (another's),
    LS511 (it moved), LS513 (something else was begun), EnvironmentProblem LS320, LS323.
    """
    lake = open_local(open_lake(root, target).access)
    old, new = map(parsed_name, names)
    command = f"lakesmith rename {old} {new}"
    with project_lock(lake.project, command):
        renaming = _renaming(lake, old, new, command)
        if not agreed(f"rename {old} to {new}?", yes, as_json):
            print("nothing was renamed")
            return 0
        _rename(lake, renaming, command)
    _tell(renaming, as_json)
    return 0


def _renaming(lake: LocalLake, old: TableName, new: TableName, command: str) -> _Renaming:
    begun = read_unfinished(lake.project.state_dir)
    if begun is not None and begun.command != command:
        raise StateError(begun.problem())
    files = _files(lake, old, new)
    lake.state(old)
    there = find_entries(lake.catalog, (old,))
    if not there and begun is None:
        raise not_there(lake, old)
    if there:
        _require_free(lake, new, bool(files))
    entries = [
        (entry, Entry(after, entry.location))
        for before, after in zip(family(old), family(new), strict=True)
        for entry in (find_entries(lake.catalog, (before,)) if there else ())
    ]
    return _Renaming(old, new, tuple(entries), files, tuple(lake.readers(old)))


def _files(lake: LocalLake, old: TableName, new: TableName) -> tuple[tuple[str, str], ...]:
    """The files of the table's definition, and what they are to be called. Raises UsageError LS251 for a name that cannot be had."""
    paths = FolderFiles(lake.project.root).table_paths()
    before = layout(paths)
    mine = [path for table in before.tables if table.name == old for path in _paths(table)]
    moved = {path: _moved(path, new) for path in mine}
    after = [moved.get(path, path) for path in paths] or []
    wanted = layout([*after, *([] if mine else [_moved(f"{TABLES}/{old.layer}/{old.name}.sql", new)])])
    taken = set(moved.values()) & set(paths)
    problem = next((problem for problem in wanted.problems if problem not in before.problems), None)
    if mine and (taken or problem is not None):
        raise UsageError(
            _cannot_be_called(new, problem.what if problem else f"{min(taken)} is there already")
        )
    if not mine and problem is not None and problem.code == "LS110":
        raise UsageError(_cannot_be_called(new, problem.what))
    return tuple(moved.items())


def _paths(table: TableFiles) -> list[str]:
    return [path for path in (table.yaml, table.sql, table.py) if path]


def _moved(path: str, new: TableName) -> str:
    """``tables/bronze/shop/orders.sql`` -> ``tables/<layer>/shop/<name>.sql``."""
    parts = PurePosixPath(path).parts
    return str(PurePosixPath(parts[0], new.layer, *parts[2:-1], new.name + PurePosixPath(path).suffix))


def _require_free(lake: LocalLake, new: TableName, moving: bool) -> None:
    """Neither the lake nor the project may have a table of the new name, nor the lake a sidecar left of one."""
    there = find_entries(lake.catalog, family(new))
    if there or lake.lost(new):
        what = str(there[0].name) if there else str(new)
        raise UsageError(_cannot_be_called(new, f"{what} is in the lake: lakesmith drop {new}"))
    if moving and new in lake.loaded.declared:
        raise UsageError(_cannot_be_called(new, "the project has a table of that name"))


def _cannot_be_called(new: TableName, found: str) -> Problem:
    return Problem(
        "LS251", f"the table cannot be called {new}", None, "a name that is free and allowed", found
    )


def _rename(lake: LocalLake, renaming: _Renaming, command: str) -> None:
    """The catalog's entries in one transaction, and then the files. What is begun is noted before, and nothing runs in between."""
    state_dir, root = lake.project.state_dir, lake.project.root
    begin(state_dir, Unfinished(command, (str(renaming.old), str(renaming.new))))
    for entry, other in renaming.entries:
        if state := lake.state(entry.name):
            mark(folder_of(entry.location), state.uuid, other.name)
    if renaming.entries:
        before, after = zip(*renaming.entries, strict=True)
        change_entries(lake.catalog, before, after)
    for source, wanted in renaming.files:
        (root / wanted).parent.mkdir(parents=True, exist_ok=True)
        (root / source).rename(root / wanted)
    finish(state_dir)


def _tell(renaming: _Renaming, as_json: bool) -> None:
    old, new = renaming.old, renaming.new
    if as_json:
        reads = [{"table": str(name), "file": at.file, "line": at.line} for name, at in renaming.readers]
        moved = [{"from": source, "to": wanted} for source, wanted in renaming.files]
        print(json.dumps({"renamed": str(old), "to": str(new), "moved": moved, "to_change": reads}))
        return
    print(f"{old} is {new} now: its next run takes what is new")
    for source, wanted in renaming.files:
        print(f"  {source} -> {wanted}")
    if not renaming.files:
        print(f"  no file of the project declares {old}: declare {new}")
    if any(source.endswith(".py") for source, _ in renaming.files):
        print(
            f"  the function in it is still called as it was: call it {new.name}, or name it in its YAML: function:"
        )
    if renaming.readers:
        print(f"these read {old}, and have to read {new}:")
        print("\n".join(f"  {name}: {place}" for name, place in renaming.readers))
