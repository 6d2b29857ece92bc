"""Landing files for tests of the readers: made, asked for, and their rows in order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row

from lakesmith.errors import Place
from lakesmith.project.definitions import CsvOptions, FileSource
from lakesmith.project.formats import FileFormat
from lakesmith.sources.model import FileIdentity
from lakesmith.spark.read.files import ReadGroup, ReadRequest

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


def _zigzag(number: int) -> bytes:
    number, out = (number << 1) ^ (number >> 63), bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _avro_text(text: str) -> bytes:
    return _zigzag(len(text.encode())) + text.encode()


def avro_file(rows: list[tuple[int, str | None]]) -> bytes:
    """An Avro object container file of ``AVRO`` (Avro 1.12 specification), uncompressed, in one block."""
    meta = (
        _avro_text("avro.schema")
        + _avro_text(json.dumps(AVRO))
        + _avro_text("avro.codec")
        + _avro_text("null")
    )
    sync = bytes(range(16))
    names = [_zigzag(0) if name is None else _zigzag(1) + _avro_text(name) for _, name in rows]
    block = b"".join(_zigzag(id_) + name for (id_, _), name in zip(rows, names, strict=True))
    head = b"Obj\x01" + _zigzag(2) + meta + _zigzag(0) + sync
    return head + _zigzag(len(rows)) + _zigzag(len(block)) + block + sync
