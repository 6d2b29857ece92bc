"""Which exports are behind their tables, and why. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lakesmith.catalog.progress import Reason, append_only_since, find_progress, rows_at
from lakesmith.catalog.state import TableState
from lakesmith.errors import LakesmithError, Problem, count
from lakesmith.exports.manifest import ExportedColumn, Manifest
from lakesmith.exports.traces import noted
from lakesmith.project.definitions import Export, Project, TableDefinition, TableName


@dataclass(frozen=True, slots=True)
class ExportStep:
    """An export that is behind its table: ``snapshot`` is to be written.

    ``rows`` and ``bytes`` are the table's, ``rows`` None if not known. ``before``: the manifest in place;
    None if its files cannot be used again. ``changed_since``: the snapshot from which changes tell which
    partitions have to be written; None: all. ``traces``: the new value of the table's property that says
    where exports were (``exports.traces``); None: it says so.
    """

    table: TableDefinition
    uuid: str
    snapshot: int
    columns: tuple[ExportedColumn, ...]
    reason: str
    rows: int | None
    bytes: int
    settings: str
    before: Manifest | None = None
    changed_since: int | None = None
    traces: str | None = None

    @property
    def name(self) -> TableName:
        return self.table.name

    @property
    def export(self) -> Export:
        assert self.table.export is not None
        return self.table.export


def due(
    project: Project, table: TableDefinition, state: TableState | None, found: Manifest | None
) -> ExportStep | Problem | None:
    """Returns the step that brings an export to the table's head, None if there is nothing to write.

    ``found``: the manifest that is in place. A problem: LS653 the folder is another's, LS654 a column that
    the table does not have.
    """
    if table.export is None or state is None or state.head is None:
        return None
    if found is not None and not is_of_table(project, table.name, state.uuid, found):
        return _of_another(project, table, found)
    columns = _columns(table, state)
    if isinstance(columns, Problem):
        return columns
    reason, since = _reason(table, state, columns, found)
    if not reason:
        return None
    return ExportStep(
        table,
        state.uuid,
        state.head.snapshot_id,
        columns,
        reason,
        rows_at(state, state.head),
        state.head.count("total-files-size"),
        settings_of_export(table.export),
        before=found if since is not None else None,
        changed_since=since,
        traces=noted(project, table, state, found.single_file if found else None),
    )


def is_of_table(project: Project, name: TableName, uuid: str, found: Manifest) -> bool:
    """Whether a manifest is of an export of the table, also if the table had another name then."""
    same_place = (found.project, found.target) == (project.name, project.target.name)
    return same_place and (found.table == str(name) or found.table_uuid == uuid)


def _of_another(project: Project, table: TableDefinition, found: Manifest) -> Problem:
    ours = (project.name, project.target.name, str(table.name))
    theirs = (found.project, found.target, found.table)
    return Problem(
        "LS653",
        f"the folder of the export of {table.name} has an export of something else",
        table.place,
        expected=f"an export of {ours[2]} of project {ours[0]}, target {ours[1]}, or an empty folder",
        found=f"an export of {theirs[2]} of project {theirs[0]}, target {theirs[1]}",
        hint="set `to` of the export to a folder of its own: ${vars.NAME} can differ between targets",
    )


def _columns(table: TableDefinition, state: TableState) -> tuple[ExportedColumn, ...] | Problem:
    assert table.export is not None
    there = {column.name.lower(): ExportedColumn(column.name, column.type) for column in state.columns}
    chosen = table.export.columns or tuple(there)
    named = (*chosen, *table.export.partition_by, *table.export.order_by)
    if unknown := [name for name in named if name.lower() not in there]:
        what = f"the export of {table.name} names columns that the table does not have"
        expected = f"of {', '.join(column.name for column in there.values())}"
        return Problem("LS654", what, table.place, expected, ", ".join(unknown))
    left_out = {name.lower() for name in table.export.partition_by} - {name.lower() for name in chosen}
    if left_out:
        what = f"the export of {table.name} leaves out columns that it is partitioned by"
        return Problem("LS654", what, table.place, "partition_by among its columns", ", ".join(left_out))
    return tuple(there[name.lower()] for name in chosen)


def _reason(
    table: TableDefinition, state: TableState, columns: Sequence[ExportedColumn], found: Manifest | None
) -> tuple[str, int | None]:
    """Returns why the export is behind, empty if it is not, and the snapshot since which changes count."""
    export = table.export
    assert state.head is not None and export is not None
    if found is None:
        return "it was not exported yet", None
    if found.table_uuid != state.uuid:
        return "the table was created again", None
    if found.table != str(table.name):
        return f"the table was called {found.table}", None
    if found.settings != settings_of_export(export):
        return "the settings of its export changed", None
    if found.columns != tuple(columns):
        return "its columns changed", None
    start = int(found.snapshot)
    since = start if export.partition_by and start in state.snapshots else None
    gained = append_only_since(state, start, state.head.snapshot_id)
    if isinstance(gained, Reason):
        return ("", None) if _only_compacted(state, start) else ("its rows changed", since)
    if not gained.appends:
        return "", None
    return count(gained.added_records, "new row"), since


def _only_compacted(state: TableState, start: int) -> bool:
    """Returns whether main only was compacted since a snapshot that carries its newest record, though
    snapshots between have expired."""
    try:
        progress = find_progress(state)
    except LakesmithError:
        return False
    return (
        progress is not None
        and progress.snapshot.snapshot_id == start
        and all(snapshot.operation == "replace" for snapshot in progress.foreign)
    )


def settings_of_export(export: Export) -> str:
    """Returns a short hash of the settings that decide what is in the files."""
    decides: dict[str, Any] = {
        "format": export.format.value,
        "codec": export.codec,
        "partition_by": export.partition_by,
        "order_by": export.order_by,
        "single_file": export.single_file,
        "target_file_size": export.target_file_size,
    }
    return hashlib.sha256(json.dumps(decides).encode()).hexdigest()[:16]
