"""Tombstones: for each deleted key the version that deleted it, so that older versions stay deleted."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith.catalog.record import Pin
from lakesmith.plan.steps import Strategy
from lakesmith.project.definitions import Column
from lakesmith.project.spark_types import parse_type
from lakesmith.quoting import quoted
from lakesmith.sources.columns.types import stored_type
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.batch.sidecar import SidecarKind, SidecarWriter, read_pinned


def tombstone_columns(batch: Batch) -> tuple[str, ...]:
    """The key's columns and those of ``latest_by``."""
    table = batch.step.table
    return tuple(dict.fromkeys((*table.key, *table.latest_by)))


def read_tombstones(batch: Batch) -> DataFrame | None:
    """The tombstones as of the last published batch; None when there never was one. The newest of a key counts."""
    return read_pinned(batch, SidecarKind.TOMBSTONES)


def bury(batch: Batch, deletes: DataFrame, count: int, stale: DataFrame | None = None) -> dict[str, Pin]:
    """Writes a tombstone for each of the ``count`` rows; gives the sidecar's new version for the record.

    ``stale``: tombstones, in their columns, that are taken out. A full refresh starts from none. Nothing is made where there are
    none and never were.
    """
    anew = batch.step.strategy is Strategy.FULL
    if not count and stale is None and not (anew and batch.step.base.pin(SidecarKind.TOMBSTONES)):
        return {}
    names = tombstone_columns(batch)
    found = {field.name.lower(): field.dataType.simpleString() for field in deletes.schema.fields}
    types = {name: stored_type(parse_type(found[name.lower()])).text for name in names}
    writer = SidecarWriter(batch, SidecarKind.TOMBSTONES, [Column(name, types[name]) for name in names])
    earlier = None if anew else read_tombstones(batch)
    if writer.open() and earlier is not None:
        writer.append(earlier.select(*(F.col(quoted(name)).cast(types[name]) for name in names)))
    if stale is not None:
        writer.take_out(stale)
    if count:
        writer.append(deletes.select(*map(quoted, names)))
    batch.pass_point("after-tombstones")
    return {writer.kind.value: writer.pin()}
