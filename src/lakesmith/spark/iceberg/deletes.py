"""Deleted rows of data files, and the rows that are left.

A deletion vector (v3) is a Roaring bitmap of positions in a Puffin file; v2 tables have position-delete
files.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from pyroaring import BitMap64
from pyspark.sql import SparkSession

from lakesmith import limits
from lakesmith.spark.iceberg.snapshot_files import SnapshotFiles
from lakesmith.spark.jvm.gateway import elements

_MAGIC: Final = bytes.fromhex("d1d33964")
_FRAME: Final = 4


def to_bytes(positions: BitMap64) -> bytes:
    """Returns the blob ``deletion-vector-v1`` of the Puffin specification: length (4 bytes, big-endian),
    magic, portable 64-bit Roaring bitmap, CRC-32 of both (4 bytes, big-endian)."""
    data = _MAGIC + positions.serialize()
    return struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))


def from_bytes(content: bytes) -> BitMap64:
    """The positions of a deletion vector, written as ``to_bytes`` says."""
    return BitMap64.deserialize(content[_FRAME + len(_MAGIC) : -_FRAME])


@dataclass(frozen=True, slots=True)
class WrittenDeletes:
    """Iceberg's delete files: the ``new`` ones, and those that they replace (``old``)."""

    new: Sequence[Any]
    old: Sequence[Any]


class Vectors:
    """The deletion vectors of a table. Java classes are looked up once: each takes ten calls."""

    def __init__(self, spark: SparkSession, table: Any) -> None:
        jvm: Any = spark._jvm
        iceberg = jvm.org.apache.iceberg
        self._table = table
        self._maps, self._lists = jvm.java.util.HashMap, jvm.java.util.ArrayList
        self._functions = jvm.com.google.common.base.Functions
        self._indexes, self._files = iceberg.deletes.PositionDeleteIndex, iceberg.FileMetadata
        self._writers, self._paths = iceberg.deletes.BaseDVFileWriter, iceberg.io.OutputFileFactory
        self._puffin = iceberg.FileFormat.PUFFIN
        self._is_of_one_file = iceberg.util.ContentFileUtil.isFileScoped
        self._io = iceberg.encryption.EncryptingFileIO.combine(table.io(), table.encryption())
        # Files are loaded beside each other.
        self._inputs = jvm.java.util.concurrent.ConcurrentHashMap()
        self._loader = iceberg.data.BaseDeleteLoader(self._functions.forMap(self._inputs, None))

    def write(
        self,
        tasks: Mapping[str, Any],
        deleted: Mapping[str, BitMap64],
        operation: str,
        replaces: bool = False,
    ) -> WrittenDeletes:
        """Writes positions of data files to a new Puffin file. ``tasks``: a scan task per file. Earlier
        deletes stay, unless the file ``replaces`` them."""
        # Iceberg's writer asks for what was deleted before: for one position of a file it is given all, as up
        # to Iceberg 1.10 it takes no more.
        indexes, old = self._maps(), list[Any]()
        factory = self._paths.builderFor(self._table, 0, 0).format(self._puffin).operationId(operation)
        writer = self._writers(factory.build(), self._functions.forMap(indexes, None))
        for file, positions in deleted.items():
            spec, partition = tasks[file].spec(), tasks[file].file().partition()
            index = self.index(positions, file, (spec, partition))
            old += [] if replaces else self._taken_in(index, file, tasks[file])
            indexes.put(file, index)
            writer.delete(file, positions.min(), spec, partition)
        writer.close()
        return WrittenDeletes(elements(writer.result().deleteFiles()), old)

    def deleted(self, file: str, deletes: Iterable[Any]) -> BitMap64:
        """Returns the positions of a data file that vectors or position-delete files hide."""
        index = self.load(file, deletes)
        return from_bytes(bytes(index.serialize().array())) if index is not None else BitMap64()

    def _taken_in(self, index: Any, file: str, task: Any) -> list[Any]:
        """Adds the positions already deleted; returns the delete files that the new ones replace."""
        earlier = [each for each in elements(task.deletes()) if is_positional(each)]
        if not earlier:
            return []
        index.merge(self.load(file, earlier))
        return [each for each in earlier if self._is_of_one_file(each)]

    def load(self, file: str, deletes: Iterable[Any]) -> Any:
        """A PositionDeleteIndex, as Iceberg reads it; None without deletes."""
        kept = self._lists()
        for each in deletes:
            kept.add(each)
            self._inputs.put(each, self._io.newInputFile(each))
        return self._loader.loadPositionDeletes(kept, file) if kept else None

    def index(self, positions: BitMap64, file: str, place: tuple[Any, Any]) -> Any:
        """Returns the positions as a PositionDeleteIndex, passed at once. ``place``: the file's partition
        spec and partition, as Iceberg needs a file's description."""
        content = to_bytes(positions)
        described = self._files.deleteFileBuilder(place[0]).ofPositionDeletes().withFormat(self._puffin)
        described = described.withPath(file).withReferencedDataFile(file).withPartition(place[1])
        described = described.withFileSizeInBytes(len(content)).withRecordCount(len(positions))
        described = described.withContentOffset(0).withContentSizeInBytes(len(content))
        return self._indexes.deserialize(content, described.build())


