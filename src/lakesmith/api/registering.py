"""Tables found in the warehouse: entered in a lost catalog, or made the project's own after a copy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from lakesmith.api.access import Access
from lakesmith.api.local_lake import LocalLake, open_local
from lakesmith.api.results import Change, Heads
from lakesmith.catalog.entries import Entry, change_entries, folder_of, unmark
from lakesmith.catalog.family import foreign_owner
from lakesmith.catalog.home import Away, away_tables, project_lock
from lakesmith.catalog.lock import ProjectLock
from lakesmith.catalog.lost import Lost, lost_tables, replaced_entries
from lakesmith.catalog.metadata import local_path, read_metadata
from lakesmith.catalog.progress import most_live_rows
from lakesmith.execute.relocate import relocate as relocate_tables
from lakesmith.project.definitions import TableName
from lakesmith.project.layout import RESERVED_LAYER


@dataclass(frozen=True, slots=True)
class LostTable:
    """A table whose files are in the warehouse.

    Attributes:
        metadata: its newest metadata file.
        batch: its newest batch; None if it has no record.
        written_ms: when that file was written, in milliseconds since the epoch.
        rows: its rows; None if that is not known.
        others: how many other files may be its newest ones.
        instead_of: the entry of the catalog that is replaced, in words.
    """

    table: TableName
    uuid: str
    metadata: str
    batch: int | None
    written_ms: int
    rows: int | None
    others: int
    instead_of: str | None

    def to_dict(self) -> dict[str, Any]:
        return {
            "table": str(self.table),
            "uuid": self.uuid,
            "metadata": self.metadata,
            "batch": self.batch,
            "others": self.others,
        }


@dataclass(frozen=True, slots=True)
class Registered:
    """The tables that are entered in the catalog: to be, or done."""

    tables: tuple[LostTable, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"registered": [each.to_dict() for each in self.tables]}


@dataclass(frozen=True, slots=True)
class Relocated:
    """The tables whose files name another folder: to be changed, or changed in ``files`` metadata files.

    Attributes:
        origins: the folders that their files name.
        warehouse: the folder where they are now.
    """

    tables: tuple[TableName, ...]
    origins: tuple[str, ...]
    warehouse: str
    files: int = 0

    def to_dict(self) -> dict[str, Any]:
        return {"tables": list(map(str, self.tables)), "from": list(self.origins), "files": self.files}


def register(access: Access) -> Change[Registered, Registered]:
    lake = open_local(access)
    with _registering(lake):
        found = _found(lake)
    preview = Registered(tuple(_described(lost, entry) for lost, entry in found))
    change = Change(
        preview,
        _heads(found),
        lambda: _registering(lake),
        lambda: _heads(_found(lake)),
        lambda preview: _register(lake, preview),
    )
    return access.noted(change, lake.project, "register", "register", [lost.name for lost, _ in found])


def _registering(lake: LocalLake) -> ProjectLock:
    return project_lock(lake.project, "register", may_be_older=True)


_Found = list[tuple[Lost, Entry | None]]


def _heads(found: _Found) -> Heads:
    return {lost.name: lost.state.head_id for lost, _ in found}


def _found(lake: LocalLake) -> _Found:
    """The project's lost tables, each with the entry of the catalog that it replaces."""
    known: _Found = [(lost, None) for lost in lost_tables(lake.catalog)]
    older: _Found = [(lost, entry) for entry, lost in replaced_entries(lake.catalog)]
    # A file ledger is made by PyIceberg, and names no owner: its name does.
    return [
        (lost, entry)
        for lost, entry in (*known, *older)
        if lost.name.layer == RESERVED_LAYER or foreign_owner(lost.state, lake.project.name) is None
    ]


def _described(lost: Lost, entry: Entry | None) -> LostTable:
    record, head = lost.record, lost.state.head
    return LostTable(
        lost.name,
        lost.state.uuid,
        lost.state.metadata_location,
        record.batch if record else None,
        lost.version.updated_ms,
        most_live_rows(head) if head else 0,
        lost.others,
        _replaced(entry) if entry else None,
    )


def _replaced(entry: Entry) -> str:
    is_there = local_path(entry.location).is_file()
    why = "is older" if is_there else "is gone: what it had more is taken again"
    return f"{PurePosixPath(entry.location).name}, which {why}"


def _register(lake: LocalLake, preview: Registered) -> Registered:
    found = _found(lake)
    entries = [
        Entry(lost.name, f"file://{Path(lost.state.metadata_location).absolute()}") for lost, _ in found
    ]
    change_entries(lake.catalog, [entry for _, entry in found if entry], entries)
    for lost, _ in found:
        unmark(folder_of(lost.state.metadata_location), lost.state.uuid)
    return preview


def relocate(access: Access, notice: Callable[[str], None]) -> Change[Relocated, Relocated]:
    lake = open_local(access)

    def away() -> tuple[Away, ...]:
        return away_tables(lake.catalog, lake.project.name)

    with ProjectLock(lake.project.state_dir, "relocate"):
        found = away()
    origins = tuple(sorted({each.origin for each in found}))
    names = tuple(each.entry.name for each in found)

    def apply(preview: Relocated) -> Relocated:
        files = relocate_tables(lake.catalog, away(), notice) if preview.tables else 0
        return replace(preview, files=files)

    change = Change(
        Relocated(names, origins, str(lake.catalog.warehouse)),
        _heads_of_copies(found),
        lambda: ProjectLock(lake.project.state_dir, "relocate"),
        lambda: _heads_of_copies(away()),
        apply,
    )
    return access.noted(change, lake.project, "relocate", "register --relocate", names)


def _heads_of_copies(away: tuple[Away, ...]) -> Heads:
    copies = {each.entry.name: each.here for each in away}
    return {
        name: read_metadata(file).get("current-snapshot-id") if file.is_file() else None
        for name, file in copies.items()
    }
