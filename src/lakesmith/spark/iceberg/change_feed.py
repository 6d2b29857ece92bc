"""The change feed: the rows that went and the rows that came between two snapshots of a table.

Read from the data files whose rows differ between the two, whatever lies between them: appends, merges,
updates, deletes, overwrites, compactions, rollbacks, commits of other engines, snapshots that have expired.
Rows are in the columns that the table has now, so a column that was added or renamed alone makes no change.

- A data file that only the later snapshot has: its rows came. One that only the earlier has: its rows went.
- A data file of both with other deletes: just the rows that one of the two hides. They are read by a deletion
  vector of their own that hides all the others, so a file of millions of rows gives a few without a join.
  Where there are deletes by equality, which no such vector tells, all its rows at both ends.
- Rows that went and came are the same row unchanged, moved by a compaction say, and cancel: on format version
  3 by row id and the sequence number of the last update; else by their values, as many times as they are
  there. Where values cannot be compared, the change is unknown.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyroaring import BitMap64
from pyspark.sql import DataFrame, SparkSession

from lakesmith.execute.engine import NotIncremental
from lakesmith.project.definitions import TableName
from lakesmith.quoting import quoted
from lakesmith.spark.frames.comparable import (
    THERE,
    WANTED,
    both_counts,
    has_equality,
    less,
    more,
    repeated,
    side,
)
from lakesmith.spark.frames.rounding import grouped_exactly
from lakesmith.spark.iceberg.commits import JavaTables
from lakesmith.spark.iceberg.deletes import Vectors
from lakesmith.spark.iceberg.others import place_of
from lakesmith.spark.iceberg.snapshot_files import (
    Bound,
    Differing,
    SnapshotFiles,
    compare,
    have_ids,
    too_dear,
)
from lakesmith.spark.iceberg.uncommitted_files import LAST_UPDATED, ROW_ID, Staging
from lakesmith.spark.jvm.gateway import elements


@dataclass(frozen=True)
class Changes:
    """The rows that ``went`` and ``came``. From v3 with ``ROW_ID`` and ``LAST_UPDATED``: equal ids are one
    row before and after."""

    went: DataFrame
    came: DataFrame
    by_id: bool


@dataclass
class _DifferingTasks:
    """Scan tasks of removed rows, of added rows, and of files that are read in part."""

    went: list[Any] = field(default_factory=list)
    came: list[Any] = field(default_factory=list)
    masked: dict[str, tuple[Any, Any]] = field(default_factory=dict)


@contextmanager
def changed_rows(
    spark: SparkSession, name: TableName, start: int | None, end: int | None, bound: Bound | None = None
) -> Iterator[Changes]:
    """Yields the changes from ``start`` (None: no rows) to ``end``, while the context lasts. Costs their
    metadata and the files touched. Raises NotIncremental for incomparable rows without ids, and if reading is
    ``too_dear``."""
    table = JavaTables(spark).load(name)
    then, now = (SnapshotFiles(table, snapshot, spark._jvm) for snapshot in (start, end))
    if then.has_doubles or now.has_doubles:
        raise NotIncremental(f"{name} names one of its data files twice, so it is refreshed in full")
    differing = compare(then.files, now.files)
    if bound is not None and (said := too_dear(differing, then.files, now.files, bound)):
        raise NotIncremental(f"the changes of {name} are in {said}, so it is refreshed in full")
    if differing.masked and place_of(spark, name) is not None:
        # To read just the rows that differ takes a file beside the table's, which is another's.
        raise NotIncremental(f"rows of {name}, a table of others, were deleted, so it is refreshed in full")
    touched = _touched(then, now, differing)
    with ExitStack() as stack:
        reader = _Reader(spark, table, stack)
        reader.unmask(touched)
        went, came = reader.read(touched.went), reader.read(touched.came)
        by_id = ROW_ID in went.columns and have_ids(differing, then.files, now.files)
        if by_id:
            went, came = _cancel_by_id(went, came)
        elif touched.went and touched.came:
            require_comparable(name, went)
            went, came = without_equal(went, came)
        yield Changes(went, came, by_id)


def _touched(then: SnapshotFiles, now: SnapshotFiles, differing: Differing) -> _DifferingTasks:
    return _DifferingTasks(
        went=[then.task(file) for file in (*differing.went, *differing.rewritten)],
        came=[now.task(file) for file in (*differing.came, *differing.rewritten)],
        masked={file: (then.task(file), now.task(file)) for file in differing.masked},
    )


class _Reader:
    """Reads the files that were touched; ``stack`` removes what it creates."""

    def __init__(self, spark: SparkSession, table: Any, stack: ExitStack) -> None:
        self._spark, self._table, self._stack = spark, table, stack
        jvm: Any = spark._jvm
        self._staging, self._vectors = Staging(spark), Vectors(spark, table)
        self._iceberg = iceberg = jvm.org.apache.iceberg
        self._tasks, self._schema = iceberg.BaseFileScanTask, iceberg.SchemaParser.toJson(table.schema())
        always = iceberg.expressions.Expressions.alwaysTrue()
        self._all_rows = iceberg.expressions.ResidualEvaluator.unpartitioned(always)

    def unmask(self, touched: _DifferingTasks) -> None:
        """Adds tasks that read, of files whose deletes differ, only the rows that differ."""
        went: dict[str, BitMap64] = {}
        came: dict[str, BitMap64] = {}
        for file, (then, now) in touched.masked.items():
            before, after = (self._vectors.deleted(file, elements(task.deletes())) for task in (then, now))
            went[file], came[file] = after - before, before - after
        tasks = {file: then for file, (then, _) in touched.masked.items()}
        touched.went += self._only(tasks, went)
        touched.came += self._only(tasks, came)

    def _only(self, tasks: dict[str, Any], shown: dict[str, BitMap64]) -> list[Any]:
        """Returns scan tasks that show only these positions of the files."""
        hidden = {file: _others(tasks[file], positions) for file, positions in shown.items() if positions}
        if not hidden:
            return []
        some = {file: positions for file, positions in hidden.items() if positions}
        written = self._vectors.write(tasks, some, operation=str(uuid.uuid4()), replaces=True).new
        self._stack.callback(self._remove, {str(vector.location()) for vector in written})
        vectors = {str(vector.referencedDataFile()): [vector] for vector in written}
        return [self._task(tasks[file], vectors.get(file, [])) for file in hidden]

    def _task(self, task: Any, vectors: Sequence[Any]) -> Any:
        iceberg = self._iceberg
        gateway: Any = self._spark.sparkContext._gateway
        deletes = gateway.new_array(iceberg.DeleteFile, len(vectors))
        for place, vector in enumerate(vectors):
            deletes[place] = vector
        spec = iceberg.PartitionSpecParser.toJson(task.spec())
        return self._tasks(task.file(), deletes, self._schema, spec, self._all_rows)

    def _remove(self, files: set[str]) -> None:
        for file in files:
            self._table.io().deleteFile(file)

    def read(self, tasks: Sequence[Any]) -> DataFrame:
        """All rows that the tasks give, as long as the stack is open."""
        return self._stack.enter_context(self._staging.read(self._table, tasks))


def _others(task: Any, positions: BitMap64) -> BitMap64:
    """All positions of the data file but these."""
    everything = BitMap64()
    everything.add_range(0, int(task.file().recordCount()))
    return everything - positions


def require_comparable(name: TableName, rows: DataFrame) -> None:
    """Raises NotIncremental for rows that only their ids distinguish."""
    for column in rows.schema.fields:
        if not has_equality(column.dataType):
            raise NotIncremental(
                f"rows of {name} have no ids to tell them apart, and values of its column "
                f"{column.name} cannot be compared"
            )


def _cancel_by_id(went: DataFrame, came: DataFrame) -> tuple[DataFrame, DataFrame]:
    same = [ROW_ID, LAST_UPDATED]
    return (
        went.join(came.select(*same), same, "left_anti").select(*map(quoted, went.columns)),
        came.join(went.select(*same), same, "left_anti").select(*map(quoted, came.columns)),
    )


def without_equal(went: DataFrame, came: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Equal rows cancel one for one, by their values alone. Where a value is null in both, it is equal."""
    columns = [name for name in went.columns if name not in (ROW_ID, LAST_UPDATED)]
    both = side(came.select(*map(quoted, columns)), WANTED).union(
        side(went.select(*map(quoted, columns)), THERE)
    )
    counted = grouped_exactly(both, columns, *both_counts())
    gone, new = repeated(counted, less()), repeated(counted, more())
    return gone.select(*map(quoted, columns)), new.select(*map(quoted, columns))
