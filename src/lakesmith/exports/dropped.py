"""Exports of tables that were dropped: on record in a file of the project until they are deleted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from lakesmith.catalog.state import TableState
from lakesmith.errors import LakesmithError
from lakesmith.exports.due import is_of_table
from lakesmith.exports.erasing import remove_all
from lakesmith.exports.places import place_at
from lakesmith.exports.publishing import read_manifest
from lakesmith.exports.traces import all_traces, current_place
from lakesmith.project.definitions import Project, TableName
from lakesmith.whole_file import write_whole

_FILE: Final = "dropped-exports.json"


@dataclass(frozen=True, slots=True)
class DroppedExport:
    """A place with an export of a table that was dropped."""

    table: str
    uuid: str
    place: str


def exports_of(project: Project, name: TableName, state: TableState) -> tuple[DroppedExport, ...]:
    """Returns the places that have an export of a table now. A place that cannot be read may have one."""
    return tuple(
        found
        for trace in all_traces(project, name, state)
        if _is_there(project, found := DroppedExport(str(name), state.uuid, trace.place))
    )


def note_dropped(project: Project, exports: Iterable[DroppedExport]) -> None:
    """Puts exports on record, before their table goes."""
    _write(project, dict.fromkeys((*_read(project), *exports)))


def dropped_exports(project: Project) -> tuple[DroppedExport, ...]:
    """Returns those that are still there, and that no table goes on with."""
    taken_on = {current_place(project, table) for table in project.tables}
    return tuple(each for each in _read(project) if each.place not in taken_on and _is_there(project, each))


def purge_exports(project: Project, table: TableName) -> Iterator[str]:
    """Deletes the exports of a table that was dropped. Yields places where that did not work."""
    others = {current_place(project, each) for each in project.tables if each.name != table}
    known = _read(project)
    for each in known:
        if each.table == str(table) and each.place not in others and _is_there(project, each):
            try:
                remove_all(place_at(project, each.place))
            except (OSError, LakesmithError) as error:
                yield f"{each.place} ({error})"
    _write(project, [each for each in known if _is_there(project, each)])


def _is_there(project: Project, export: DroppedExport) -> bool:
    place = place_at(project, export.place)
    try:
        found = read_manifest(place)
        if found is None:
            return bool(place.folders())
        layer, _, name = export.table.partition(".")
        return is_of_table(project, TableName(layer, name), export.uuid, found)
    except (OSError, LakesmithError):
        return True


def _read(project: Project) -> list[DroppedExport]:
    path = _path(project)
    return [DroppedExport(**each) for each in json.loads(path.read_text())] if path.is_file() else []


def _write(project: Project, exports: Iterable[DroppedExport]) -> None:
    content = [asdict(each) for each in exports]
    if content:
        write_whole(_path(project), json.dumps(content, indent=1) + "\n", to_disk=True)
    else:
        _path(project).unlink(missing_ok=True)


def _path(project: Project) -> Path:
    return project.state_dir / _FILE
