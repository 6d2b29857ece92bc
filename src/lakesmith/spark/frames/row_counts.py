"""Rows counted while they are written, and frames that are computed once and kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Final

from pyspark import SparkContext, SparkStageInfo, StorageLevel
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Observation

from lakesmith.spark.jvm.gateway import capabilities_of

NUMBER_IN_TASK: Final = "(monotonically_increasing_id() & 8589934591L)"
"""How many rows of a task were numbered before. In a branch of an IF it counts the rows of that branch."""

_LISTENERS_MILLISECONDS: Final = 60_000


class RowCounts:
    """Aggregates of rows from the pass that writes or keeps them, by Spark's ``Observation``; exact also
    where tasks ran twice.

    Spark adds up what each task observed. Where an executor is lost with what others were to read of it, its
    tasks run once more, and what they observed is added a second time. Then the aggregates are computed
    again, from rows that are read again.
    """

    def __init__(self) -> None:
        self._seen = Observation()
        self._rows: DataFrame | None = None
        self._aggregates: tuple[SparkColumn, ...] = ()
        self._first_job: int | None = None
        self._found: Mapping[str, Any] | None = None

    def observe(self, rows: DataFrame, *aggregates: SparkColumn) -> DataFrame:
        """``rows``, of which these aggregates, each with a name, are taken when they are read."""
        self._rows, self._aggregates = rows, aggregates
        self._first_job = _jobs() if _may_lose_executors() else None
        return rows.observe(self._seen, *aggregates)

    def values(self) -> Mapping[str, Any]:
        """Returns the counts by name once the write is done; nothing if the optimizer removed the observation
        (see ``excludedRules``)."""
        if self._found is None:
            may_be_double = self._first_job is not None and _may_have_run_twice(self._first_job)
            self._found = self._counted_again() if may_be_double else _observed(self._seen)
        return self._found

    def listed(self, name: str) -> Any:
        """A list that was seen, as Java has it."""
        jvm, _ = _java(self._seen)
        return jvm.scala.jdk.javaapi.CollectionConverters.asJava(self.values()[name])

    def _counted_again(self) -> Mapping[str, Any]:
        assert self._rows is not None
        aggregated: Any = self._rows.agg(*self._aggregates)
        return _by_name(aggregated._jdf.collectAsList().get(0))


def counts_of(seen: RowCounts) -> Mapping[str, int]:
    """The counts among what was seen, by name; null sums and absent counts are 0."""
    # What else was observed than counts stays in the JVM.
    values = seen.values().items()
    return defaultdict(int, {name: it or 0 for name, it in values if it is None or isinstance(it, int)})


def _observed(seen: Observation) -> Mapping[str, Any]:
    jvm, java = _java(seen)
    if capabilities_of(jvm).observed_rows:
        return _by_name(java.getRow())
    # One that was left out never comes, and to ask for it would not end.
    if not java.future().isCompleted():
        _wait_for_listeners()
    return dict(java.getAsJava()) if java.future().isCompleted() else {}


def _by_name(row: Any) -> Mapping[str, Any]:
    # PySpark's own ``get`` fails on a row without columns.
    names = list(row.schema().fieldNames()) if row.length() else []
    return {name: row.get(number) for number, name in enumerate(names)}


def _java(seen: Observation) -> tuple[Any, Any]:
    observation: Any = seen
    return observation._jvm, observation._jo


def _wait_for_listeners() -> None:
    """Waits for Spark's listeners, which report counts and ended tasks after the write returns."""
    _scala().listenerBus().waitUntilEmpty(_LISTENERS_MILLISECONDS)


def _context() -> SparkContext:
    context = SparkContext._active_spark_context
    assert context is not None
    return context


def _scala() -> Any:
    java: Any = _context()._jsc
    return java.sc()


def _may_lose_executors() -> bool:
    """Returns whether executors can be lost: not if tasks run in the driver's JVM."""
    return str(_context().master).partition("[")[0] != "local"


def _jobs() -> int:
    return int(_scala().dagScheduler().numTotalJobs())


def _may_have_run_twice(first_job: int) -> bool:
    _wait_for_listeners()
    tracker = _context().statusTracker()
    jobs = [tracker.getJobInfo(job) for job in range(first_job, _jobs())]
    # Of one that somebody else has just begun Spark does not know yet; those that it has forgotten are older.
    while jobs and jobs[-1] is None:
        jobs.pop()
    stages = {stage for job in jobs if job for stage in job.stageIds}
    return None in jobs or any(_ran_again(tracker.getStageInfo(stage)) for stage in stages)


def _ran_again(stage: SparkStageInfo | None) -> bool:
    return stage is None or stage.currentAttemptId > 0 or stage.numCompletedTasks > stage.numTasks


class Kept(ExitStack):
    """Frames that are computed once, and dropped at the end."""

    def keep(self, frame: DataFrame) -> DataFrame:
        """The frame, kept from when it is first computed."""
        kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
        self.callback(kept.unpersist)
        return kept

    def cut(self, frame: DataFrame) -> DataFrame:
        """Returns the frame, computed now, without its history: plans on top of several kept frames would
        carry all of theirs."""
        cut = frame.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK)
        execution: Any = cut._jdf.queryExecution()
        self.callback(execution.logical().rdd().unpersist, False)
        return cut

    def cut_and_count(self, frame: DataFrame, *counts: SparkColumn) -> tuple[DataFrame, Mapping[str, int]]:
        """As ``cut``, with these aggregates of the frame, by their names, from the same pass."""
        seen = RowCounts()
        return self.cut(seen.observe(frame, *counts)), counts_of(seen)
