"""Removes people from exports: old versions, and all that earlier settings of an export left somewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lakesmith.catalog.state import TableState
from lakesmith.errors import LakesmithError
from lakesmith.exports.due import due, is_of_table
from lakesmith.exports.places import OLD, ExportPlace, place_at
from lakesmith.exports.publishing import read_manifest, read_old, remove_old
from lakesmith.exports.traces import Trace, all_traces, current_place
from lakesmith.project.definitions import MANIFEST, Project, TableDefinition
from lakesmith.sources.object_errors import code_of

_WHY: Final = "may have rows of theirs"
_AGAIN: Final = f"{_WHY}: correct the cause, and call this again"


def clean_exports(project: Project, table: TableDefinition, state: TableState) -> Iterator[str]:
    """Removes all that exports of the table ever wrote, except its present version, which the table's rows
    have to be. Yields what is left, in words."""
    for trace in all_traces(project, table.name, state):
        place = place_at(project, trace.place)
        try:
            if trace.place == current_place(project, table):
                yield from _clean_present(project, table, state, place)
            elif trace.place not in {current_place(project, each) for each in project.tables}:
                yield from _clean_past(project, table, state, place)
            yield from _single_files_left(table, place, trace)
        except (OSError, LakesmithError) as error:
            if error.__cause__ is not None and code_of(error.__cause__) == "NoSuchBucket":
                # With its bucket the export has gone.
                continue
            yield f"the export of {table.name} in {place.shown} {_AGAIN}: {error}"


def _clean_present(
    project: Project, table: TableDefinition, state: TableState, place: ExportPlace
) -> Iterator[str]:
    found = read_manifest(place)
    if found is not None and due(project, table, state, found) is None:
        remove_old(place, found, keep_seconds=0)
    elif found is not None or place.folders():
        yield f"the export of {table.name} in {place.shown} {_AGAIN}"


def _clean_past(
    project: Project, table: TableDefinition, state: TableState, place: ExportPlace
) -> Iterator[str]:
    found = read_manifest(place)
    if found is None or is_of_table(project, table.name, state.uuid, found):
        remove_all(place)
    elif found.table_uuid == state.uuid:
        yield (
            f"{place.shown} has an export of {found.table} of project {found.project}, target {found.target},"
            f" which {_WHY}: erase them there, or remove it"
        )


def remove_all(place: ExportPlace) -> None:
    """Removes what an export wrote to a place, its manifest last. Raises OSError, StateError LS652."""
    versions = [read_old(place, each.path) for each in place.files(OLD)]
    present = read_manifest(place)
    place.remove(sorted({each.single_file for each in (*versions, present) if each and each.single_file}))
    for folder in place.folders():
        place.remove_folder(folder)
    place.remove([each.path for each in place.files(OLD)])
    place.remove([MANIFEST])


def _single_files_left(table: TableDefinition, place: ExportPlace, trace: Trace) -> Iterator[str]:
    """Yields files with a fixed name that no manifest names: somebody else may have written them since."""
    found = read_manifest(place)
    for name in trace.single_files:
        if (found is None or name != found.single_file) and place.has(name):
            yield f"{place.shown}{name}, which an export of {table.name} wrote, {_WHY}: remove it"