def is_positional(delete: Any) -> bool:
    """Whether an Iceberg DeleteFile deletes by position, and not by equality of values."""
    return str(delete.content()) == "POSITION_DELETES"


WITH_ROW_IDS: Final = 3
"""The format version from which rows have ids, and deletes are vectors."""


def version_of(table: Any) -> int:
    return int(table.operations().current().formatVersion())


def write_deletes(
    spark: SparkSession, table: Any, tasks: Mapping[str, Any], deleted: Mapping[str, BitMap64], operation: str
) -> WrittenDeletes:
    """Writes positions of data files with the earlier ones; commits nothing. ``tasks``: a scan task per file;
    ``operation``: part of file names."""
    if version_of(table) < WITH_ROW_IDS:
        return _Positions(spark, table, operation).write(tasks, deleted)
    return Vectors(spark, table).write(tasks, deleted, operation)


class _Positions:
    """Iceberg's writers of position deletes, looked up once. Only bitmaps pass the gateway."""

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
        """Returns a data file's new delete file, and the earlier ones that it replaces."""
        spec, partition = task.spec(), task.file().partition()
        index = self._vectors.index(positions, file, (spec, partition))
        earlier = [each for each in elements(task.deletes()) if self._is_replaced(each)]
        if earlier:
            index.merge(self._vectors.load(file, earlier))
        return self._write(file, index, positions.min(), (spec, partition)), earlier

    def _is_replaced(self, delete: Any) -> bool:
        """Returns whether the delete file is replaced: not one that covers several data files."""
        return is_positional(delete) and bool(self._is_of_one_file(delete))

    def _write(self, file: str, index: Any, first: int, place: tuple[Any, Any]) -> list[Any]:
        """Writes the positions of the index to a file, as Iceberg's writer asks for them."""
        writer = self._sorting(
            self._suppliers.ofInstance(self._writer(*place)), self._per_file, self._functions.constant(index)
        )
        writer.write(self._rows.create().set(file, first))
        writer.close()
        return elements(writer.result().deleteFiles())

    def _writer(self, spec: Any, partition: Any) -> Any:
        # Of no partition, Iceberg would make a path with an empty part, which is a file's name in S3 that not
        # every engine reads.
        parts = (spec, partition) if spec.isPartitioned() else ()
        place = self._paths.newOutputFile(*parts)
        builder = (
            self._parquet.writeDeletes(place).setAll(self._table.properties()).metricsConfig(self._metrics)
        )
        builder = builder.withSpec(spec).withPartition(partition).withKeyMetadata(place.keyMetadata())
        return builder.overwrite().buildPositionWriter()


def deleted_rows(spark: SparkSession, table: Any, snapshot: int) -> int:
    """Returns the number of rows of a snapshot that position deletes hide, by the files' own deletes."""
    vectors, found = Vectors(spark, table), 0
    is_of_one_file = _is_of_one_file(spark)
    for file, deletes in _positional(spark, table, snapshot):
        if len(deletes) == 1 and is_of_one_file(deletes[0]):
            found += int(deletes[0].recordCount())
        else:
            found += len(vectors.deleted(file, deletes))
    return found


def remove_left_behind(spark: SparkSession, table: Any, snapshot: int, branch: str) -> int:
    """Removes position-delete files without data files from the branch; returns how many."""
    used = {str(each.location()) for _, deletes in _positional(spark, table, snapshot) for each in deletes}
    there = {str(each.location()): each for each in _delete_files(spark, table, snapshot)}
    if not (left := there.keys() - used):
        return 0
    rewrite = table.newRewrite().toBranch(branch)
    for location in left:
        rewrite.deleteFile(there[location])
    rewrite.validateFromSnapshot(snapshot).commit()
    return len(left)


def _positional(spark: SparkSession, table: Any, snapshot: int) -> Iterator[tuple[str, list[Any]]]:
    """The data files with deletes by position, and these."""
    files = SnapshotFiles(table, snapshot, spark._jvm)
    for location, facts in files.files.items():
        if facts.deletes != "[]":
            deletes = [each for each in elements(files.task(location).deletes()) if is_positional(each)]
            if deletes:
                yield location, deletes


def _delete_files(spark: SparkSession, table: Any, snapshot: int) -> list[Any]:
    jvm: Any = spark._jvm
    iceberg = jvm.org.apache.iceberg
    described = iceberg.MetadataTableUtils.createMetadataTableInstance(
        table, iceberg.MetadataTableType.POSITION_DELETES
    )
    planned = described.newBatchScan().useSnapshot(snapshot).planFiles()
    try:
        return [task.file() for task in elements(jvm.com.google.common.collect.Lists.newArrayList(planned))]
    finally:
        planned.close()


def _is_of_one_file(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.iceberg.util.ContentFileUtil.isFileScoped
