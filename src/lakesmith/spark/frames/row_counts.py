"""What was counted while rows went by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from pyspark import SparkContext
from pyspark.sql import Observation

from lakesmith.spark.jvm.capabilities import capabilities_of

_LISTENERS_MILLISECONDS: Final = 60_000


def counts_of(seen: Observation) -> Mapping[str, int]:
    """The counts of an observation by name, once the write it is part of is done; null sums and absent counts are 0.

    Where Spark's optimizer sees that there can be no rows (``WHERE false``, files without rows), it leaves the counting out
    of the plan, and nothing was observed. It must not do so once rows were counted: see the session's
    ``spark.sql.adaptive.optimizer.excludedRules``.
    """
    # What else was observed than counts stays in the JVM.
    values = observed(seen).items()
    return defaultdict(int, {name: it or 0 for name, it in values if it is None or isinstance(it, int)})


def observed(seen: Observation) -> Mapping[str, Any]:
    """All that an observation saw, by name; lists are Scala's. Nothing where Spark left it out of the plan."""
    jvm, java = _java(seen)
    if capabilities_of(jvm).observed_rows:
        row = java.getRow()
        # PySpark's own ``get`` fails on a row without columns.
        names = list(row.schema().fieldNames()) if row.length() else []
        return {name: row.get(number) for number, name in enumerate(names)}
    _wait_for_listeners(java)
    # One that was left out never comes, and to ask for it would not end.
    return dict(java.getAsJava()) if java.future().isCompleted() else {}


def _java(seen: Observation) -> tuple[Any, Any]:
    observation: Any = seen
    return observation._jvm, observation._jo


def _wait_for_listeners(java: Any) -> None:
    """What was observed comes by a listener, which the end of the write was told before that returned."""
    context: Any = SparkContext._active_spark_context
    if not java.future().isCompleted():
        context._jsc.sc().listenerBus().waitUntilEmpty(_LISTENERS_MILLISECONDS)
