"""Chooses the newest state of each table whose files are all in a warehouse that is a copy.

S3 copies objects in any order, so the newest metadata file may name files that were not copied. A state is
whole if all files of its head and of its progress record are there. Older snapshots with missing files are
left out of it. A table's record pins snapshots of its sidecars, so these are chosen first: a state that pins
what is not there is not whole either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lakesmith.catalog.family import SIDECARS, sidecar_of
from lakesmith.catalog.lost import Version, last_version, record_of, version_of
from lakesmith.catalog.metadata import json_of
from lakesmith.catalog.record import Record
from lakesmith.catalog.state import RECORD_TAG, TableState
from lakesmith.errors import LakesmithError
from lakesmith.execute.relocate import DATA, DELETED, Paths
from lakesmith.project.definitions import Naming, TableName
from lakesmith.recovery.objects import Warehouse
from lakesmith.sources.threads import map_in_threads

_METADATA: Final = ".metadata.json"


@dataclass(frozen=True)
class Chosen:
    """The state of a table that is recovered. ``data``: its metadata as it is in the copy; ``whole``: its
    snapshots whose files are all there; ``newest``: the newest state that is known, whole or not."""

    name: TableName
    version: Version
    data: Mapping[str, Any]
    whole: frozenset[int]
    newest: Version

    @property
    def state(self) -> TableState:
        return self.version.state

    @property
    def record(self) -> Record | None:
        """What the table has consumed in this state."""
        return record_of(self.state)

    @property
    def lost_batches(self) -> int:
        """How many batches the newest known state has more."""
        now, then = self.record, record_of(self.newest.state)
        return max(0, then.batch - (now.batch if now else 0)) if then else 0


@dataclass
class Found:
    """Tables of a copy: chosen, and those of which no state is whole, by name."""

    chosen: dict[TableName, Chosen] = field(default_factory=dict)
    broken: dict[TableName, str] = field(default_factory=dict)


@dataclass
class Files:
    """Which snapshots are whole. Each list and each manifest is read once."""

    warehouse: Warehouse
    paths: Paths
    _lists: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    _manifests: dict[str, str | None] = field(default_factory=dict)

    def missing(self, manifest_list: str) -> str | None:
        """Returns a file of a snapshot that is not there; None if all are."""
        here = self.paths(manifest_list)
        self.read([here])
        manifests = self._lists[here]
        if manifests is None:
            return here
        return next((lost for each in manifests if (lost := self._manifests[each])), None)

    def read(self, lists: Iterable[str]) -> None:
        """Reads lists and the manifests in them, side by side, if they were not read."""
        new = [each for each in dict.fromkeys(lists) if each not in self._lists]
        self._lists |= zip(new, map_in_threads(self._list, new, over_network=True), strict=True)
        named = (each for path in new for each in self._lists[path] or ())
        manifests = [each for each in dict.fromkeys(named) if each not in self._manifests]
        found = map_in_threads(self._missing_in, manifests, over_network=True)
        self._manifests |= zip(manifests, found, strict=True)

    def _list(self, path: str) -> tuple[str, ...] | None:
        records = self.warehouse.avro(path)
        return None if records is None else tuple(self.paths(each["manifest_path"]) for each in records)

    def _missing_in(self, manifest: str) -> str | None:
        records = self.warehouse.avro(manifest)
        return manifest if records is None else next(self._lost(records), None)

    def _lost(self, records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
        for entry in records:
            file = entry["data_file"]
            there = self.warehouse.sizes.get(self.paths(file["file_path"]))
            # The paths in delete files may be rewritten, which changes their size.
            is_other = file.get("content", DATA) == DATA and there != file["file_size_in_bytes"]
            if entry["status"] != DELETED and (there is None or is_other):
                yield self.paths(file["file_path"])


def choose(
    warehouse: Warehouse, paths: Paths, names: Iterable[TableName], naming: Naming, say: Callable[[str], None]
) -> Found:
    """Returns the states to recover of these tables and their sidecars. ``naming``: what the tables were
    called in the lost catalog."""
    found, files = Found(), Files(warehouse, paths)
    folders = _folders(warehouse)
    for name in names:
        pins = dict[tuple[str, int], None]()
        for kind in SIDECARS:
            sidecar = sidecar_of(name, kind)
            if (one := _of_table(warehouse, files, folders, sidecar, naming, found)) is not None:
                pins |= dict.fromkeys((one.state.uuid, number) for number in one.whole)
        say(f"looking at {name}")
        _of_table(warehouse, files, folders, name, naming, found, pins)
    return found


def _folders(warehouse: Warehouse) -> Mapping[tuple[str, str], list[str]]:
    """Metadata files by the last two folders above them: namespace and table."""
    found = defaultdict[tuple[str, str], list[str]](list)
    for path in warehouse.below(_METADATA):
        parts = path.removeprefix(warehouse.path).split("/")
        if len(parts) >= 4 and parts[-2] == "metadata":
            found[parts[-4].removesuffix(".db"), parts[-3]].append(path)
    return found


def _of_table(
    warehouse: Warehouse,
    files: Files,
    folders: Mapping[tuple[str, str], list[str]],
    name: TableName,
    naming: Naming,
    found: Found,
    pins: Mapping[tuple[str, int], None] | None = None,
) -> Chosen | None:
    versions = _versions(warehouse, folders.get(naming.physical(name), []))
    if not versions:
        return None
    datas = {id(version): data for version, data in versions}
    candidates = [version for version, _ in versions]
    newest = last_version(candidates)
    why = ""
    # Drafts lead from one state to the next, so they stay among the candidates.
    while any(not version.is_draft for version in candidates):
        version = last_version(candidates)
        lost = _lost(version.state, files, pins)
        if lost is None:
            snapshots = version.state.snapshots.values()
            files.read(files.paths(snapshot.manifest_list) for snapshot in snapshots)
            whole = frozenset(
                number
                for number, snapshot in version.state.snapshots.items()
                if files.missing(snapshot.manifest_list) is None
            )
            chosen = Chosen(name, version, datas[id(version)], whole, newest)
            found.chosen[name] = chosen
            return chosen
        why = why or lost
        candidates.remove(version)
    found.broken[name] = why
    return None


def _lost(state: TableState, files: Files, pins: Mapping[tuple[str, int], None] | None) -> str | None:
    """Returns what a state lacks, in words; None if it is whole."""
    needed = {state.head_id, state.refs.get(RECORD_TAG)} - {None}
    for number in needed:
        snapshot = state.snapshots.get(number) if number is not None else None
        lost = files.missing(snapshot.manifest_list) if snapshot else f"snapshot {number}"
        if lost is not None:
            return lost
    record = record_of(state)
    if record is None or pins is None:
        return None
    lacking = (
        f"snapshot {pin.snapshot} of its {kind}"
        for kind, pin in record.sidecars.items()
        if pin.snapshot is not None and (pin.uuid, pin.snapshot) not in pins
    )
    return next(lacking, None)


def _versions(warehouse: Warehouse, paths: list[str]) -> list[tuple[Version, Mapping[str, Any]]]:
    """The versions of the table in a folder; of several tables, those of the one that was written last."""
    found = defaultdict[str, list[tuple[Version, Mapping[str, Any]]]](list)
    for path, content in zip(paths, warehouse.read_all(paths), strict=True):
        try:
            data = json_of(content)
            version = version_of(path, data)
        except (OSError, EOFError, ValueError, LakesmithError):
            continue
        found[version.state.uuid].append((version, data))
    return max(found.values(), key=lambda each: max(one.updated_ms for one, _ in each), default=[])
