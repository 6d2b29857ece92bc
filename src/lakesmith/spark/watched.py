"""Whether a call has Spark compute something: what it makes of that, no plan shows."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Final, TypeVar

from pyspark.sql import SparkSession

T = TypeVar("T")

_GROUP: Final = "spark.jobGroup.id"
_PATIENCE_MS: Final = 60_000


def watched(spark: SparkSession, call: Callable[[], T]) -> tuple[T, bool]:
    """What the call gives, and whether it ran jobs: ``collect``, a ``pivot`` without values, a model that is fitted."""
    context: Any = spark.sparkContext
    group, before = f"lakesmith-{uuid.uuid4()}", context.getLocalProperty(_GROUP)
    context.setLocalProperty(_GROUP, group)
    try:
        given = call()
    finally:
        context.setLocalProperty(_GROUP, before)
    # Spark tells of its jobs by a queue.
    context._jsc.sc().listenerBus().waitUntilEmpty(_PATIENCE_MS)
    return given, bool(context.statusTracker().getJobIdsForGroup(group))
