"""A slice of upkeep for a table that got many batches: small files are put together, old snapshots leave. Iceberg does both.

Readers see the same rows before and after. It is done between batches, under the project's lock.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakesmith import limits
from lakesmith.catalog.family import family
from lakesmith.catalog.state import MAIN
from lakesmith.errors import RunError
from lakesmith.execute.lake import Lake
from lakesmith.execute.maintenance import known_states
from lakesmith.plan.expiry import (
    fresh_files_below,
    needed_by_others,
    old_of_sidecar,
    old_snapshots,
    pinned_by,
)
from lakesmith.project.definitions import TableName
from lakesmith.spark.iceberg.commits import JavaTables, physical
from lakesmith.spark.iceberg.deletes import remove_left_behind
from lakesmith.spark.iceberg.procedures import Rewritten, rewrite_data_files
from lakesmith.spark.jvm.failures import explain_failure
from lakesmith.spark.start.session import SessionHandle


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What was done for a table and its sidecars: ``files`` were put together into ``into``, ``snapshots`` left."""

    files: int = 0
    into: int = 0
    snapshots: int = 0


def keep_up(session: SessionHandle, lake: Lake, name: TableName) -> Upkeep:
    """Does one slice for table ``name``. Raises RunError with the root cause; whatever was done until then stays, and is right."""
    try:
        done = _put_together(session.spark, lake, name)
        return Upkeep(done.files, done.into, expire(session.spark, lake, name))
    except (Py4JError, PySparkException) as error:
        raise RunError(explain_failure(error, session.log_path, lake.project.secrets)) from error


def _put_together(spark: SparkSession, lake: Lake, name: TableName) -> Rewritten:
    state = lake.catalog.table(name.layer, name.name)
    if state is None or state.head is None:
        return Rewritten()
    files = spark.sql(f"SELECT file_size_in_bytes AS size FROM {physical(name)}.data_files").collect()
    below = fresh_files_below([int(file["size"]) for file in files])
    if below is None:
        return Rewritten()
    done = rewrite_data_files(spark, name, {"min-input-files": "2", "min-file-size-bytes": str(below)})
    remove_left_deletes(spark, lake, name)
    return done


def remove_left_deletes(spark: SparkSession, lake: Lake, name: TableName) -> None:
    """Of version 2 Iceberg leaves files of deleted positions behind whose data files it has rewritten."""
    state = lake.catalog.table(name.layer, name.name)
    if state is not None and state.head is not None and state.may_leave_deletes:
        remove_left_behind(spark, JavaTables(spark).load(name), state.head.snapshot_id, MAIN)


def expire(spark: SparkSession, lake: Lake, name: TableName) -> int:
    """Expires what nobody needs of the table, and then of each sidecar what no record pins that is left."""
    tables, states = {table.name: table for table in lake.project.tables}, known_states(lake)
    if name not in states:
        return 0
    needed = needed_by_others(tables.values(), states)[name]
    gone = old_snapshots(states[name], needed, time.time_ns() // 1_000_000, tables[name].maintenance)
    java = JavaTables(spark)
    _expire_in_pieces(java, name, gone)
    return len(gone) + _expire_sidecars(java, lake, name)


def _expire_sidecars(java: JavaTables, lake: Lake, name: TableName) -> int:
    state = lake.catalog.table(name.layer, name.name)
    records = [record for each in state.snapshots.values() if (record := each.record)] if state else []
    found = 0
    for sidecar in family(name)[1:]:
        there = lake.catalog.table(sidecar.layer, sidecar.name)
        if there is not None and records:
            gone = old_of_sidecar(there, pinned_by(records, there))
            _expire_in_pieces(java, sidecar, gone)
            found += len(gone)
    return found


def _expire_in_pieces(java: JavaTables, name: TableName, gone: Sequence[int]) -> None:
    for begin in range(0, len(gone), limits.PIECE_SNAPSHOTS):
        java.expire(name, gone[begin : begin + limits.PIECE_SNAPSHOTS])
