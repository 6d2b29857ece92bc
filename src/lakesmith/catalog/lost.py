"""Tables whose files are in the warehouse and which the catalog does not name: the catalog was lost, whole or
in part.

Which of a table's metadata files was its last is known from the files themselves. Each names those before it
(``metadata-log``), so one that another names was the table's state once. One that no other names is the last,
or was written and never became the table's state, because its compare-and-swap was lost or its writer was
killed:

- Another file with the same predecessor has successors: that one won, and this one was lost.
- Otherwise both may have been the last. What other tables' records pin (a sidecar's snapshot, an input's) has
  been seen as published: the file that has more of it is taken, and of equals the newest.

Where a writer was killed right before its swap, what it wrote is taken as if the swap had been the last thing
that happened. That is a state the table could have had: whole, checked, with the record of what it has
consumed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any, Final

from lakesmith.catalog.entries import Entry, all_entries, folder_of, marked_name
from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.metadata import local_path, parse_metadata, read_metadata
from lakesmith.catalog.progress import find_progress
from lakesmith.catalog.record import SUMMARY_KEY, Pin, Record
from lakesmith.catalog.state import DRAFT_PROPERTY, TableState
from lakesmith.errors import LakesmithError, Problem, listed
from lakesmith.project.definitions import TableName
from lakesmith.project.layout import RESERVED_LAYER

_METADATA: Final = ".metadata.json"

Pins = frozenset[tuple[str, int]]
"""Snapshots, each with its table's UUID, that records pin."""


@dataclass(frozen=True, slots=True)
class Version:
    """A metadata file. ``before`` are the names of the files it says were before it, the last one last."""

    state: TableState
    before: tuple[str, ...]
    sequence: int
    updated_ms: int

    @property
    def file(self) -> str:
        return PurePosixPath(self.state.metadata_location).name

    @property
    def is_draft(self) -> bool:
        """Whether it never was the table's state: see ``spark.iceberg.drafts``."""
        return DRAFT_PROPERTY in self.state.properties

    @property
    def parent(self) -> str | None:
        """The file it was made from."""
        return self.before[-1] if self.before else None


@dataclass(frozen=True, slots=True)
class Lost:
    """A table without an entry: its name, the version to enter, and the number of other candidates."""

    name: TableName
    version: Version
    others: int = 0

    @property
    def state(self) -> TableState:
        return self.version.state

    @property
    def record(self) -> Record | None:
        """What it has consumed, as far as that is known."""
        return record_of(self.state)


def record_of(state: TableState) -> Record | None:
    """Returns what a table has consumed in a state, as far as that is known."""
    try:
        progress = find_progress(state)
    except LakesmithError:
        return None
    return progress.record if progress else None


def is_published(state: TableState) -> bool:
    """Returns whether a batch was ever published: one that failed before its first leaves none."""
    return any(SUMMARY_KEY in snapshot.summary for snapshot in state.snapshots.values())


def lost_tables(catalog: LocalCatalog) -> tuple[Lost, ...]:
    """Returns published tables without an entry, and the sidecars that records pin without one."""
    folders = _folders_without_entry(catalog)
    if not folders:
        return ()
    versions = [versions for folder in folders for versions in _versions(folder)]
    pins = _pins([*_entered(catalog), *(each.state for one in versions for each in one)])
    found = [newest(one, pins) for one in versions]
    counted = (each for each in found if _counts(catalog, each, pins))
    by_name = groupby(
        sorted(counted, key=lambda each: (each.name, each.version.updated_ms)), lambda each: each.name
    )
    # Of several tables of one name the one that was written last: the others were dropped by other tools.
    return tuple(list(same)[-1] for _, same in by_name)


