"""Landing files for tests of the readers: made, asked for, and their rows in order."""

import io
from pathlib import Path
from typing import Any

import fastavro
from pyspark.sql import DataFrame, Row

from lakesmith.errors import Place
from lakesmith.project.definitions import CsvOptions, FileSource
from lakesmith.project.formats import FileFormat
from lakesmith.sources.columns.reading import ReadGroup
from lakesmith.sources.model import FileIdentity
from lakesmith.spark.read.request import ReadRequest

AVRO = {
    "type": "record",
    "name": "row",
    "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}],
}
Columns = tuple[tuple[str, str], ...]


def source(format_: FileFormat = FileFormat.CSV, options: CsvOptions | None = None) -> FileSource:
    return FileSource("landing", "landing", format_, Place("t.yaml", 1), csv=options or CsvOptions())


def landed(root: Path, name: str, content: bytes | str) -> FileIdentity:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    stat = path.stat()
    return FileIdentity(name, stat.st_size, stat.st_mtime_ns)


def one(
    root: Path, content: bytes | str, header: tuple[str, ...], columns: Columns, **more: Any
) -> ReadRequest:
    """A request for one file, landing/a.csv unless ``name`` says otherwise."""
    file = landed(root, more.pop("name", "landing/a.csv"), content)
    return ReadRequest(source(**more), root, (ReadGroup((file,), header),), columns)


def rows(frame: DataFrame) -> list[Row]:
    return sorted(frame.collect(), key=lambda row: (row._source_file, row._source_position))


def avro_file(rows: list[tuple[int, str | None]]) -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, AVRO, [{"id": id_, "name": name} for id_, name in rows])
    return out.getvalue()
