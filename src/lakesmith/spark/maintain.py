"""``lakesmith maintain`` of one table: in pieces, each under the project's lock, each a commit that Iceberg makes, each as good an end as any.

What a piece has done stays when the next one fails, is stopped or killed, and whoever comes then goes on from there: nothing is
remembered but the table itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from lakesmith import limits
from lakesmith.catalog.family import family
from lakesmith.catalog.state import TableState
from lakesmith.errors import LakesmithError, Problem, RunError
from lakesmith.execute.engine import RunStopped
from lakesmith.execute.faults import note_jvm, reach
from lakesmith.execute.lake import Lake
from lakesmith.execute.locking import Turns
from lakesmith.execute.maintenance import Maintained, Measured, NotMaintained, Orders, summary_health
from lakesmith.plan.maintenance import Care, Task, specs_to_rewrite
from lakesmith.project.definitions import Maintenance, TableName
from lakesmith.spark.iceberg.commits import JavaTables
from lakesmith.spark.iceberg.procedures import (
    Rewritten,
    manifests_of,
    rewrite_data_files,
    rewrite_manifests,
    rewrite_position_deletes,
)
from lakesmith.spark.jvm.failures import explain_failure
from lakesmith.spark.orphans import find_orphans, remove_files
from lakesmith.spark.start.session import SessionHandle
from lakesmith.spark.upkeep import expire, remove_left_deletes

T = TypeVar("T")

_TRIES: Final = 5
_FIRST_PAUSE_SECONDS: Final = 0.5
_CONFLICTS: Final = ("ValidationException", "CommitFailedException")
"""What a piece fails with when another tool has committed to the same files meanwhile."""


@dataclass(frozen=True)
class Maintainer:
    """Maintains tables in one Spark session. ``say`` is told what it does now, in words."""

    session: SessionHandle
    lake: Lake
    turns: Turns
    orders: Orders
    say: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        note_jvm(self.session.jvm_pid)
        self.turns.jvm_pid = self.session.jvm_pid

    def maintain(self, care: Care) -> Maintained:
        """Does what the table needs. Raises LakesmithError with the root cause, RunStopped once it was told to stop."""
        return self.told(lambda: self._maintain(care))

    def told(self, work: Callable[[], T]) -> T:
        """What ``work`` gives. Raises LakesmithError with the root cause, RunStopped once it was told to stop."""
        self.session.enter()
        try:
            return work()
        except (Py4JError, PySparkException) as error:
            if self.turns.stop.is_set():
                raise RunStopped([]) from error
            raise RunError(
                explain_failure(error, self.session.log_path, self.lake.project.secrets)
            ) from error

    def _maintain(self, care: Care) -> Maintained:
        began = time.monotonic()
        before = self._measured(care.table)
        work = _Work(self, care)
        work.do()
        after = self._measured(care.table)
        seconds = time.monotonic() - began
        removed = bool(work.orphans) and work.removes
        return Maintained(
            care.table, before, after, seconds, work.done, tuple(work.orphans), removed, care.held_back
        )

    def piece(self, table: TableName, action: Callable[[], T]) -> T:
        """A piece of work on a table in its turn; done anew where another tool was quicker."""
        for attempt in range(_TRIES):
            try:
                with self.turns.take():
                    reach("maintain-begin", str(table))
                    return action()
            except (Py4JError, PySparkException) as error:
                if attempt == _TRIES - 1 or not any(kind in str(error) for kind in _CONFLICTS):
                    raise
            time.sleep(_FIRST_PAUSE_SECONDS * 2**attempt)
        raise AssertionError("the last try returns or raises")

    def state(self, name: TableName) -> TableState:
        """The table now."""
        state = self.lake.catalog.table(name.layer, name.name)
        if state is None:
            raise RunError(Problem("LS633", f"{name} was dropped while it was maintained"))
        return state

    def _measured(self, name: TableName) -> Measured:
        health = summary_health(self.state(name))
        manifests = manifests_of(self.session.spark, name)
        return Measured(
            health.data_files,
            health.data_bytes,
            health.delete_files,
            health.deleted_rows,
            len(manifests),
            health.snapshots,
            self._planning_seconds(name),
        )

    def _planning_seconds(self, name: TableName) -> float:
        """The shorter of two: the first may find classes that were never used."""
        return min(self._planned(name) for _ in range(2))

    def _planned(self, name: TableName) -> float:
        table = JavaTables(self.session.spark).load(name)
        jvm = self.session.spark._jvm
        began = time.monotonic()
        planned = table.newScan().planFiles()
        try:
            jvm.com.google.common.collect.Iterables.size(planned)  # type: ignore[union-attr]
        finally:
            planned.close()
        return time.monotonic() - began


def maintain_tables(
    maintainer: Maintainer, cares: Iterable[Care], tell: Callable[[Maintained | NotMaintained], None]
) -> None:
    """Maintains one table after the other, and tells of each; one that fails does not keep the others from theirs. Raises RunStopped."""
    for care in cares:
        done: Maintained | NotMaintained
        try:
            done = maintainer.maintain(care)
        except RunStopped:
            raise
        except LakesmithError as error:
            done = NotMaintained(care.table, error.problems)
        tell(done)


class _Work:
    """One table's tasks, in their order."""

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
        """All of them. Whether manifests are many, and how many snapshots leave, is looked at anew: what came before changes it."""
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
        columns = sorted_by(self._settings, self._name, self._maintainer)
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
        said = [f"{done.files:,} data files were written anew as {done.into:,}"] if done.files else []
        if of_sidecars.files:
            said.append(
                f"{'and ' if said else ''}{of_sidecars.files:,} of its sidecars as {of_sidecars.into:,}"
            )
        if said:
            self.done[Task.COMPACT] = ", ".join(said)

    def _pieces(self, name: TableName, options: dict[str, str], settings: Maintenance) -> Rewritten:
        """Piece by piece, until there is nothing to do. A piece that was cut from a partition may leave files to the next."""
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
            self._piece_of(lambda spec=spec: rewrite_manifests(self._spark, self._name, spec))  # type: ignore[misc]
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
        """Of the table and its sidecars."""
        lake, age, found = self._maintainer.lake, self._settings.orphans_older_than, list[str]()
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
    """What Iceberg is told of the files to be written anew: the same numbers as ``plan/health`` decides by."""
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
    """As many as there are in a piece's bytes."""
    mean = care.small.size / care.small.files if care.small.files else care.health.mean_bytes
    return max(
        2 * limits.SMALL_FILES_WORTH, min(limits.PIECE_FILES, int(limits.PIECE_BYTES / max(mean, 1.0)))
    )


def sorted_by(settings: Maintenance, name: TableName, maintainer: Maintainer) -> tuple[str, ...]:
    """The columns to sort by, as the table calls them. Raises RunError LS630 where one is none of the table's."""
    there = {column.name.lower(): column.name for column in maintainer.state(name).columns}
    missing = [column for column in settings.columns if column.lower() not in there]
    if missing:
        place = maintainer.lake.project.table(name).place
        what = f"{name} cannot be sorted by {', '.join(missing)}"
        expected = f"maintain.columns among {', '.join(there.values())}"
        raise RunError(Problem("LS630", what, place, expected, ", ".join(settings.columns)))
    return tuple(there[column.lower()] for column in settings.columns)