def lost_problem(catalog: LocalCatalog, name: TableName) -> Problem | None:
    """LS512: why a table that the catalog does not name is not built as a new one; None when it can be."""
    lost = lost_tables(catalog)
    if name not in {each.name for each in lost}:
        return None
    tables = [str(each.name) for each in lost if each.name.layer != RESERVED_LAYER]
    there = f"{catalog.db} has no entry of it" if catalog.db.exists() else f"there is no {catalog.db}"
    return Problem(
        "LS512",
        f"the catalog does not know {name} any more, and its files are in the warehouse",
        expected="its entry in the catalog, or no files",
        found=f"{there}; tables in {catalog.warehouse} without an entry: {', '.join(tables)}",
        hint="'lakesmith register' enters them again as they were, and runs go on from there; or put the "
        "catalog back from a"
        f" backup; or 'lakesmith drop {name}' removes the table, and the next run builds it again",
    )


def has_moved_on(location: str) -> bool:
    """Returns whether later metadata files exist beside this one, so the catalog is older than the warehouse.
    One that follows directly may be what a killed writer left."""
    path = local_path(location)
    try:
        since = path.stat().st_mtime_ns
        later = [each.path for each in os.scandir(path.parent) if _may_follow(each, path.name, since)]
    except OSError:
        return False
    return any(_follows(Path(each), path.name) for each in later)


def _may_follow(file: os.DirEntry[str], name: str, since: int) -> bool:
    return file.name.endswith(_METADATA) and file.name != name and file.stat().st_mtime_ns >= since


def _follows(path: Path, name: str) -> bool:
    try:
        version = version_of(str(path), read_metadata(path))
    except (OSError, EOFError, ValueError, LakesmithError):
        return False
    return not version.is_draft and name in version.before[:-1]


def older_entries(catalog: LocalCatalog) -> tuple[Entry, ...]:
    """Returns the entries that are older than their tables' newest metadata. Raises as ``Catalog``."""
    return tuple(
        each
        for each in all_entries(catalog)
        if catalog.has_below(each.location) and has_moved_on(each.location)
    )


def older_problem(catalog: LocalCatalog, entries: Sequence[Entry]) -> Problem:
    """LS527: what to say of entries that are older than their tables' files."""
    names = listed((str(entry.name) for entry in entries), 1)
    return Problem(
        "LS527",
        "the catalog is older than the warehouse, as after a restore from a backup, so nothing is written",
        expected="a catalog that names each table's newest state",
        found=f"{catalog.db} names {PurePosixPath(entries[0].location).name} of {names}, and "
        "later states are beside it",
        hint="'lakesmith register' enters the newest states, and runs go on from there; or put the "
        "warehouse back too, from the same backup",
    )


def replaced_entries(catalog: LocalCatalog) -> tuple[tuple[Entry, Lost], ...]:
    """The entries whose file is gone, each with the newest state that is there; where the catalog is older
    than the warehouse, all entries that are not the newest.
    """
    entries = all_entries(catalog)
    if not older_entries(catalog):
        entries = tuple(each for each in entries if not local_path(each.location).is_file())
    there = [(entry, _versions_at(entry)) for entry in entries]
    pins = _pins(version.state for _, versions in there for version in versions)
    found = [
        (entry, replace(newest(versions, pins), name=entry.name)) for entry, versions in there if versions
    ]
    return tuple(
        (entry, each) for entry, each in found if each.version.file != local_path(entry.location).name
    )


def _versions_at(entry: Entry) -> list[Version]:
    """Returns the versions of an entry's table, or of the newest in its folder if its file is gone."""
    name = local_path(entry.location).name
    tables = [
        versions
        for versions in _versions(folder_of(entry.location))
        if any(not version.is_draft for version in versions)
    ]
    mine = [versions for versions in tables if name in {version.file for version in versions}]
    # A table that was made at the same moment by another, and never entered, has no rows.
    return max(
        mine or tables,
        key=lambda found: max((bool(each.sequence), each.updated_ms) for each in found),
        default=[],
    )


