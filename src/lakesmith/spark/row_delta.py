"""Rows replaced by their places: one scan that finds them is enough.

A MERGE has to find the rows again that an earlier scan has found, because Spark does not tell which keys it met. Here the
earlier scan gives each row's place (data file and position in it); the new rows are written by Spark without being committed,
along the path that Iceberg's own compaction takes, which also keeps row ids; the old rows' places become deletion vectors, a
few kilobytes a file, written by the driver; and one commit on the working branch makes both visible.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pyroaring import BitMap64
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith.catalog.state import TableState
from lakesmith.spark.batch import Batch

MOST_ROWS: Final = 200_000
"""More places than that are not gathered in the driver."""

MOST_FILES: Final = 2_000
"""The driver asks Iceberg for each data file's deletes one by one."""

ROW_ID: Final = "_row_id"
LAST_UPDATED: Final = "_last_updated_sequence_number"

_ROWS_A_FILE: Final = 50_000
"""A few rows make one file, not one for each task: every file costs later reads the time to open it."""

_MAGIC: Final = bytes.fromhex("d1d33964")

Places = Mapping[str, Sequence[int]]
"""Positions of rows (from 0) by the location of their data file."""


def can_replace(state: TableState, snapshot: int | None, rows: int) -> bool:
    """Whether up to ``rows`` rows of the snapshot are better replaced by their places than by a MERGE."""
    if snapshot is None:
        return False
    files = state.snapshots[snapshot].count("total-data-files")
    return state.format_version >= 3 and rows <= MOST_ROWS and files <= MOST_FILES


def place() -> SparkColumn:
    """A row's place and id, of a frame that reads an Iceberg table: struct<file: string, pos: bigint, id: bigint>."""
    return F.struct(F.col("_file").alias("file"), F.col("_pos").alias("pos"), F.col(ROW_ID).alias("id"))


