"""What a call has Spark compute meanwhile: what it makes of that, no plan of its result shows."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pyspark.sql import SparkSession

T = TypeVar("T")

_GROUP: Final = "spark.jobGroup.id"
_PATIENCE_MS: Final = 60_000
_READ: Final = re.compile(
    r"\bBatchScan (?P<table>[^\s\[(]+)|\b(?:File)?Scan (?P<files>csv|json|parquet|orc|text|avro|xml|binaryFile|JDBCRelation)\b"
)
"""How Spark's physical plans name what they read."""


@dataclass(frozen=True)
class Acts:
    """Whether a call ran jobs, and what these read: tables by their names in the catalog, files by their format."""

    ran: bool
    read: frozenset[str] = frozenset()


def watched(spark: SparkSession, call: Callable[[], T]) -> tuple[T, Acts]:
    """What the call gives, and what it had Spark do: ``collect``, a ``pivot`` without values, a model that is fitted."""
    context: Any = spark.sparkContext
    group, before = f"lakesmith-{uuid.uuid4()}", context.getLocalProperty(_GROUP)
    context.setLocalProperty(_GROUP, group)
    try:
        given = call()
    finally:
        context.setLocalProperty(_GROUP, before)
    # Spark tells of its jobs by a queue.
    context._jsc.sc().listenerBus().waitUntilEmpty(_PATIENCE_MS)
    jobs = context.statusTracker().getJobIdsForGroup(group)
    return given, Acts(bool(jobs), frozenset(_read_by(spark, jobs)))


def _read_by(spark: SparkSession, jobs: Iterable[int]) -> list[str]:
    """What the queries read that ran these jobs, as far as Spark still knows of them."""
    numbers = list(jobs)
    if not numbers:
        return []
    session: Any = spark._jsparkSession
    queries = session.sharedState().statusStore().executionsList()
    plans = (
        str(query.physicalPlanDescription())
        for query in (queries.apply(number) for number in range(queries.size()))
        if any(query.jobs().contains(job) for job in numbers)
    )
    return [found["table"] or found["files"] for plan in plans for found in _READ.finditer(plan)]
