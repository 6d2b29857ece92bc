"""Files in a table's folder that no snapshot names, listed and read. Formats:
https://iceberg.apache.org/spec/#manifests."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile
from pyiceberg.manifest import ManifestFile, read_manifest_list
from pyspark.sql import DataFrame, SparkSession

from lakesmith.catalog.metadata import plain_location
from lakesmith.project.definitions import TableName
from lakesmith.spark.iceberg.commits import JavaTables, physical
from lakesmith.spark.iceberg.uncommitted_files import Staging

_LIST: Final = "snap-"
"""How Iceberg names the files that list a snapshot's manifests."""


@dataclass(frozen=True, slots=True)
class UnnamedFile:
    """``size`` is in bytes."""

    path: str
    size: int

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class TableFolder:
    """The folder of one table, with what its snapshots name there. ``named``: plain locations."""

    def __init__(self, spark: SparkSession, name: TableName) -> None:
        self._spark, self._name = spark, name
        self.table = JavaTables(spark).load(name)
        self.named_data = self._paths("SELECT file_path FROM {}.all_files")
        self.named = self.named_data.union(
            self._paths("SELECT path FROM {}.all_manifests"),
            self._paths("SELECT manifest_list FROM {}.snapshots"),
        )

    def _paths(self, query: str) -> frozenset[str]:
        rows = self._spark.sql(query.format(physical(self._name))).collect()
        return frozenset(plain_location(str(row[0])) for row in rows)

    def unnamed_data(self) -> list[UnnamedFile]:
        return self._unnamed("data")

    def unnamed_manifests(self) -> list[UnnamedFile]:
        """Manifests, and behind them the files that list manifests."""
        found = [file for file in self._unnamed("metadata") if file.name.endswith(".avro")]
        return sorted(found, key=lambda file: file.name.startswith(_LIST))

    def metadata_files(self) -> list[str]:
        return [file.path for file in self._unnamed("metadata") if file.name.endswith(".metadata.json")]

    def _unnamed(self, part: str) -> list[UnnamedFile]:
        there = self.table.io().listPrefix(f"{str(self.table.location()).rstrip('/')}/{part}").iterator()
        found = []
        while there.hasNext():
            info = there.next()
            found.append(UnnamedFile(str(info.location()), int(info.size())))
        # Hadoop keeps checksums in files whose names begin so.
        return [
            file
            for file in found
            if not file.name.startswith(".") and plain_location(file.path) not in self.named
        ]

    @contextmanager
    def rows(self, files: Sequence[UnnamedFile]) -> Iterator[DataFrame]:
        """Returns the rows of Parquet files in the table's columns, while the context lasts."""
        jvm: Any = self._spark._jvm
        gateway: Any = self._spark.sparkContext._gateway
        iceberg = jvm.org.apache.iceberg
        everything = iceberg.expressions.ResidualEvaluator.unpartitioned(
            iceberg.expressions.Expressions.alwaysTrue()
        )
        # Without partitions all values are read from the files themselves.
        spec = iceberg.PartitionSpec.unpartitioned()
        texts = iceberg.SchemaParser.toJson(self.table.schema()), iceberg.PartitionSpecParser.toJson(spec)
        no_deletes = gateway.new_array(iceberg.DeleteFile, 0)
        tasks = [
            iceberg.BaseFileScanTask(self._described(iceberg, spec, file), no_deletes, *texts, everything)
            for file in files
        ]
        with Staging(self._spark).read(self.table, tasks) as rows:
            yield rows

    def _described(self, iceberg: Any, spec: Any, file: UnnamedFile) -> Any:
        """Returns a file's description for Iceberg; its number of rows is a guess."""
        builder = iceberg.DataFiles.builder(spec).withPath(file.path).withFormat("PARQUET")
        return builder.withFileSizeInBytes(file.size).withRecordCount(1).build()

    def names_in(self, file: UnnamedFile) -> frozenset[str]:
        """Returns all locations in a manifest or manifest list. Raises ValueError, EOFError if damaged."""
        files = _Files(self.table.io())
        if file.name.startswith(_LIST):
            manifests = read_manifest_list(files.new_input(file.path))
            return frozenset(plain_location(manifest.manifest_path) for manifest in manifests)
        manifest = ManifestFile.from_args(manifest_path=file.path)
        entries = manifest.fetch_manifest_entry(files, discard_deleted=False)
        return frozenset(plain_location(entry.data_file.file_path) for entry in entries)

    def has(self, location: str) -> bool:
        return bool(self.table.io().newInputFile(location).exists())

    def remove(self, file: UnnamedFile) -> None:
        """Removes the file; one that is gone already is no failure on any store."""
        self.table.io().deleteFile(file.path)


class _Files(FileIO):
    """Files that Iceberg's Java reads, as PyIceberg reads them. ``files`` is a Java FileIO."""

    def __init__(self, files: Any) -> None:
        super().__init__()
        self._files = files

    def new_input(self, location: str) -> InputFile:
        """A file, read in full."""
        stream = self._files.newInputFile(location).newStream()
        try:
            return _Content(location, bytes(stream.readAllBytes()))
        finally:
            stream.close()

    def new_output(self, location: str) -> OutputFile:
        raise NotImplementedError

    def delete(self, location: str | InputFile | OutputFile) -> None:
        raise NotImplementedError


class _Content(InputFile):
    def __init__(self, location: str, content: bytes) -> None:
        super().__init__(location)
        self._content = content

    def __len__(self) -> int:
        return len(self._content)

    def exists(self) -> bool:
        return True

    def open(self, seekable: bool = True) -> InputStream:
        return io.BytesIO(self._content)
