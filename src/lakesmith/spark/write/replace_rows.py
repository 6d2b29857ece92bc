"""Replaces rows by their places, with one scan to find them.

A MERGE has to find the rows again that an earlier scan has found, because Spark does not say which keys it
matched. Here the earlier scan gives each row's place (data file and position in it). Spark writes the new
rows without committing them; the driver writes deletion vectors for the old rows' places, a few kilobytes a
file (position-delete files in format version 2); and one commit on the working branch makes both visible.
"""

from collections.abc import Iterable
from typing import Any, Final

from pyroaring import BitMap64
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith import limits
from lakesmith.catalog.state import TableState
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.iceberg.deletes import WITH_ROW_IDS, write_deletes
from lakesmith.spark.iceberg.snapshot_files import SnapshotFiles
from lakesmith.spark.iceberg.uncommitted_files import ROW_ID, Staging

PLACE_TYPE: Final = "struct<file: string, pos: bigint, id: bigint>"
"""A data file, a row's position in it, and the row's id: null if rows have none."""


def can_replace(state: TableState, snapshot: int | None, rows: int) -> bool:
    """Whether up to ``rows`` rows of the snapshot are better replaced by their places than by a MERGE."""
    if snapshot is None:
        return False
    files = state.snapshots[snapshot].count("total-data-files")
    return rows <= limits.ROWS_REPLACED_BY_PLACE_UP_TO and files <= limits.DATA_FILES_REPLACED_IN_UP_TO


def place(batch: Batch) -> str:
    """Returns SQL of a row's place and id, ``PLACE_TYPE``, in a frame that reads the batch's table."""
    row_id = ROW_ID if batch.state().format_version >= WITH_ROW_IDS else "CAST(NULL AS bigint)"
    return f"struct(_file AS file, _pos AS pos, {row_id} AS id)"


def nowhere() -> SparkColumn:
    """The ``place`` of a row that is not there."""
    return F.lit(None).cast(PLACE_TYPE)


def by_file(places: Iterable[tuple[str, int]]) -> dict[str, BitMap64]:
    """Pairs (file, position) put together by file."""
    found: dict[str, list[int]] = {}
    for file, position in places:
        found.setdefault(file, []).append(position)
    return {file: BitMap64(positions) for file, positions in found.items()}


def replace_rows(batch: Batch, gone: dict[str, BitMap64], rows: DataFrame, count: int) -> None:
    """Commits a snapshot to the working branch without the rows at ``gone``, with ``rows``.

    ``gone``: positions by data file, of the snapshot the batch began with. ``rows``: as ``Staging.write``
    takes it.
    """
    table, base = batch.java.load(batch.name), batch.step.base.snapshot
    few = rows.coalesce(1 + count // limits.ROWS_IN_A_NEW_FILE)
    files = Staging(batch.spark).write(table, few) if count else []
    batch.pass_point("after-merge")
    if not gone:
        # As a delta it would be an overwrite up to Iceberg 1.10: readers could not see that rows were only
        # added.
        append = table.newAppend().toBranch(batch.branch)
        for file in files:
            append.appendFile(file)
        append.commit()
        return
    delta = table.newRowDelta().toBranch(batch.branch)
    for file in files:
        delta.addRows(file)
    _take_away(batch, table, delta, gone)
    delta.validateDataFilesExist(list(gone)).validateFromSnapshot(base).commit()


def _take_away(batch: Batch, table: Any, delta: Any, gone: dict[str, BitMap64]) -> None:
    """Adds to the ``delta`` the deletes of the rows at the places."""
    tasks = SnapshotFiles(table, batch.step.base.snapshot, batch.spark._jvm).tasks(gone)
    written = write_deletes(batch.spark, table, tasks, gone, operation=batch.attempt)
    for delete in written.new:
        delta.addDeletes(delete)
    for delete in written.old:
        delta.removeDeletes(delete)
