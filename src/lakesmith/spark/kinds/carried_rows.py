"""Bad rows collected by the pass that writes the good ones, so that files are not read twice for a few of
them.

The observation that counts the rows collects the bad ones too, as the quarantine keeps them. Each task
collects a limited number of rows, of a limited number of bytes, so that the driver's memory is bounded. If
there are more bad rows, or longer ones, the files that have some are read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakesmith import limits
from lakesmith.quoting import own
from lakesmith.sources.model import FileIdentity
from lakesmith.spark.batch.quarantine import REASONS, ROW, ROW_TYPES, as_json
from lakesmith.spark.frames.exact_json import types_of
from lakesmith.spark.frames.row_counts import NUMBER_IN_TASK, RowCounts
from lakesmith.spark.read.request import PROVENANCE, RAW

_CARRIED, _FILES, _NUMBER = map(own, ("carried_row", "files", "bad_number"))


def with_carried(rows: DataFrame, columns: Sequence[str], files: Sequence[FileIdentity]) -> DataFrame:
    """Returns ``rows`` with a column of what quarantine keeps; null for good rows and excess ones."""
    # The number is computed for bad rows only, so it counts them: Spark evaluates an IF's branch where it is
    # needed.
    numbered = rows.selectExpr("*", f"IF(size({REASONS}) > 0, {NUMBER_IN_TASK}, NULL) AS {_NUMBER}")
    most = _most_bytes(rows.sparkSession) // _row_bytes(columns) // _tasks(rows.sparkSession, files)
    whole = f"IF({RAW} IS NULL, {as_json(rows, columns)}, NULL) AS {ROW}"
    kept = ", ".join((REASONS, *PROVENANCE, RAW, whole))
    carried = numbered.selectExpr("*", f"IF({_NUMBER} < {most}, struct({kept}), NULL) AS {_CARRIED}")
    return carried.drop(_NUMBER)


def carried_rows(columns: Sequence[str]) -> list[SparkColumn]:
    """Returns aggregates for the observation: the collected rows, and the files that have bad ones."""
    size = f"octet_length(CAST({_CARRIED} AS STRING))"
    rows = f"collect_list(IF({size} <= {_row_bytes(columns)}, {_CARRIED}, NULL)) AS {_CARRIED}"
    return [F.expr(rows), F.expr(f"collect_set(IF(size({REASONS}) > 0, _source_file, NULL)) AS {_FILES}")]


def carried_of(seen: RowCounts, rows: DataFrame, columns: Sequence[str], bad: int) -> DataFrame | None:
    """Returns the collected bad rows, with ``ROW`` for ``columns``; None if some are missing."""
    spark = rows.sparkSession
    carried = seen.listed(_CARRIED)
    if carried.size() != bad:
        return None
    kind = carried.get(0).schema()
    frame = DataFrame(spark._jsparkSession.createDataFrame(carried, kind), spark)
    return frame.withColumn(ROW_TYPES, F.lit(types_of(rows.schema, columns)))


def files_with_bad_rows(seen: RowCounts) -> frozenset[str]:
    return frozenset(seen.listed(_FILES))


def _most_bytes(spark: SparkSession) -> int:
    jvm: Any = spark._jvm
    heap = int(jvm.java.lang.Runtime.getRuntime().maxMemory())
    return min(
        limits.BAD_ROWS_CARRIED_BYTES,
        max(limits.BAD_ROWS_CARRIED_SURELY_BYTES, heap // limits.BAD_ROWS_CARRIED_OF_HEAP_ONE_IN),
    )


def _row_bytes(columns: Sequence[str]) -> int:
    """The greatest length of a collected row, in bytes."""
    return 1024 + 64 * len(columns)


def _tasks(spark: SparkSession, files: Sequence[FileIdentity]) -> int:
    """The greatest number of tasks that read the files."""
    blocks = sum(
        -(-file.size // limits.READ_BLOCK_BYTES) for file in files if file.size >= limits.LARGE_FILE_BYTES
    )
    return int(spark.sparkContext.defaultParallelism) + 1 + blocks
