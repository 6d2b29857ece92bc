"""What maintenance needs to know of tables, from metadata without a JVM, and the results that it reports."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from lakesmith.catalog.family import SIDECARS, family, newest_compaction, sidecar_of
from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.metadata import local_path
from lakesmith.catalog.state import TableState
from lakesmith.errors import LakesmithError, Problem
from lakesmith.execute.lake import LEDGER_PIN, Lake
from lakesmith.plan.expiry import (
    HeldBack,
    held_back,
    needs_of_readers,
    old_of_sidecar,
    old_snapshots,
    pinned_by,
)
from lakesmith.plan.maintenance import (
    Care,
    FileFacts,
    Health,
    ManifestFacts,
    Past,
    Task,
    care_of,
    health_of,
    is_scattered,
    worth_a_look,
)
from lakesmith.plan.steps import Base
from lakesmith.project.definitions import Maintenance, TableName

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import ManifestFile

_LOOKS: Final = 3
"""How often a table is looked at again whose files leave while they are read."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A table of which nothing is known."""

    table: TableName
    problem: Problem


@dataclass(frozen=True, slots=True)
class NotThere:
    """A table that was never written, or that is another's."""

    table: TableName
    why: str


Verdict = Care | NotThere | Unknown


def verdicts(lake: Lake, names: Iterable[TableName], orphans: bool = False) -> tuple[Verdict, ...]:
    """Returns what each table needs, and why not. One unreadable table does not affect the others."""
    wanted = tuple(names)
    with lake.one_look([table.name for table in lake.project.tables]):
        known = _Known.of(lake)
        return tuple(_verdict(known, name, orphans) for name in wanted)


@dataclass(frozen=True)
class _Known:
    lake: Lake
    states: Mapping[TableName, TableState]
    needs: Mapping[TableName, Mapping[TableName, set[int]]]

    @classmethod
    def of(cls, lake: Lake) -> _Known:
        states = lake.own_states()
        return cls(lake, states, needs_of_readers(lake.project.tables, states))


def summary_health(state: TableState) -> Health:
    """The health of a table, from its metadata file alone."""
    return health_of(state, _metadata_bytes(state))


def _past_of(known: _Known, name: TableName) -> Past:
    """Returns what can expire of a table and its sidecars, and which readers prevent more."""
    state, needs = known.states[name], known.needs[name]
    settings, now = known.lake.project.table(name).maintenance, time.time_ns() // 1_000_000
    gone = old_snapshots(state, set().union(*needs.values()), now, settings)
    sidecars = _old_of_sidecars(known.lake, name, state, frozenset(gone))
    return Past(
        len(gone), sum(len(each) for each in sidecars.values()), held_back(state, needs, now, settings)
    )


def _old_of_sidecars(
    lake: Lake, name: TableName, state: TableState, gone: frozenset[int]
) -> Mapping[TableName, tuple[int, ...]]:
    """Returns for each sidecar the snapshots that no record pins once ``gone`` have expired."""
    left = [snapshot for key, snapshot in state.snapshots.items() if key not in gone]
    records = [record for snapshot in left if (record := snapshot.record)]
    found = {}
    for sidecar in family(name)[1:]:
        there = lake.catalog.table(sidecar.layer, sidecar.name) if records else None
        if there is not None:
            found[sidecar] = old_of_sidecar(there, pinned_by(records, there))
    return found


def _verdict(known: _Known, name: TableName, orphans: bool) -> Verdict:
    try:
        return _measured(known, name, orphans)
    except LakesmithError as error:
        return Unknown(name, error.problems[0])


def _measured(known: _Known, name: TableName, orphans: bool) -> Verdict:
    lake = known.lake
    table = lake.project.table(name)
    if table.external is not None:
        return NotThere(name, "a table of others: it is read, and left as it is")
    facts = lake.facts(name)
    if facts.problem is not None:
        return Unknown(name, facts.problem)
    if facts.state is None:
        return NotThere(name, "nothing was published yet")
    health = summary_health(facts.state)
    files = files_of(lake, name) if worth_a_look(health) else FileFacts()
    files = replace(files, sidecars=tuple(_scattered_sidecars(lake, name, facts.base)))
    return care_of(name, health, files, _past_of(known, name), table.maintenance, orphans)


def _scattered_sidecars(lake: Lake, name: TableName, base: Base) -> Iterator[TableName]:
    """Yields sidecars with many small files. The ledger compacts itself."""
    for kind in SIDECARS:
        pin, sidecar = base.pin(kind), sidecar_of(name, kind)
        state = lake.catalog.table(sidecar.layer, sidecar.name) if pin and kind != LEDGER_PIN else None
        if pin is None or state is None or state.uuid != pin.uuid:
            continue
        if newest_compaction(state, pin.snapshot) == state.head_id and is_scattered(health_of(state)):
            yield sidecar


def files_of(lake: Lake, name: TableName) -> FileFacts:
    """What the manifests of the table's head say. Raises as ``Catalog`` says."""
    for look in range(_LOOKS):
        state = lake.catalog.table(name.layer, name.name)
        if state is None or state.head is None:
            return FileFacts()
        try:
            return _read(_io_of(lake, name, state), state.head.manifest_list)
        except FileNotFoundError:
            # A commit and an expiry in between have taken it away.
            if look == _LOOKS - 1:
                raise
    raise AssertionError("the last look returns or raises")


def _io_of(lake: Lake, name: TableName, state: TableState) -> FileIO:
    if isinstance(lake.catalog, LocalCatalog):
        from pyiceberg.io import load_file_io

        return load_file_io({}, state.location)
    return lake.catalog.reader().load_table((name.layer, name.name)).io


