"""Iceberg files read and written one by one: what its own compaction uses, kept from being committed.

Reading takes scan tasks as they are, so that any selection of data files and deletes can be read as rows;
writing leaves data files that are described and belong to no snapshot yet. On tables of format version 3 both
know the rows' ids.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakesmith.spark.iceberg.deletes import WITH_ROW_IDS, version_of
from lakesmith.spark.jvm.gateway import elements, java_class

ROW_ID: Final = "_row_id"
"""A row's identity, which updates and compactions keep (Iceberg's row lineage)."""

LAST_UPDATED: Final = "_last_updated_sequence_number"
"""The sequence number of the snapshot that wrote the row's values."""

_TO_READ: Final = "scan-task-set-id"
_TO_WRITE: Final = "rewritten-file-scan-task-set-id"
"""From Iceberg 1.11 the name of the table says it; before, a write without this is a commit."""


class Staging:
    """Iceberg's registries of rewritten tables, scan tasks and written files in the JVM."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        self._spark = spark
        self._lists = jvm.java.util.ArrayList
        self._tables = _table_cache(jvm)
        self._tasks = jvm.org.apache.iceberg.spark.ScanTaskSetManager.get()
        self._written = jvm.org.apache.iceberg.spark.FileRewriteCoordinator.get()

    def write(self, table: Any, rows: DataFrame) -> list[Any]:
        """Writes rows to data files and returns Iceberg's descriptions; commits nothing. ``ROW_ID``: the id
        of a replaced row, null for a new one; left out in v2."""
        name = str(uuid.uuid4())
        self._tables.add(name, table)
        try:
            written = _lineage(table, rows).write.format("iceberg").option(_TO_WRITE, name)
            written.mode("append").save(name)
            return elements(self._written.fetchNewFiles(table, name))
        finally:
            self._tables.remove(name)
            self._written.clearRewrite(table, name)

    @contextmanager
    def read(self, table: Any, tasks: Sequence[Any]) -> Iterator[DataFrame]:
        """Returns the rows of scan tasks in the table's columns, from v3 with ``ROW_ID`` and
        ``LAST_UPDATED``, while the context lasts."""
        name = str(uuid.uuid4())
        staged = self._lists()
        for task in tasks:
            staged.add(task)
        self._tables.add(name, table)
        try:
            rows = self._spark.read.format("iceberg").option(_TO_READ, name).load(name)
            if not tasks:
                # Iceberg takes no empty selection; Spark leaves the scan out of such a plan.
                yield rows.where("false")
                return
            self._tasks.stageTasks(table, name, staged)
            yield rows
        finally:
            self._tasks.removeTasks(table, name)
            self._tables.remove(name)


def _lineage(table: Any, rows: DataFrame) -> DataFrame:
    if version_of(table) < WITH_ROW_IDS:
        return rows.drop(ROW_ID)
    return rows.withColumn(LAST_UPDATED, F.lit(None).cast("bigint"))


def _table_cache(jvm: Any) -> Any:
    """Returns Iceberg's cache of rewritten tables, by reflection: Py4J confuses two ``get`` methods."""
    cache = java_class(jvm, "org.apache.iceberg.spark.SparkTableCache")
    getter = next(method for method in cache.getMethods() if str(method.toString()).endswith(".get()"))
    return getter.invoke(None, jvm.java.util.ArrayList().toArray())
