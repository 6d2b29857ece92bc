"""Which windows a batch of a table with ``emit: closed`` publishes."""

from __future__ import annotations

from typing import Final

from pyspark.sql import functions as F

from lakesmith.project.windows import Marks, latest_time
from lakesmith.quoting import quoted
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.iceberg.snapshots import read_version
from lakesmith.spark.query.table_query import read_range

_MOST_LATER: Final = 1_000
"""So many ends of windows are kept that watermarks cannot reach yet; those nearest to them."""


def marks_of(batch: Batch) -> Marks:
    """What decides, beside the rows, which windows there are.

    A watermark may be behind windows that were once closed because inputs had gone quiet: what was published stays.
    """
    step, record, emit = batch.step, batch.step.base.record, batch.step.table.emit
    marks = Marks(frozenset(step.idle), step.arrived)
    if record is None or emit is None or not (record.idle or record.closed or record.closed_later):
        return marks
    if record.fingerprint != step.fingerprint or step.base.snapshot is None:
        return marks
    closed = F.col(quoted(emit.closed))
    ends = read_version(batch.spark, batch.name, step.base.snapshot).select(closed)
    # Where an event is far ahead of its arrival, so is its window: those that end before it are not all there.
    reached = latest_time(emit, quoted(emit.closed), max(record.arrived.values(), default=0))
    last = ends.where(closed <= F.expr(reached)).agg(F.max(closed).cast("string")).collect()[0][0]
    later = ends.where(closed > F.expr(reached)).distinct().orderBy(closed).limit(_MOST_LATER)
    found = tuple(row[0] for row in later.select(closed.cast("string")).collect())
    return Marks(marks.idle, marks.arrived, record.closed if last is None else str(last), found)


def rows_ahead(batch: Batch) -> dict[str, tuple[int, str]]:
    """By watermark, the rows that are too far ahead of their arrival to move it: how many, and their greatest time."""
    step, emit = batch.step, batch.step.table.emit
    found: dict[str, tuple[int, str]] = {}
    if emit is None:
        return found
    ranges = {item.table: item for item in step.inputs}
    for mark in emit.watermarks:
        arrived = step.arrived.get(str(mark.table))
        if arrived is not None and mark.table in ranges:
            time, latest = quoted(mark.column), latest_time(emit, quoted(mark.column), arrived)
            ahead = read_range(batch.spark, ranges[mark.table]).where(f"{time} > {latest}")
            count, last = ahead.agg(F.count("*"), F.max(F.col(time)).cast("string")).collect()[0]
            found |= {str(mark): (count, str(last))} if count else {}
    return found
