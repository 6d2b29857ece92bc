"""Side effects of calling a Python table: the Spark jobs it runs, and the settings it changes.

The plan of its result shows neither.
"""

import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, TypeVar

from pyspark.sql import SparkSession

from lakesmith.spark.frames.python_time import utc_in_python

T = TypeVar("T")

_ONE_AT_A_TIME: Final = Lock()
"""All tables share the session's settings: changes by one could not be attributed while another is called."""

_SESSION: Final = "org.apache.spark.sql.classic.SparkSession"
_GROUP: Final = "spark.jobGroup.id"
_DESCRIPTION: Final = "spark.job.description"
_FROM_METADATA: Final = "spark.sql.iceberg.aggregate-push-down.enabled"
"""Counts that Iceberg answers from metadata run no job, and their plans do not name the table."""

_OF_CATALOGS: Final = "spark.sql.catalog."
"""Iceberg sets some of these itself, when a session first reads by it."""

_PATIENCE_MS: Final = 60_000
_READ: Final = re.compile(
    r"\bBatchScan (?P<table>[^\s\[(]+?)(?:@\d+\.\d+)?(?=[\s\[(]|$)"
    r"|\b(?:File)?Scan (?P<files>csv|json|parquet|orc|text|avro|xml|binaryFile|JDBCRelation)\b"
)
"""How Spark's physical plans name what they read. A table at a snapshot has that behind its name."""


@dataclass(frozen=True)
class Acts:
    """The effects of a call: whether it computed something, what that read (tables by their names in the
    catalog, files by their format), and the names of the settings that it changed (they are restored)."""

    computed: bool
    read: frozenset[str] = frozenset()
    settings: tuple[str, ...] = ()


def watched(spark: SparkSession, call: Callable[[], T]) -> tuple[T, Acts]:
    """Returns what the call returns, and its effects: ``collect``, a ``pivot`` without values.

    The session is the active one meanwhile.
    """
    context: Any = spark.sparkContext
    mark = f"lakesmith-{uuid.uuid4()}"
    with _ONE_AT_A_TIME, _marked(context, mark), _without_metadata(spark), utc_in_python(spark):
        getattr(context._jvm, _SESSION).setActiveSession(spark._jsparkSession)
        before = _settings(spark)
        try:
            given = call()
        finally:
            changed = _restore(spark, before)
    # Spark reports its jobs through a queue.
    context._jsc.sc().listenerBus().waitUntilEmpty(_PATIENCE_MS)
    jobs = list(context.statusTracker().getJobIdsForGroup(mark))
    read = frozenset(_read_by(spark, mark, jobs))
    return given, Acts(bool(jobs or read), read, changed)


@contextmanager
def _marked(context: Any, mark: str) -> Iterator[None]:
    """Marks the jobs that this thread starts meanwhile."""
    before = {name: context.getLocalProperty(name) for name in (_GROUP, _DESCRIPTION)}
    try:
        for name in before:
            context.setLocalProperty(name, mark)
        yield
    finally:
        for name, value in before.items():
            context.setLocalProperty(name, value)


@contextmanager
def _without_metadata(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get(_FROM_METADATA, None)
    spark.conf.set(_FROM_METADATA, "false")
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(_FROM_METADATA)
        else:
            spark.conf.set(_FROM_METADATA, before)


def _settings(spark: SparkSession) -> Any:
    """The session's settings, in the JVM."""
    session: Any = spark._jsparkSession
    return session.sessionState().conf().getAllConfs()


def _restore(spark: SparkSession, before: Any) -> tuple[str, ...]:
    """Restores changed settings; returns their names."""
    after = _settings(spark)
    if after.equals(before):
        return ()
    was, now = _pairs(before), _pairs(after)
    names = (name for name in was.keys() | now.keys() if not name.startswith(_OF_CATALOGS))
    changed = sorted(name for name in names if was.get(name) != now.get(name))
    for name in changed:
        if name in was:
            spark.conf.set(name, was[name])
        else:
            spark.conf.unset(name)
    return tuple(changed)


def _pairs(settings: Any) -> dict[str, str]:
    found, pairs = {}, settings.iterator()
    while pairs.hasNext():
        pair = pairs.next()
        found[str(pair._1())] = str(pair._2())
    return found


def _read_by(spark: SparkSession, mark: str, jobs: Iterable[int]) -> list[str]:
    """Yields what the marked queries or these jobs read, as far as Spark still knows."""
    numbers = list(jobs)
    session: Any = spark._jsparkSession
    queries = session.sharedState().statusStore().executionsList()
    plans = (
        str(query.physicalPlanDescription())
        for query in (queries.apply(number) for number in range(queries.size()))
        if str(query.description()) == mark or any(query.jobs().contains(job) for job in numbers)
    )
    return [found["table"] or found["files"] for plan in plans for found in _READ.finditer(plan)]
