"""What is counted while rows go by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyspark import SparkContext
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Observation

from lakesmith.spark.jvm.capabilities import capabilities_of

_LISTENERS_MILLISECONDS: Final = 60_000


class RowCounts:
    """Aggregates of rows from the pass that writes or keeps them, by Spark's ``Observation``; exact also where tasks ran twice.

    Spark adds up what each task observed. Where an executor is lost with what others were to read of it, its tasks run once more, and what
    they observed is added a second time. Then the aggregates are computed anew, from rows that are read again.
    """

    def __init__(self) -> None:
        self._seen = Observation()
        self._rows: DataFrame | None = None
        self._aggregates: tuple[SparkColumn, ...] = ()
        self._first_job = 0
        self._found: Mapping[str, Any] | None = None

    def observe(self, rows: DataFrame, *aggregates: SparkColumn) -> DataFrame:
        """``rows``, of which these aggregates, each with a name, are taken when they are read."""
        self._rows, self._aggregates, self._first_job = rows, aggregates, _jobs()
        return rows.observe(self._seen, *aggregates)

    def values(self) -> Mapping[str, Any]:
        """All that was seen, by name, once the write it is part of is done; lists are Scala's.

        Nothing where Spark left it out of the plan: where its optimizer sees that there can be no rows. It must not do so once rows were
        counted: see the session's ``spark.sql.adaptive.optimizer.excludedRules``.
        """
        if self._found is None:
            anew = self._rows is not None and _may_have_run_twice(self._first_job)
            self._found = self._anew() if anew else _observed(self._seen)
        return self._found

    def listed(self, name: str) -> Any:
        """A list that was seen, as Java has it."""
        jvm, _ = _java(self._seen)
        return jvm.scala.jdk.javaapi.CollectionConverters.asJava(self.values()[name])

    def _anew(self) -> Mapping[str, Any]:
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
    """What was observed, and which tasks ended, comes by listeners, which the end of the write was told before that returned."""
    _scala().listenerBus().waitUntilEmpty(_LISTENERS_MILLISECONDS)


def _scala() -> Any:
    context: Any = SparkContext._active_spark_context
    return context._jsc.sc()


def _jobs() -> int:
    """How many jobs there were so far: the number of the next one."""
    return int(_scala().dagScheduler().numTotalJobs())


def _may_have_run_twice(first_job: int) -> bool:
    """Whether any task of the jobs from this one on was done more than once, or nobody knows."""
    if _scala().isLocal():
        return False
    _wait_for_listeners()
    return any(_ran_again(stage) for stage in _stages(range(first_job, _jobs())))


def _stages(jobs: range) -> Iterator[int]:
    context = SparkContext._active_spark_context
    assert context is not None
    tracker = context.statusTracker()
    known = (tracker.getJobInfo(job) for job in jobs)
    yield from {stage for job in known if job for stage in job.stageIds}


def _ran_again(stage: int) -> bool:
    """Spark forgets what is long ago: then it may have."""
    context = SparkContext._active_spark_context
    assert context is not None
    known = context.statusTracker().getStageInfo(stage)
    return known is None or known.currentAttemptId > 0 or known.numCompletedTasks > known.numTasks
