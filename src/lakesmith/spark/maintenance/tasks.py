"""The tasks of maintenance: compaction, deletes, manifests, expiry of snapshots, orphaned files. Iceberg does
each.

Readers see the same rows before and after. ``maintain`` does all that a table needs; a table that got many
batches gets a slice between two of them: its small files are compacted, and old snapshots expire.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from pyspark.sql import SparkSession

from lakesmith import limits
from lakesmith.catalog.family import family
from lakesmith.catalog.state import MAIN
from lakesmith.errors import LakesmithError
from lakesmith.execute.engine import RunStopped
from lakesmith.execute.faults import reach
from lakesmith.execute.lake import Lake
from lakesmith.execute.maintenance import Maintained, NotMaintained, Slice, summary_health
from lakesmith.plan.expiry import (
    fresh_files_below,
    needed_by_others,
    old_of_sidecar,
    old_snapshots,
    pinned_by,
)
from lakesmith.plan.maintenance import Care, Task, specs_to_rewrite
from lakesmith.project.definitions import Maintenance, TableName
from lakesmith.spark.iceberg.commits import JavaTables, physical
from lakesmith.spark.iceberg.deletes import remove_left_behind
from lakesmith.spark.iceberg.procedures import (
    Rewritten,
    manifests_of,
    rewrite_data_files,
    rewrite_manifests,
    rewrite_position_deletes,
)
from lakesmith.spark.maintenance.maintainer import Maintainer
from lakesmith.spark.maintenance.orphans import find_orphans, remove_files

T = TypeVar("T")


def maintain_tables(
    maintainer: Maintainer, cares: Iterable[Care], tell: Callable[[Maintained | NotMaintained], None]
) -> None:
    """Maintains the tables in turn and reports each; failures do not stop the others. Raises RunStopped."""
    for care in cares:
        done: Maintained | NotMaintained
        try:
            done = maintain(maintainer, care)
        except RunStopped:
            raise
        except LakesmithError as error:
            done = NotMaintained(care.table, error.problems)
        tell(done)


def maintain(maintainer: Maintainer, care: Care) -> Maintained:
    """Does what the table needs. Raises LakesmithError with the root cause, RunStopped."""
    return maintainer.explained(lambda: _maintain(maintainer, care))


def _maintain(maintainer: Maintainer, care: Care) -> Maintained:
    began = time.monotonic()
    before = maintainer.measured(care.table)
    work = _Work(maintainer, care)
    work.do()
    after = maintainer.measured(care.table)
    seconds = time.monotonic() - began
    removed = bool(work.orphans) and work.removes
    return Maintained(
        care.table, before, after, seconds, work.done, tuple(work.orphans), removed, care.held_back
    )


def maintain_slice(maintainer: Maintainer, name: TableName) -> Slice:
    """Does one slice for a table, under the caller's turn. Raises as ``maintain``."""
    return maintainer.explained(lambda: _slice(maintainer.session.spark, maintainer.lake, name))


def _slice(spark: SparkSession, lake: Lake, name: TableName) -> Slice:
    done = _compact_fresh(spark, lake, name)
    return Slice(done.files, done.into, expire(spark, lake, name))


def _compact_fresh(spark: SparkSession, lake: Lake, name: TableName) -> Rewritten:
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


