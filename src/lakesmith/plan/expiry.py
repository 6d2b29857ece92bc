"""Which snapshots of a table expire, and which data files are worth compacting. Pure.

A table with a batch every few seconds collects snapshots and small files quickly. Every commit rewrites the
list of snapshots in the metadata.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lakesmith import limits
from lakesmith.catalog.history import points
from lakesmith.catalog.progress import find_progress, published_records
from lakesmith.catalog.record import SUMMARY_KEY, Record
from lakesmith.catalog.state import Snapshot, TableState
from lakesmith.errors import StateError
from lakesmith.plan.snapshot_ranges import last_of_snapshot_ranges
from lakesmith.project.definitions import Maintenance, TableDefinition, TableName

_MS: Final = 1000
_USUAL: Final = Maintenance()
_AGE_KEPT: Final = "history.expire.max-snapshot-age-ms"
"""Iceberg's own table property, for readers outside the project that continue from snapshots."""


def old_snapshots(
    state: TableState, needed: Collection[int], now_ms: int, settings: Maintenance = _USUAL
) -> tuple[int, ...]:
    """Returns the snapshots of ``state`` that nobody needs, oldest first.

    These stay: heads of branches and tags, ``needed`` ones, points in time that ``settings`` promise (by
    default the newest and some older ones, ``limits.PAST_KEPT``), snapshots younger than the table property,
    and, for running readers, those whose files a compaction replaced recently.
    """
    points_kept = _kept_points(state, now_ms, settings)
    kept = {*state.refs.values(), *needed, *points_kept, *_before_compactions(state, now_ms)}
    since = now_ms - int(state.properties.get(_AGE_KEPT, 0))
    old = (snapshot for snapshot in state.snapshots.values() if snapshot.committed_ms <= since)
    gone = [snapshot for snapshot in old if snapshot.snapshot_id not in kept]
    return tuple(
        snapshot.snapshot_id for snapshot in sorted(gone, key=lambda snapshot: snapshot.sequence_number)
    )


def old_of_sidecar(state: TableState, pinned: Collection[int]) -> tuple[int, ...]:
    """Returns the snapshots of a sidecar that no record pins, without compactions of pinned ones."""
    kept = {*state.refs.values(), *pinned, *_compactions_of_head(state)}
    return tuple(sorted(set(state.snapshots).difference(kept)))


def _compactions_of_head(state: TableState) -> Iterator[int]:
    """Yields compactions that the next batch needs to see that main has the rows its last record pins."""
    for snapshot in state.ancestors(state.head_id):
        if snapshot.operation != "replace":
            return
        yield snapshot.snapshot_id


def pinned_by(records: Iterable[Record], sidecar: TableState) -> set[int]:
    """The snapshots of a sidecar that records pin."""
    pins = (pin for record in records for pin in record.sidecars.values())
    return {pin.snapshot for pin in pins if pin.uuid == sidecar.uuid and pin.snapshot is not None}


def needed_by_others(
    tables: Iterable[TableDefinition], states: Mapping[TableName, TableState]
) -> dict[TableName, set[int]]:
    """Returns by table the snapshots that the project's tables and ``verify`` need."""
    needs = needs_of_readers(tables, states)
    return {name: set().union(*readers.values()) for name, readers in needs.items()}


def needs_of_readers(
    tables: Iterable[TableDefinition], states: Mapping[TableName, TableState]
) -> dict[TableName, dict[TableName, set[int]]]:
    """Returns the needed snapshots by table and reader. A reader with unknown progress needs all of them."""
    needed: dict[TableName, dict[TableName, set[int]]] = {name: {} for name in states}
    for table in tables:
        if table.external is None and (state := states.get(table.name)) is not None:
            try:
                needs = _needs(table, state, states)
            except StateError:
                # A run, status and its maintenance report it; until it is fixed, it may need any snapshot.
                needs = {name: set(each.snapshots) for name, each in states.items()}
            for name, snapshots in needs.items():
                if name in needed:
                    needed[name][table.name] = snapshots
    return needed


