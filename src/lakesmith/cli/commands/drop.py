"""``lakesmith drop``: takes a table and its sidecars out of the catalog, and with ``--purge`` their files off the disk."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

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
from lakesmith.cli.ground import Ground, agreed, not_there, open_ground, parsed_name
from lakesmith.cli.options import (
    HERE,
    JsonOption,
    ProjectOption,
    TableArgument,
    TargetOption,
    YesOption,
    command_app,
)
from lakesmith.cli.render.text import count
from lakesmith.errors import EnvironmentProblem, Problem, StateError
from lakesmith.project.definitions import TableName

app = command_app()


@dataclass(frozen=True, slots=True)
class DropOptions:
    """What the caller of ``drop`` asked for."""

    purge: bool = False
    yes: bool = False


@dataclass(frozen=True, slots=True)
class _Dropping:
    """What is dropped: entries of the catalog, and folders, each with the UUID of its table where that can be told."""

    name: TableName
    entries: tuple[Entry, ...]
    folders: tuple[tuple[Path, str | None], ...]
    rows: int | None


@app.command()
def drop(
    table: TableArgument,
    purge: Annotated[bool, typer.Option("--purge", help="Delete its data files, too.")] = False,
    yes: YesOption = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``drop_command`` takes them."""
    raise typer.Exit(drop_command(project, target, table, DropOptions(purge, yes), json))


def drop_command(root: Path, target: str | None, table: str, options: DropOptions, as_json: bool) -> int:
    """Drops the table when that is agreed to; 0.

    Raises UsageError LS227 (nobody to ask), LS250 (no such table), StateError LS503 (another's), LS511 (it moved), LS513 (something
    else was begun), EnvironmentProblem LS320, LS329 (a file that cannot be deleted).
    """
    ground, name = open_ground(root, target), parsed_name(table)
    command = f"lakesmith drop {name}" + (" --purge" if options.purge else "")
    with project_lock(ground.project, command):
        dropping = _dropping(ground, name, command)
        lines = list(_losses(ground, dropping, options.purge))
        if not as_json:
            print("\n".join(lines))
        if not agreed(f"drop {name}?", options.yes, as_json):
            print("nothing was dropped")
            return 0
        kept = _drop(ground, dropping, command, options.purge)
    _tell(dropping, kept, as_json)
    return 0


def _dropping(ground: Ground, name: TableName, command: str) -> _Dropping:
    begun = read_unfinished(ground.project.state_dir)
    if begun is not None and begun.command != command:
        raise StateError(begun.problem())
    state, lost = ground.state(name), ground.lost(name)
    entries = find_entries(ground.catalog, family(name))
    again = [(Path(folder), None) for folder in begun.folders] if begun else []
    if not entries and not lost and not begun:
        raise not_there(ground, name)
    folders = [(folder_of(entry.location), _uuid(ground, entry)) for entry in entries]
    if lost is not None:
        found = (ground.lost(each) for each in family(name))
        folders += [(folder_of(each.state.metadata_location), each.state.uuid) for each in found if each]
    head = state.head if state else lost.state.head if lost else None
    rows = most_live_rows(head) if head else None
    return _Dropping(name, entries, tuple(dict.fromkeys([*folders, *again])), rows)


def _uuid(ground: Ground, entry: Entry) -> str | None:
    state = ground.state(entry.name)
    return state.uuid if state else None


def _losses(ground: Ground, dropping: _Dropping, purge: bool) -> list[str]:
    """What goes, who reads it, and what the next run makes of it."""
    name = dropping.name
    rows = "" if dropping.rows is None else f", {count(dropping.rows, 'row')}"
    besides = [entry.name.name.rpartition("__")[2] for entry in dropping.entries if entry.name != name]
    sidecars = f", with its {' and '.join(_WORDS[kind] for kind in besides)}" if besides else ""
    lines = [f"{name}{rows}{sidecars}: its data files are {'deleted' if purge else 'kept'}"]
    lines += [f"  {reader} reads it ({place})" for reader, place in ground.readers(name)]
    definition = next((table for table in ground.project.tables if table.name == name), None)
    if definition is not None and definition.is_sourced:
        of_topic = definition.has_topics
        still = (
            "record that is still in its topic" if of_topic else "file that is still in its landing folders"
        )
        lines.append(f"{definition.place.file} stays: the next run takes every {still}")
    elif definition is not None:
        lines.append(f"{definition.place.file} stays: the next run builds the table anew")
    return lines


_WORDS = {"files": "file ledger", "quarantine": "quarantine", "tombstones": "tombstones"}


def _drop(ground: Ground, dropping: _Dropping, command: str, purge: bool) -> list[Path]:
    """Drops it; returns the folders whose files stay."""
    folders = [folder for folder, _ in dropping.folders]
    state_dir = ground.project.state_dir
    if purge:
        begin(state_dir, Unfinished(command, (str(dropping.name),), tuple(map(str, folders))))
    change_entries(ground.catalog, dropping.entries, ())
    # Killed before this, the table counts as lost, which is said: better than one that is there and is noted as dropped.
    for folder, uuid in dropping.folders:
        for each in [uuid] if uuid is not None else tables_in(folder):
            mark(folder, each, None)
    kept = [folder for folder in folders if not purge or not _purged(ground, folder)]
    finish(state_dir)
    return kept


def _purged(ground: Ground, folder: Path) -> bool:
    """Deletes a folder of the warehouse, unless files of another table lie in it."""
    inside = ground.catalog.warehouse in folder.parents
    used = (folder_of(location) for location in ground.catalog.locations())
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
        raise EnvironmentProblem(Problem("LS329", what, None, found=str(error), hint=hint)) from error
    return True


def _tell(dropping: _Dropping, kept: Sequence[Path], as_json: bool) -> None:
    there = [str(folder) for folder in kept if folder.exists()]
    if as_json:
        tables = [str(entry.name) for entry in dropping.entries]
        print(json.dumps({"dropped": str(dropping.name), "tables": tables, "files_kept_in": there}))
        return
    print(f"{dropping.name} was dropped")
    if there:
        print("\n".join(["its files are still in", *(f"  {folder}" for folder in there)]))