def newest(versions: Sequence[Version], pins: Pins = frozenset()) -> Lost:
    """The version of one table that was its last, as the module says. ``versions``: at least one."""
    last = _may_be_last(versions)
    chosen = last_version(versions, pins)
    others = sum(each.parent == chosen.parent for each in last) - 1
    name = marked_name(folder_of(chosen.state.metadata_location), chosen.state.uuid)
    return Lost(name or TableName("", ""), chosen, max(0, others))


def last_version(versions: Sequence[Version], pins: Pins = frozenset()) -> Version:
    """As ``newest``, of a table whose name is known, wherever its files are."""
    return max(
        _may_be_last(versions) or versions,
        key=lambda each: (_pinned(each.state, pins), each.sequence, each.updated_ms),
    )


def _may_be_last(versions: Sequence[Version]) -> list[Version]:
    states = [version for version in versions if not version.is_draft]
    named = {name for version in states for name in version.before}
    # A draft that was published has led from one state to the next; others are what a batch would have made
    # of the table.
    followed = {version.parent for version in versions if version.file in named}
    return [
        each
        for each in states
        if each.file not in named and (each.parent is None or each.parent not in followed)
    ]


def tables_in(folder: Path) -> list[str]:
    """The UUIDs of the tables whose metadata is in a table's folder."""
    return [versions[0].state.uuid for versions in _versions(folder)]


def _folders_without_entry(catalog: LocalCatalog) -> list[Path]:
    folders = [path.parent for path in sorted(catalog.warehouse.glob("*/*/metadata"))]
    if not folders:
        return []
    known = {folder_of(location) for location in catalog.locations()}
    return [folder for folder in folders if folder not in known]


def _versions(folder: Path) -> Iterator[list[Version]]:
    """Returns the versions in a folder, by table. Unreadable files were never a table's state."""
    found: dict[str, list[Version]] = {}
    for path in sorted((folder / "metadata").glob(f"*{_METADATA}")):
        try:
            version = version_of(str(path), read_metadata(path))
            # A project that was copied: its metadata speaks of files in the other place.
            if not folder.samefile(local_path(version.state.location)):
                continue
        except (OSError, EOFError, ValueError, LakesmithError):
            continue
        found.setdefault(version.state.uuid, []).append(version)
    yield from found.values()


def version_of(path: str, data: Mapping[str, Any]) -> Version:
    """Returns the version that a metadata file has. Raises StateError."""
    before = tuple(PurePosixPath(entry["metadata-file"]).name for entry in data.get("metadata-log") or ())
    state = parse_metadata(path, path, data)
    return Version(state, before, data.get("last-sequence-number", 0), data.get("last-updated-ms", 0))


def _entered(catalog: LocalCatalog) -> Iterator[TableState]:
    for location in catalog.locations():
        try:
            yield parse_metadata(location, location, read_metadata(location))
        except (OSError, EOFError, ValueError, LakesmithError):
            continue


def _pins(states: Iterable[TableState]) -> Pins:
    records = [record for state in states if (record := record_of(state))]
    pins: list[Pin] = [
        pin for record in records for pin in (*record.sidecars.values(), *record.inputs.values())
    ]
    return frozenset((pin.uuid, pin.snapshot) for pin in pins if pin.snapshot is not None)


def _pinned(state: TableState, pins: Pins) -> int:
    return sum((state.uuid, snapshot) in pins for snapshot in state.snapshots)


def _has_rows_there(state: TableState) -> bool:
    """Returns whether the files of the newest snapshot exist. A purge deletes them."""
    return state.head is None or local_path(state.head.manifest_list).is_file()


def _counts(catalog: LocalCatalog, lost: Lost, pins: Pins) -> bool:
    """Returns whether the table is missed: published, or a sidecar that a record pins."""
    if not lost.name.name or catalog.location(lost.name.layer, lost.name.name) is not None:
        return False
    if not _has_rows_there(lost.state):
        return False
    if lost.name.layer == RESERVED_LAYER:
        return _pinned(lost.state, pins) > 0
    return is_published(lost.state)
