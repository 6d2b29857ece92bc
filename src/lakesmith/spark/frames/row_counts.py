"""What was counted while rows went by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from pyspark.sql import Observation


def counts_of(seen: Observation) -> Mapping[str, int]:
    """The counts of an observation by name, once the write it is part of is done; null sums and absent counts are 0.

    Where Spark's optimizer sees that there can be no rows (``WHERE false``, files without rows), it leaves the counting out
    of the plan, and the observation has no columns; PySpark's own ``get`` fails on that. It must not do so once rows were
    counted: see the session's ``spark.sql.adaptive.optimizer.excludedRules``.
    """
    observed: Any = seen._jo
    row = observed.getRow()
    if row.length() == 0:
        return defaultdict(int)
    names = list(row.schema().fieldNames())
    values = {name: row.get(i) for i, name in enumerate(names)}
    # What else was observed than counts stays in the JVM.
    return defaultdict(
        int, {name: it or 0 for name, it in values.items() if it is None or isinstance(it, int)}
    )