class _Work:
    def __init__(self, maintainer: Maintainer, care: Care) -> None:
        self._maintainer = maintainer
        self._care = care
        self._name = care.table
        self._spark = maintainer.session.spark
        self._settings = maintainer.lake.project.table(care.table).maintenance
        self.done: dict[Task, str] = {}
        self.orphans: list[str] = []
        self.removes = maintainer.orders.removes(self._settings)

    def do(self) -> None:
        """Does all tasks. Manifests and snapshots are counted again after the files are rewritten."""
        todo = self._care.todo
        rewrites = Task.COMPACT in todo or Task.DELETES in todo
        if rewrites:
            self._rewrite()
        if rewrites or Task.MANIFESTS in todo:
            self._manifests()
        if rewrites or Task.EXPIRE in todo:
            self._expire()
        if Task.ORPHANS in todo:
            self._orphans()

    def _rewrite(self) -> None:
        columns = self._maintainer.sort_columns(self._settings, self._name)
        settings = replace(self._settings, columns=columns)
        if Task.DELETES in self._care.todo:
            self._say("putting deletes together")
            self._piece_of(lambda: rewrite_position_deletes(self._spark, self._name))
            reach("maintain-deletes", str(self._name))
        done = self._pieces(self._name, rewrite_options(self._care, settings), settings)
        options = rewrite_options(self._care, Maintenance())
        besides = [self._pieces(sidecar, options, Maintenance()) for sidecar in self._care.sidecars]
        self._note_files(
            done, Rewritten(sum(each.files for each in besides), sum(each.into for each in besides))
        )

    def _note_files(self, done: Rewritten, of_sidecars: Rewritten) -> None:
        said = [f"{done.files:,} data files were rewritten as {done.into:,}"] if done.files else []
        if of_sidecars.files:
            said.append(
                f"{'and ' if said else ''}{of_sidecars.files:,} of its sidecars as {of_sidecars.into:,}"
            )
        if said:
            self.done[Task.COMPACT] = ", ".join(said)

    def _pieces(self, name: TableName, options: dict[str, str], settings: Maintenance) -> Rewritten:
        """Compacts piece by piece until nothing is left; a piece may leave files to the next."""
        there = summary_health(self._maintainer.state(name)).data_files
        files = into = 0
        while files <= there:
            self._say(f"putting files of {name} together" + (f", {files:,} done" if files else ""))
            done = self._piece_of(lambda: self._piece(name, options, settings))
            reach("maintain-piece", str(self._name))
            if not done.files:
                break
            files, into = files + done.files, into + done.into
        return Rewritten(files, into)

    def _piece(self, name: TableName, options: dict[str, str], settings: Maintenance) -> Rewritten:
        done = rewrite_data_files(self._spark, name, options, settings.strategy, settings.columns)
        if done.files:
            remove_left_deletes(self._spark, self._maintainer.lake, name)
        return done

    def _manifests(self) -> None:
        before = manifests_of(self._spark, self._name)
        for spec in specs_to_rewrite(before):
            self._say("putting manifests together")
            self._piece_of(partial(rewrite_manifests, self._spark, self._name, spec))
            reach("maintain-manifests", str(self._name))
        after = len(manifests_of(self._spark, self._name))
        if after < len(before):
            self.done[Task.MANIFESTS] = f"{len(before):,} manifests became {after:,}"

    def _expire(self) -> None:
        self._say("letting old snapshots go")
        lake = self._maintainer.lake
        gone = self._piece_of(lambda: expire(self._spark, lake, self._name))
        reach("maintain-expiry", str(self._name))
        if gone:
            self.done[Task.EXPIRE] = f"{gone:,} snapshots left"

    def _orphans(self) -> None:
        self._say("looking for files that no snapshot has")
        self.orphans = self._piece_of(self._find_and_remove)
        if self.orphans:
            what = "were removed" if self.removes else "were found"
            self.done[Task.ORPHANS] = f"{len(self.orphans):,} files that no snapshot has {what}"

    def _find_and_remove(self) -> list[str]:
        lake, age, found = self._maintainer.lake, self._settings.orphans.older_than, list[str]()
        for each in family(self._name):
            here = find_orphans(self._spark, lake, each, age)
            if self.removes and here:
                remove_files(self._spark, each, here)
                reach("maintain-orphans", str(self._name))
            found += here
        return found

    def _piece_of(self, action: Callable[[], T]) -> T:
        return self._maintainer.piece(self._name, action)

    def _say(self, what: str) -> None:
        self._maintainer.say(f"{self._name}: {what}")


def rewrite_options(care: Care, settings: Maintenance) -> dict[str, str]:
    """Returns Iceberg's options for rewriting files, by the limits of ``plan/maintenance``."""
    target = settings.target_file_size
    options = {
        "target-file-size-bytes": str(target),
        "min-file-size-bytes": str(int(target * limits.SMALL_FILE_PART)),
        "max-file-size-bytes": str(int(target * limits.LARGE_FILE_PART)),
        "min-input-files": str(limits.SMALL_FILES_WORTH),
        "max-file-group-size-bytes": str(max(limits.PIECE_BYTES, 2 * target)),
        "max-files-to-rewrite": str(_files_a_piece(care)),
        "delete-ratio-threshold": str(limits.DELETED_PART_WORTH),
    }
    if care.health.equality_deletes:
        options["delete-file-threshold"] = "1"
    return options


def _files_a_piece(care: Care) -> int:
    mean = care.small.size / care.small.files if care.small.files else care.health.mean_bytes
    return max(
        2 * limits.SMALL_FILES_WORTH, min(limits.PIECE_FILES, int(limits.PIECE_BYTES / max(mean, 1.0)))
    )


def remove_left_deletes(spark: SparkSession, lake: Lake, name: TableName) -> None:
    """Of version 2 Iceberg leaves files of deleted positions behind whose data files it has rewritten."""
    state = lake.catalog.table(name.layer, name.name)
    if state is not None and state.head is not None and state.may_leave_deletes:
        remove_left_behind(spark, JavaTables(spark).load(name), state.head.snapshot_id, MAIN)


def expire(spark: SparkSession, lake: Lake, name: TableName) -> int:
    """Expires what nobody needs of the table, and then of each sidecar what no record pins that is left."""
    tables, states = {table.name: table for table in lake.project.tables}, lake.own_states()
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
