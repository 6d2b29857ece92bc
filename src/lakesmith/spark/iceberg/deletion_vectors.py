"""Deletion vectors: the positions of a data file's deleted rows, as a Roaring bitmap in a Puffin file."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyroaring import BitMap64
from pyspark.sql import SparkSession

from lakesmith.spark.jvm.gateway import elements

_MAGIC: Final = bytes.fromhex("d1d33964")
_FRAME: Final = 4


def to_bytes(positions: BitMap64) -> bytes:
    """The bytes of a deletion vector: the blob ``deletion-vector-v1`` of the Puffin specification.

    Length of what follows but the checksum (4 bytes, big-endian), magic, 64-bit Roaring bitmap in its portable form, CRC-32
    of magic and bitmap (4 bytes, big-endian).
    """
    data = _MAGIC + positions.serialize()
    return struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))


def from_bytes(content: bytes) -> BitMap64:
    """The positions of a deletion vector, written as ``to_bytes`` says."""
    return BitMap64.deserialize(content[_FRAME + len(_MAGIC) : -_FRAME])


@dataclass(frozen=True, slots=True)
class WrittenDeletes:
    """Delete files in Iceberg's words: the ``new`` ones, and the earlier ones whose place they take (``old``)."""

    new: Sequence[Any]
    old: Sequence[Any]


class Vectors:
    """The deletion vectors of one table. Looking a Java class up takes ten calls' time, so it is done once."""

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
        self, tasks: Mapping[str, Any], deleted: Mapping[str, BitMap64], operation: str, anew: bool = False
    ) -> WrittenDeletes:
        """Writes the positions of each data file, which are some, to one new Puffin file.

        ``tasks`` has a scan task for each file. What is deleted in it already is taken in, unless written ``anew``.
        """
        # Iceberg's writer asks for what was deleted before: for one position of a file it is given all, as up to Iceberg 1.10 it takes no more.
        indexes, old = self._maps(), list[Any]()
        factory = self._paths.builderFor(self._table, 0, 0).format(self._puffin).operationId(operation)
        writer = self._writers(factory.build(), self._functions.forMap(indexes, None))
        for file, positions in deleted.items():
            spec, partition = tasks[file].spec(), tasks[file].file().partition()
            index = self.index(positions, file, (spec, partition))
            old += [] if anew else self._taken_in(index, file, tasks[file])
            indexes.put(file, index)
            writer.delete(file, positions.min(), spec, partition)
        writer.close()
        return WrittenDeletes(elements(writer.result().deleteFiles()), old)

    def deleted(self, file: str, deletes: Iterable[Any]) -> BitMap64:
        """The positions that deletes by position (vectors, or files of format version 2) hide in a data file."""
        index = self.load(file, deletes)
        return from_bytes(bytes(index.serialize().array())) if index is not None else BitMap64()

    def _taken_in(self, index: Any, file: str, task: Any) -> list[Any]:
        """Adds what is deleted already; returns the deletes that are of this file alone, whose place the new ones take."""
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
        """The positions as a PositionDeleteIndex, handed over as a whole: a call each would take longer than all the rest.

        ``place`` is the data file's partition spec and its partition. Iceberg takes a bitmap only with the description of a
        file that it could come from.
        """
        content = to_bytes(positions)
        described = self._files.deleteFileBuilder(place[0]).ofPositionDeletes().withFormat(self._puffin)
        described = described.withPath(file).withReferencedDataFile(file).withPartition(place[1])
        described = described.withFileSizeInBytes(len(content)).withRecordCount(len(positions))
        described = described.withContentOffset(0).withContentSizeInBytes(len(content))
        return self._indexes.deserialize(content, described.build())


def is_positional(delete: Any) -> bool:
    """Whether an Iceberg DeleteFile deletes by position, and not by equality of values."""
    return str(delete.content()) == "POSITION_DELETES"