def _needs(
    table: TableDefinition, state: TableState, states: Mapping[TableName, TableState]
) -> dict[TableName, set[int]]:
    """Returns what one table needs of other tables, and of itself."""
    found: dict[TableName, set[int]] = {}
    progress = find_progress(state, can_rebuild=not table.is_sourced)
    if progress is None:
        return found
    # These foreign snapshots show that main continues from the newest record.
    found[table.name] = {snapshot.snapshot_id for snapshot in progress.foreign}
    for name, snapshot in _pins([progress.record]):
        found.setdefault(name, set()).add(snapshot)
        if progress.record.by_row and name not in table.lookups and name in states:
            found[name].update(_to_come(states[name], snapshot))
    if table.lookups:
        snapshot_ranges = tuple(last_of_snapshot_ranges(table, published_records(state, progress.snapshot)))
        found[table.name].update(snapshot.snapshot_id for snapshot, _ in snapshot_ranges)
        for name, snapshot in _pins([record for _, record in snapshot_ranges]):
            found.setdefault(name, set()).add(snapshot)
    return found


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A reader that keeps ``snapshots`` from expiring; the oldest was committed at ``since_ms``."""

    reader: TableName
    snapshots: int
    since_ms: int


def held_back(
    state: TableState, needs: Mapping[TableName, set[int]], now_ms: int, settings: Maintenance = _USUAL
) -> tuple[HeldBack, ...]:
    """Returns the readers that keep snapshots for long (``limits.HELD_BACK_SECONDS``): they lag."""
    readers = [reader for reader in sorted(needs) if str(reader) != state.name]
    return tuple(found for reader in readers if (found := _held_by(reader, state, needs, (now_ms, settings))))


def _held_by(
    reader: TableName, state: TableState, needs: Mapping[TableName, set[int]], at: tuple[int, Maintenance]
) -> HeldBack | None:
    others = set[int]().union(*(snapshots for name, snapshots in needs.items() if name != reader))
    for_it = needs[reader].intersection(old_snapshots(state, others, *at))
    since = min((state.snapshots[each].committed_ms for each in for_it), default=at[0])
    if at[0] - since < limits.HELD_BACK_SECONDS * _MS:
        return None
    return HeldBack(reader, len(for_it), since)


def _to_come(state: TableState, position: int) -> set[int]:
    """Returns the snapshots that a reader of appended rows needs to see that rows were only appended."""
    found = set[int]()
    for snapshot in state.ancestors(state.head_id):
        if snapshot.snapshot_id == position:
            return found
        found.add(snapshot.snapshot_id)
    return set()


def fresh_files_below(sizes: Sequence[int]) -> int | None:
    """Returns the size in bytes below which data files are worth compacting; None if there are too few.

    Small files count as long as all smaller ones together are as large as the next: so the rows of a growing
    table are rewritten once per doubling, not with each compaction.
    """
    taken = total = 0
    for size in sorted(sizes):
        if size >= limits.WHOLE_FILE_BYTES or (taken >= limits.FRESH_FILES and size > total):
            break
        taken, total, largest = taken + 1, total + size, size
    return largest + 1 if taken >= limits.FRESH_FILES else None


def _pins(records: Iterable[Record]) -> Iterator[tuple[TableName, int]]:
    for record in records:
        for name, pin in record.inputs.items():
            layer, _, table = name.partition(".")
            if pin.snapshot is not None:
                yield TableName(layer, table), pin.snapshot


def _kept_points(state: TableState, now_ms: int, settings: Maintenance) -> set[int]:
    past = points(state)
    if settings.older_than is not None:
        newest = past[-(settings.retain_last or 1) :]
        return {snapshot for snapshot, _ in (*newest, *_since(past, now_ms - settings.older_than * _MS))}
    kept = {snapshot for snapshot, _ in past[-(settings.retain_last or limits.NEWEST_POINTS_KEPT) :]}
    for age, every in limits.PAST_KEPT:
        # The last snapshot of each period shows its final state.
        last = {at // (every * _MS): snapshot for snapshot, at in past if now_ms - at <= age * _MS}
        kept.update(last.values())
    return kept


def _since(past: Sequence[tuple[int, int]], moment_ms: float) -> Sequence[tuple[int, int]]:
    """Returns the points since a time, with the one that was current then."""
    older = sum(at < moment_ms for _, at in past)
    return past[max(0, older - 1) :]


def _before_compactions(state: TableState, now_ms: int) -> Iterator[int]:
    for snapshot in state.snapshots.values():
        lately = now_ms - snapshot.committed_ms <= limits.COMPACTED_FILES_KEPT_SECONDS * _MS
        if lately and snapshot.parent_id is not None and _takes_files_away(snapshot):
            yield snapshot.parent_id


def _takes_files_away(snapshot: Snapshot) -> bool:
    return SUMMARY_KEY not in snapshot.summary and snapshot.count("deleted-data-files") > 0
