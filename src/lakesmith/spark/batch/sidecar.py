"""Sidecars: Iceberg tables beside a table (quarantine, tombstones, file ledger, erased persons).

Each batch writes to a branch that starts at the snapshot that the last record pins, or at a compaction of it;
its own record pins the branch's head. So rows of an unpublished attempt are never seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith.catalog.family import PROJECT, lost_sidecar, newest_compaction, sidecar_of
from lakesmith.catalog.record import Pin
from lakesmith.catalog.state import TableState
from lakesmith.plan.format_version import format_properties
from lakesmith.plan.steps import Strategy
from lakesmith.project.definitions import Column, TableName
from lakesmith.project.spark_types import parse_type
from lakesmith.quoting import own, quoted
from lakesmith.sources.columns.types import stored_type
from lakesmith.spark.batch.context import Batch, live_rows, remove_left_deletes
from lakesmith.spark.iceberg.commits import physical
from lakesmith.spark.iceberg.ddl import conform_table, create_table, require_ours, widen_table
from lakesmith.spark.iceberg.snapshots import read_as_it_was


class SidecarKind(StrEnum):
    """The sidecars that Spark writes; the file ledger is written by the metadata plane."""

    QUARANTINE = "quarantine"
    TOMBSTONES = "tombstones"
    ERASED = "erased"


def read_pinned(batch: Batch, kind: SidecarKind) -> DataFrame | None:
    """Returns a sidecar's rows at the last published batch, or None. Raises StateError LS508."""
    pin = batch.step.base.pin(kind)
    if pin is None or pin.snapshot is None:
        return None
    name = sidecar_of(batch.name, kind)
    _require_pinned(batch.name, _state_of(batch, name), pin)
    return read_as_it_was(batch.spark, name, pin.snapshot)


class SidecarWriter:
    """A sidecar opened for one batch, on a branch of the batch's own."""

    def __init__(self, batch: Batch, kind: SidecarKind, columns: Sequence[Column]) -> None:
        self._batch = batch
        self._columns = columns
        self.kind = kind
        self.name = sidecar_of(batch.name, kind)
        self.target = physical(self.name, batch.branch)

    def open(self) -> bool:
        """Opens the sidecar's branch with the rows that the last record pins (none in a full refresh).
        Returns True if tombstones had other columns, and so lost their rows."""
        pin, state = self._batch.step.base.pin(self.kind), self._ensure()
        changed = self._conform(state) or self._has_others_since(pin)
        is_empty = changed or self._batch.step.strategy is Strategy.FULL
        self._open_branch(state, None if is_empty else pin)
        return changed

    def _conform(self, state: TableState) -> bool:
        if self.kind is SidecarKind.TOMBSTONES:
            return conform_table(self._batch.spark, self.name, state, self._columns)
        # The quarantine's columns are the same for every table: it only gets new ones.
        widen_table(self._batch.spark, self.name, state, self._columns)
        return False

    def _has_others_since(self, pin: Pin | None) -> bool:
        """Returns whether the pinned tombstones have other columns, by field id, than the present ones."""
        if pin is None or self.kind is not SidecarKind.TOMBSTONES:
            return False
        state = self._state()
        then = state.columns_at(pin.snapshot)
        ids = {column.field_id for column in state.columns}
        return then is not None and ids != {column.field_id for column in then}

    def _open_branch(self, state: TableState, pin: Pin | None) -> None:
        if pin is not None:
            _require_pinned(self._batch.name, state, pin)
            begin = newest_compaction(state, pin.snapshot)
            self._batch.java.open_branch(self.name, self._batch.branch, begin)
            return
        main = state.head_id
        self._batch.java.open_branch(self.name, self._batch.branch, main)
        if main is not None:
            # Rows of a table that was dropped, or of batches that were rolled back: they belong to no one
            # now.
            self.clear()

    def append(self, rows: DataFrame) -> None:
        rows.writeTo(self.target).append()

    def clear(self, where: str = "true") -> None:
        """Deletes rows: all of them, or those for which ``where`` (SQL) is true."""
        self._batch.spark.sql(f"DELETE FROM {self.target} WHERE {where}")
        remove_left_deletes(self._batch, self.name, self._state())

    def take_out(self, rows: DataFrame) -> None:
        """Takes every row away that is equal to one of ``rows`` in all of their columns."""
        view = self._batch.view(f"{self.kind.value}_gone")
        rows.select(
            *(F.col(quoted(name)).alias(own(f"gone_{name}")) for name in rows.columns)
        ).createOrReplaceTempView(view)
        same = " AND ".join(f"{quoted(own(f'gone_{name}'))} <=> {quoted(name)}" for name in rows.columns)
        try:
            self.clear(f"EXISTS (SELECT 1 FROM {view} WHERE {same})")
        finally:
            self._batch.spark.catalog.dropTempView(view)

    def live_rows(self) -> int:
        """The rows on the batch's branch now, as its head's summary says."""
        state = self._state()
        return live_rows(self._batch, state, state.refs[self._batch.branch], self.name)

    def count_added(self) -> int:
        """The rows this batch added, as the snapshots' summaries say."""
        state = self._state()
        pin = self._batch.step.base.pin(self.kind)
        total = 0
        for snapshot in state.ancestors(state.refs[self._batch.branch]):
            if snapshot.snapshot_id in (pin.snapshot if pin else None, state.head_id):
                break
            total += snapshot.count("added-records")
        return total

    def pin(self) -> Pin:
        """The branch's head, for the record."""
        state = self._state()
        return Pin(state.uuid, state.refs[self._batch.branch])

    def _ensure(self) -> TableState:
        batch = self._batch
        if batch.catalog.table(self.name.layer, self.name.name) is None:
            # As its table: who reads that reads this. It keeps the version that it was made with.
            properties = {PROJECT: batch.project.name, **format_properties(batch.state().format_version)}
            create_table(batch.spark, self.name, self._columns, properties)
        state = self._state()
        require_ours(state, batch.project.name)
        return state

    def _state(self) -> TableState:
        return _state_of(self._batch, self.name)


