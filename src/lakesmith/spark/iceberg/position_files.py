"""Deletes by position as a table's format version has them: deletion vectors (version 3), or files of positions (version 2).

A file of positions has those of one data file, and takes the earlier one's place: so they do not pile up, and a reader opens one
for each data file that it reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from pyroaring import BitMap64
from pyspark.sql import SparkSession

from lakesmith import limits
from lakesmith.spark.iceberg.deletion_vectors import Vectors, WrittenDeletes, is_positional
from lakesmith.spark.jvm.gateway import elements

WITH_ROW_IDS: Final = 3
"""The format version from which rows have ids, and deletes are vectors."""


def version_of(table: Any) -> int:
    """The format version of a Java table."""
    return int(table.operations().current().formatVersion())


def write_deletes(
    spark: SparkSession,
    table: Any,
    tasks: Mapping[str, Any],
    deleted: Mapping[str, BitMap64],
    operation: str,
) -> WrittenDeletes:
    """Writes the positions of each data file, with those deleted before; nothing is committed.

    ``tasks`` has a scan task for each file; ``operation`` is a part of the new files' names.
    """
    if version_of(table) < WITH_ROW_IDS:
        return _Positions(spark, table, operation).write(tasks, deleted)
    return Vectors(spark, table).write(tasks, deleted, operation)


class _Positions:
    """Iceberg's own writers of such files, looked up once. The driver hands over bitmaps; Java alone goes through the positions."""

    def __init__(self, spark: SparkSession, table: Any, operation: str) -> None:
        jvm: Any = spark._jvm
        iceberg, common = jvm.org.apache.iceberg, jvm.com.google.common.base
        self._table, self._vectors = table, Vectors(spark, table)
        self._suppliers, self._functions = common.Suppliers, common.Functions
        self._sorting, self._rows = (
            iceberg.deletes.SortingPositionOnlyDeleteWriter,
            iceberg.deletes.PositionDelete,
        )
        self._per_file = iceberg.deletes.DeleteGranularity.FILE
        # Both columns whole: a reader tells by the bounds of the first which data file it is about.
        self._metrics = iceberg.MetricsConfig.fromProperties({"write.metadata.metrics.default": "full"})
        self._parquet = iceberg.parquet.Parquet
        self._is_of_one_file = iceberg.util.ContentFileUtil.isFileScoped
        paths = iceberg.io.OutputFileFactory.builderFor(table, 0, 0).format(iceberg.FileFormat.PARQUET)
        self._paths = paths.operationId(operation).suffix("deletes").build()

    def write(self, tasks: Mapping[str, Any], deleted: Mapping[str, BitMap64]) -> WrittenDeletes:
        """File beside file: nearly all of it is waiting for them to be read and made."""
        with ThreadPoolExecutor(limits.FILE_THREADS) as threads:
            written = list(threads.map(lambda file: self._of(file, tasks[file], deleted[file]), deleted))
        new, old = ([delete for each in written for delete in each[side]] for side in (0, 1))
        return WrittenDeletes(new, old)

    def _of(self, file: str, task: Any, positions: BitMap64) -> tuple[list[Any], list[Any]]:
        """The new file of positions of a data file, and the earlier ones that it takes in."""
        spec, partition = task.spec(), task.file().partition()
        index = self._vectors.index(positions, file, (spec, partition))
        earlier = [each for each in elements(task.deletes()) if self._is_replaced(each)]
        if earlier:
            index.merge(self._vectors.load(file, earlier))
        return self._write(file, index, positions.min(), (spec, partition)), earlier

    def _is_replaced(self, delete: Any) -> bool:
        """Not those that other engines wrote for several data files: they stay, beside the new one."""
        return is_positional(delete) and bool(self._is_of_one_file(delete))

    def _write(self, file: str, index: Any, first: int, place: tuple[Any, Any]) -> list[Any]:
        """A file of the positions in the index. Iceberg's writer asks for what was deleted before: for one position it is given all."""
        writer = self._sorting(
            self._suppliers.ofInstance(self._writer(*place)),
            self._per_file,
            self._functions.constant(index),
        )
        writer.write(self._rows.create().set(file, first))
        writer.close()
        return elements(writer.result().deleteFiles())

    def _writer(self, spec: Any, partition: Any) -> Any:
        # Of no partition, Iceberg would make a path with an empty part, which is a file's name in S3 that not every engine reads.
        parts = (spec, partition) if spec.isPartitioned() else ()
        place = self._paths.newOutputFile(*parts)
        builder = (
            self._parquet.writeDeletes(place).setAll(self._table.properties()).metricsConfig(self._metrics)
        )
        builder = builder.withSpec(spec).withPartition(partition).withKeyMetadata(place.keyMetadata())
        return builder.overwrite().buildPositionWriter()
