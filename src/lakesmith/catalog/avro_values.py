"""The records of an Avro object container file, read into plain values and written back as they were.

Iceberg's manifests and manifest lists are such files. Values keep what the file has: a union is (branch, value), a fixed, a float and a
double are their bytes. Format: https://avro.apache.org/docs/1.12.0/specification/#binary-encoding.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from lakesmith.catalog.avro_container import NotAvro, as_long, read_bytes, read_entries, read_long

_MARK: Final = 16
_WIDTHS: Final = {"boolean": 1, "float": 4, "double": 8}


@dataclass(frozen=True, slots=True)
class AvroRecords:
    """A file's ``head`` (its header with the sync mark), the ``schema`` of its records, their ``codec``, and the records."""

    head: bytes
    schema: Any
    codec: str
    records: list[Any]

    @property
    def kind(self) -> str:
        """The name of the records' type, ``""`` where they are no records."""
        return str(self.schema.get("name", "")) if isinstance(self.schema, Mapping) else ""

    def to_bytes(self) -> bytes:
        """The file, with all records in one block."""
        file, named = io.BytesIO(), dict[str, Any]()
        for record in self.records:
            _write(file, self.schema, record, named)
        data = _CODECS[self.codec][1](file.getvalue())
        block = as_long(len(self.records)) + as_long(len(data)) + data + self.head[-_MARK:]
        return self.head + (block if self.records else b"")


def read_records(data: bytes) -> AvroRecords:
    """All records of a file. Raises NotAvro for one that is damaged or compressed in a way that is not known here."""
    file = io.BytesIO(data)
    entries = read_entries(file)
    schema, codec = json.loads(entries["avro.schema"]), entries.get("avro.codec", b"null").decode()
    if codec not in _CODECS:
        raise NotAvro(f"the codec {codec}")
    head = data[: file.tell() + _MARK]
    file.seek(len(head))
    records: list[Any] = []
    while file.tell() < len(data):
        count = read_long(file)
        block = io.BytesIO(_CODECS[codec][0](read_bytes(file)))
        named: dict[str, Any] = {}
        records += [_read(block, schema, named) for _ in range(count)]
        if file.read(_MARK) != head[-_MARK:]:
            raise NotAvro("a block without its sync mark")
    return AvroRecords(head, schema, codec, records)


def _inflated(data: bytes) -> bytes:
    return zlib.decompress(data, -zlib.MAX_WBITS)


def _deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def _unpacked(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


def _packed(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(data)


_CODECS: Final[Mapping[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]]] = {
    "null": (bytes, bytes),
    "deflate": (_inflated, _deflated),
    "zstandard": (_unpacked, _packed),
}


def _resolved(schema: Any, named: dict[str, Any]) -> tuple[str, Any]:
    """The kind of a type, and its definition; types with names are remembered by these."""
    while not isinstance(schema, str | list) and isinstance(schema["type"], dict | list):
        schema = schema["type"]
    if isinstance(schema, list):
        return "union", schema
    if isinstance(schema, str):
        return _resolved(named[schema], named) if schema in named else (schema, schema)
    if "name" in schema:
        named[schema["name"]] = schema
    return str(schema["type"]), schema


def _read(file: BinaryIO, schema: Any, named: dict[str, Any]) -> Any:
    kind, found = _resolved(schema, named)
    match kind:
        case "null":
            return None
        case "int" | "long" | "enum":
            return read_long(file)
        case "string" | "bytes":
            return read_bytes(file)
        case "boolean" | "float" | "double":
            return file.read(_WIDTHS[kind])
        case "fixed":
            return file.read(found["size"])
        case "record":
            return {field["name"]: _read(file, field["type"], named) for field in found["fields"]}
        case "union":
            branch = read_long(file)
            return branch, _read(file, found[branch], named)
        case "array":
            return [_read(file, found["items"], named) for _ in _counted(file)]
        case "map":
            return [(read_bytes(file), _read(file, found["values"], named)) for _ in _counted(file)]
    raise NotAvro(f"the type {kind}")


def _counted(file: BinaryIO) -> Any:
    """One of something for each item of an array or a map, which come in blocks."""
    while count := read_long(file):
        if count < 0:
            read_long(file)
        yield from range(abs(count))


def _write(file: BinaryIO, schema: Any, value: Any, named: dict[str, Any]) -> None:
    kind, found = _resolved(schema, named)
    match kind:
        case "null":
            pass
        case "int" | "long" | "enum":
            file.write(as_long(value))
        case "string" | "bytes":
            file.write(as_long(len(value)) + value)
        case "record":
            for field in found["fields"]:
                _write(file, field["type"], value[field["name"]], named)
        case "union":
            file.write(as_long(value[0]))
            _write(file, found[value[0]], value[1], named)
        case "array":
            _write_counted(file, value, lambda item: _write(file, found["items"], item, named))
        case "map":
            _write_counted(file, value, lambda pair: _write_pair(file, found["values"], pair, named))
        case _:
            file.write(value)


def _write_pair(file: BinaryIO, schema: Any, pair: tuple[bytes, Any], named: dict[str, Any]) -> None:
    file.write(as_long(len(pair[0])) + pair[0])
    _write(file, schema, pair[1], named)


def _write_counted(file: BinaryIO, items: Sequence[Any], write: Callable[[Any], None]) -> None:
    if items:
        file.write(as_long(len(items)))
        for item in items:
            write(item)
    file.write(as_long(0))