def _read(io: FileIO, manifest_list: str) -> FileFacts:
    from pyiceberg.manifest import ManifestContent, read_manifest_list

    manifests = list(read_manifest_list(io.new_input(manifest_list)))
    facts = [
        ManifestFacts(each.partition_spec_id, each.content == ManifestContent.DELETES, each.manifest_length)
        for each in manifests
    ]
    sizes: dict[str, list[int]] = {}
    for manifest in manifests:
        if manifest.content == ManifestContent.DATA:
            for partition, size in _entries(io, manifest):
                sizes.setdefault(partition, []).append(size)
    return FileFacts(sizes, facts)


def _entries(io: FileIO, manifest: ManifestFile) -> Iterator[tuple[str, int]]:
    for entry in manifest.fetch_manifest_entry(io):
        file: Any = entry.data_file
        yield f"{manifest.partition_spec_id} {file.partition!r}", int(file.file_size_in_bytes)


def _metadata_bytes(state: TableState) -> int | None:
    if "://" in state.metadata_location and not state.metadata_location.startswith("file:"):
        return None
    try:
        return local_path(state.metadata_location).stat().st_size
    except FileNotFoundError:
        # A commit in between may have deleted it.
        return None


@dataclass(frozen=True, slots=True)
class Orders:
    """What the caller asks for besides what tables need: list ``orphans``, or ``remove_orphans``."""

    orphans: bool = False
    remove_orphans: bool = False

    @property
    def looks_for_orphans(self) -> bool:
        """Whether files that no snapshot has are looked for in every table."""
        return self.orphans or self.remove_orphans

    def removes(self, settings: Maintenance) -> bool:
        """Returns whether a table's orphans are removed: as called, else by the table's settings."""
        return self.remove_orphans or (settings.orphans.remove and not self.orphans)


@dataclass(frozen=True, slots=True)
class Measured:
    """Measures of a table's head: bytes, and ``planning_seconds`` for a scan of the whole table."""

    data_files: int
    data_bytes: int
    delete_files: int
    deleted_rows: int
    manifests: int
    snapshots: int
    planning_seconds: float


@dataclass(frozen=True, slots=True)
class Maintained:
    """A maintained table: its ``orphans``, whether they were ``removed``, and what each task has ``done`` in
    words."""

    table: TableName
    before: Measured
    after: Measured
    seconds: float
    done: Mapping[Task, str] = field(default_factory=dict)
    orphans: tuple[str, ...] = ()
    removed: bool = False
    held_back: tuple[HeldBack, ...] = ()


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice of maintenance: small ``files`` became ``into``; ``snapshots`` expired, sidecars included."""

    files: int = 0
    into: int = 0
    snapshots: int = 0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class NotMaintained:
    """A table whose maintenance failed; what was done until then stays, and is right."""

    table: TableName
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class MaintenancePlan:
    """What tables need, each with the reasons."""

    tables: tuple[Verdict, ...]

    @property
    def failed(self) -> bool:
        return any(isinstance(each, Unknown) for each in self.tables)

    def to_dict(self) -> dict[str, Any]:
        return {"tables": list(map(_plan_as_dict, self.tables))}


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """What was done.

    Attributes:
        tables: the tables that were maintained, or whose maintenance failed.
        left: the tables that need nothing, do not exist, or whose needs are unknown.
        stopped: whether it ended early; the next call goes on.
    """

    tables: tuple[Maintained | NotMaintained, ...] = ()
    left: tuple[Verdict, ...] = ()
    stopped: bool = False

    @property
    def failed(self) -> bool:
        return any(isinstance(each, NotMaintained | Unknown) for each in (*self.tables, *self.left))

    def to_dict(self) -> dict[str, Any]:
        return {
            "maintained": list(map(_done_as_dict, self.tables)),
            "left": list(map(_plan_as_dict, self.left)),
            "stopped": self.stopped,
        }


@dataclass(frozen=True, slots=True)
class RewriteResult:
    """Data files that were rewritten, and the files and pieces that they became; ``stopped``: it ended
    early."""

    table: TableName
    files: int = 0
    into: int = 0
    pieces: int = 0
    stopped: bool = False

    def to_dict(self) -> dict[str, Any]:
        if self.stopped:
            return {"table": str(self.table), "stopped": True}
        return {**asdict(self), "table": str(self.table)}


def _plan_as_dict(each: Verdict) -> dict[str, Any]:
    if isinstance(each, Care):
        return {
            "table": str(each.table),
            "health": asdict(each.health),
            "small_files": each.small.files,
            "needs": {task.value: why for task, why in each.todo.items()},
            "left": {task.value: why for task, why in each.left.items()},
            "held_back": [_held_as_dict(one) for one in each.held_back],
        }
    if isinstance(each, Unknown):
        return {"table": str(each.table), "problem": each.problem.as_dict()}
    return {"table": str(each.table), "why": each.why}


def _done_as_dict(done: Maintained | NotMaintained) -> dict[str, Any]:
    if isinstance(done, Maintained):
        return {
            "table": str(done.table),
            "before": asdict(done.before),
            "after": asdict(done.after),
            "seconds": round(done.seconds, 3),
            "done": {task.value: said for task, said in done.done.items()},
            "orphans": list(done.orphans),
            "orphans_removed": done.removed,
            "held_back": [_held_as_dict(each) for each in done.held_back],
        }
    return {"table": str(done.table), "problems": [problem.as_dict() for problem in done.problems]}


def _held_as_dict(each: HeldBack) -> dict[str, Any]:
    return {**asdict(each), "reader": str(each.reader)}