def _state_of(batch: Batch, name: TableName) -> TableState:
    state = batch.catalog.table(name.layer, name.name)
    if state is None:
        raise lost_sidecar(batch.name, str(name), "the table is gone")
    return state


def _require_pinned(table: TableName, state: TableState, pin: Pin) -> None:
    if state.uuid != pin.uuid:
        raise lost_sidecar(table, state.name, "the table was dropped and created again")
    if pin.snapshot not in state.snapshots:
        raise lost_sidecar(table, state.name, f"snapshot {pin.snapshot} has expired")


def tombstone_columns(batch: Batch) -> tuple[str, ...]:
    """The key's columns and those of ``latest_by``."""
    table = batch.step.table
    return tuple(dict.fromkeys((*table.key, *table.latest_by)))


def read_tombstones(batch: Batch) -> DataFrame | None:
    """Returns the tombstones at the last published batch, or None. The newest per key counts."""
    return read_pinned(batch, SidecarKind.TOMBSTONES)


def write_tombstones(
    batch: Batch, deletes: DataFrame, count: int, stale: DataFrame | None = None
) -> dict[str, Pin]:
    """Writes ``count`` tombstones and removes ``stale`` ones; returns the sidecar's version. A full refresh
    starts from none. Without any, no table is created."""
    is_empty = batch.step.strategy is Strategy.FULL
    if not count and stale is None and not (is_empty and batch.step.base.pin(SidecarKind.TOMBSTONES)):
        return {}
    names = tombstone_columns(batch)
    found = {field.name.lower(): field.dataType.simpleString() for field in deletes.schema.fields}
    types = {name: stored_type(parse_type(found[name.lower()])).text for name in names}
    writer = SidecarWriter(batch, SidecarKind.TOMBSTONES, [Column(name, types[name]) for name in names])
    earlier = None if is_empty else read_tombstones(batch)
    if writer.open() and earlier is not None:
        writer.append(earlier.select(*(F.col(quoted(name)).cast(types[name]) for name in names)))
    if stale is not None:
        writer.take_out(stale)
    if count:
        writer.append(deletes.select(*map(quoted, names)))
    batch.pass_point("after-tombstones")
    return {writer.kind.value: writer.pin()}
