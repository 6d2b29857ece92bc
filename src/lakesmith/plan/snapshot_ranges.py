"""The snapshot ranges for which a table was computed with the same versions of its lookups. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from lakesmith.catalog.progress import Reason, published_records
from lakesmith.catalog.record import Pin, Record
from lakesmith.catalog.state import Snapshot, TableState
from lakesmith.plan.steps import InputRange, Strategy
from lakesmith.project.definitions import TableDefinition, TableName

SnapshotRanges = tuple[InputRange, ...]
"""Rows of the driving input, and the lookups as they were when those rows arrived."""


def snapshot_ranges_of(
    table: TableDefinition, driving: TableName, state: TableState, published: Snapshot
) -> tuple[SnapshotRanges, ...] | Reason:
    """Returns the ranges since the last full refresh, oldest first, up to the record ``published``."""
    records = [record for _, record in _since_whole(published_records(state, published))]
    if not records or records[-1].kind != Strategy.FULL.value:
        return Reason("the batches since it was last refreshed in full have expired")
    return tuple(_ranges_of(table, driving, records[::-1]))


def last_of_snapshot_ranges(
    table: TableDefinition, records: Iterable[tuple[Snapshot, Record]]
) -> Iterator[tuple[Snapshot, Record]]:
    """Yields the records that ``snapshot_ranges_of`` needs: the last of each range, and the full refresh."""
    since = list(_since_whole(records))
    for _, batches in groupby(since, lambda each: _lookups(table, each[1])):
        yield next(iter(batches))
    yield from since[-1:]


def _since_whole(records: Iterable[tuple[Snapshot, Record]]) -> Iterator[tuple[Snapshot, Record]]:
    for snapshot, record in records:
        yield snapshot, record
        if record.kind == Strategy.FULL.value:
            return


def _ranges_of(
    table: TableDefinition, driving: TableName, records: Sequence[Record]
) -> Iterator[SnapshotRanges]:
    start: int | None = None
    for pins, batches in groupby(records, lambda record: _lookups(table, record)):
        end = list(batches)[-1].inputs[str(driving)]
        if end.snapshot != start:
            looked_up = (
                InputRange(name, pin.uuid, None, pin.snapshot, lookup=True)
                for name, pin in zip(table.lookups, pins, strict=True)
            )
            yield (InputRange(driving, end.uuid, start, end.snapshot), *looked_up)
        start = end.snapshot


def _lookups(table: TableDefinition, record: Record) -> tuple[Pin, ...]:
    return tuple(record.inputs[str(name)] for name in table.lookups)