def by_file(places: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Pairs (file, position) put together by file."""
    found: dict[str, list[int]] = {}
    for file, position in places:
        found.setdefault(file, []).append(position)
    return found


def deletion_vector(positions: Sequence[int]) -> bytes:
    """The bytes of a deletion vector: the blob ``deletion-vector-v1`` of the Puffin specification.

    Length of what follows but the checksum (4 bytes, big-endian), magic, 64-bit Roaring bitmap in its portable form, CRC-32
    of magic and bitmap (4 bytes, big-endian).
    """
    data = _MAGIC + BitMap64(positions).serialize()
    return struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))


def replace_rows(batch: Batch, gone: Places, rows: DataFrame, count: int) -> None:
    """One snapshot on the working branch: without the rows at the places ``gone``, and with ``rows``, ``count`` of them.

    The places are those of the snapshot the batch began at. ``rows`` has the table's columns and ``ROW_ID``: a row's id where
    it takes another's place, null where it is new.
    """
    table = batch.java.load(batch.name)
    files = _write_uncommitted(batch, table, rows, count) if count else []
    batch.pass_point("after-merge")
    delta = table.newRowDelta().toBranch(batch.branch)
    for file in files:
        delta.addRows(file)
    if gone:
        vectors = _write_vectors(batch, table, gone)
        for vector in vectors.deleteFiles():
            delta.addDeletes(vector)
        for vector in vectors.rewrittenDeleteFiles():
            delta.removeDeletes(vector)
        delta.validateDataFilesExist(vectors.referencedDataFiles())
    delta.validateFromSnapshot(batch.step.base.snapshot).commit()


def _write_uncommitted(batch: Batch, table: Any, rows: DataFrame, count: int) -> list[Any]:
    """Iceberg's descriptions of the data files that hold the rows."""
    rows = rows.withColumn(LAST_UPDATED, F.lit(None).cast("bigint")).coalesce(1 + count // _ROWS_A_FILE)
    jvm: Any = batch.spark._jvm
    tables, staged = _table_cache(jvm), jvm.org.apache.iceberg.spark.FileRewriteCoordinator.get()
    tables.add(batch.attempt, table)
    try:
        rows.write.format("iceberg").mode("append").save(batch.attempt)
        return list(staged.fetchNewFiles(table, batch.attempt))
    finally:
        tables.remove(batch.attempt)
        staged.clearRewrite(table, batch.attempt)


def _table_cache(jvm: Any) -> Any:
    """Iceberg's cache of tables to be rewritten. By reflection: Py4J takes its static ``get`` for the method of that name."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    cache = loader.loadClass("org.apache.iceberg.spark.SparkTableCache")
    nothing = jvm.java.util.ArrayList().toArray()
    getter = next(method for method in cache.getMethods() if str(method.toString()).endswith("get()"))
    return getter.invoke(None, nothing)


def _write_vectors(batch: Batch, table: Any, gone: Places) -> Any:
    """Writes a deletion vector for each file, with the positions in it that were deleted before; Iceberg's DeleteWriteResult."""
    java = _Java(batch.spark._jvm, table)
    tasks = _scanned(table, batch.step.base.snapshot, gone)
    writer = java.vector_writer(batch.attempt, java.deleted(tasks))
    for file, task in tasks.items():
        spec, partition = task.spec(), task.file().partition()
        writer.delete(file, java.bitmap(gone[file], file, (spec, partition)), spec, partition)
    writer.close()
    return writer.result()


def _scanned(table: Any, snapshot: int | None, files: Places) -> dict[str, Any]:
    """Each of the files with what is known of it at the snapshot."""
    planned = table.newScan().useSnapshot(snapshot).planFiles()
    try:
        tasks = {str(task.file().location()): task for task in planned.iterator()}
    finally:
        planned.close()
    return {file: tasks[file] for file in files}


class _Java:
    """Iceberg's writing of deletion vectors. Looking a Java class up takes ten calls' time, so it is done once."""

    def __init__(self, jvm: Any, table: Any) -> None:
        iceberg = jvm.org.apache.iceberg
        self._table = table
        self._maps, self._lists = jvm.java.util.HashMap, jvm.java.util.ArrayList
        self._functions = jvm.com.google.common.base.Functions
        self._indexes, self._files = iceberg.deletes.PositionDeleteIndex, iceberg.FileMetadata
        self._loaders, self._writers = iceberg.data.BaseDeleteLoader, iceberg.deletes.BaseDVFileWriter
        self._paths, self._puffin = iceberg.io.OutputFileFactory, iceberg.FileFormat.PUFFIN
        self._io = iceberg.encryption.EncryptingFileIO.combine(table.io(), table.encryption())

    def deleted(self, tasks: Mapping[str, Any]) -> Any:
        """A java.util.function.Function: the positions that are deleted in a data file already, or null."""
        inputs, found = self._maps(), self._maps()
        loader = self._loaders(self._functions.forMap(inputs, None))
        for file, task in tasks.items():
            kept = self._lists()
            for each in task.deletes():
                if str(each.content()) == "POSITION_DELETES":
                    kept.add(each)
                    inputs.put(each, self._io.newInputFile(each))
            if kept:
                found.put(file, loader.loadPositionDeletes(kept, file))
        return self._functions.forMap(found, None)

    def vector_writer(self, operation: str, deleted: Any) -> Any:
        """A BaseDVFileWriter of a new file, whose vectors take in what is deleted already."""
        factory = self._paths.builderFor(self._table, 0, 0).format(self._puffin)
        return self._writers(factory.operationId(operation).build(), deleted)

    def bitmap(self, positions: Sequence[int], file: str, place: tuple[Any, Any]) -> Any:
        """The positions as a PositionDeleteIndex, handed over as a whole: a call each would take longer than all the rest.

        ``place`` is the data file's partition spec and its partition. Iceberg takes a bitmap only with the description of a
        file that it could come from.
        """
        content = deletion_vector(positions)
        described = self._files.deleteFileBuilder(place[0]).ofPositionDeletes().withFormat(self._puffin)
        described = described.withPath(file).withReferencedDataFile(file).withPartition(place[1])
        described = described.withFileSizeInBytes(len(content)).withRecordCount(len(positions))
        described = described.withContentOffset(0).withContentSizeInBytes(len(content))
        return self._indexes.deserialize(content, described.build())
