"""Up to where a table has published its windows."""

from __future__ import annotations

from pyspark.sql import functions as F

from lakesmith.quoting import quoted
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.iceberg.snapshots import read_version


def closed_before(batch: Batch) -> str | None:
    """The end of the last window that is there, where windows were once closed because inputs had gone quiet; else None.

    The watermark may lie before that once rows come again. What was published stays.
    """
    record, emit, step = batch.step.base.record, batch.step.table.emit, batch.step
    if record is None or emit is None or not (record.idle or record.closed):
        return None
    if record.fingerprint != step.fingerprint or step.base.snapshot is None:
        return None
    there = read_version(batch.spark, batch.name, step.base.snapshot)
    end = there.agg(F.max(quoted(emit.closed)).cast("string")).collect()[0][0]
    return record.closed if end is None else str(end)
