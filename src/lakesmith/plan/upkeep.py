"""What a table's past may be thinned out to, and which of its files are worth putting together. Pure.

A table that gets a batch every few seconds would drown in its own past: each snapshot is a line in the metadata that every later commit
writes anew, and each batch has files of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from lakesmith import limits
from lakesmith.catalog.history import points
from lakesmith.catalog.progress import find_progress, published_records
from lakesmith.catalog.record import SUMMARY_KEY, Record
from lakesmith.catalog.state import MAIN, Snapshot, TableState
from lakesmith.plan.stretches import last_of_stretches
from lakesmith.project.definitions import TableDefinition, TableName

_MS: Final = 1000
_AGE_KEPT: Final = "history.expire.max-snapshot-age-ms"
"""Iceberg's own property of a table, for who goes on from snapshots and is no table of the project."""


def old_snapshots(state: TableState, needed: Collection[int], now_ms: int) -> tuple[int, ...]:
    """The snapshots of ``state`` that nobody has to find again, oldest first.

    What stays: what branches and tags are on, what is ``needed``, the newest points of the table's past and some of the older ones
    (``limits.PAST_KEPT``), all that is younger than the table's own setting says, and, for readers that are under way, what had the files
    that a compaction has lately replaced.
    """
    kept = {*state.refs.values(), *needed, *_kept_points(state, now_ms), *_before_compactions(state, now_ms)}
    since = now_ms - int(state.properties.get(_AGE_KEPT, 0))
    old = (snapshot for snapshot in state.snapshots.values() if snapshot.committed_ms <= since)
    gone = [snapshot for snapshot in old if snapshot.snapshot_id not in kept]
    return tuple(
        snapshot.snapshot_id for snapshot in sorted(gone, key=lambda snapshot: snapshot.sequence_number)
    )


def old_of_sidecar(state: TableState, pinned: Collection[int]) -> tuple[int, ...]:
    """The snapshots of a sidecar that no record pins any more."""
    kept = {*state.refs.values(), *pinned}
    return tuple(sorted(set(state.snapshots).difference(kept)))


def needed_by_others(
    tables: Iterable[TableDefinition], states: Mapping[TableName, TableState]
) -> dict[TableName, set[int]]:
    """For each table the snapshots that tables of the project stand on: what they go on from, and what ``verify`` computes them with."""
    needed: dict[TableName, set[int]] = {name: set() for name in states}
    for table in tables:
        state = states.get(table.name) if table.external is None else None
        progress = find_progress(state, can_rebuild=not table.is_sourced) if state else None
        if state is None or progress is None:
            continue
        for name, snapshot in _pins([progress.record]):
            if name in needed:
                needed[name].add(snapshot)
                if progress.record.by_row and name not in table.lookups:
                    needed[name].update(_to_come(states[name], snapshot))
        if table.lookups:
            stretches = tuple(last_of_stretches(table, published_records(state, progress.snapshot)))
            needed[table.name].update(snapshot.snapshot_id for snapshot, _ in stretches)
            for name, snapshot in _pins([record for _, record in stretches]):
                needed.get(name, set()).add(snapshot)
    return needed


def _to_come(state: TableState, position: int) -> set[int]:
    """What a reader of appended rows has still to read: without each of these it could not tell that rows were only appended."""
    found = set[int]()
    for snapshot in state.ancestors(state.refs.get(MAIN)):
        if snapshot.snapshot_id == position:
            return found
        found.add(snapshot.snapshot_id)
    return set()


def fresh_files_below(sizes: Sequence[int]) -> int | None:
    """The size in bytes below which data files are worth putting together; None: there are too few.

    Small files count as long as all that are smaller weigh as much as the next: so the rows of a growing table are rewritten once for each
    doubling of it, and not with each compaction.
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


def _kept_points(state: TableState, now_ms: int) -> set[int]:
    past = points(state)
    kept = {snapshot for snapshot, _ in past[-limits.NEWEST_POINTS_KEPT :]}
    for age, every in limits.PAST_KEPT:
        # Of each stretch of time the last: what it shows is how the stretch ended.
        last = {at // (every * _MS): snapshot for snapshot, at in past if now_ms - at <= age * _MS}
        kept.update(last.values())
    return kept


def _before_compactions(state: TableState, now_ms: int) -> Iterator[int]:
    for snapshot in state.snapshots.values():
        lately = now_ms - snapshot.committed_ms <= limits.COMPACTED_FILES_KEPT_SECONDS * _MS
        if lately and snapshot.parent_id is not None and _takes_files_away(snapshot):
            yield snapshot.parent_id


def _takes_files_away(snapshot: Snapshot) -> bool:
    return SUMMARY_KEY not in snapshot.summary and snapshot.count("deleted-data-files") > 0
