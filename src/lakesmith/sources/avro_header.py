"""The schema in the header of an Avro object container file, without a reader for its data.

Format: https://avro.apache.org/docs/1.12.0/specification/#object-container-files. Types become those that Spark's Avro
reader gives (``SchemaConverters`` of spark-avro).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, BinaryIO

from lakesmith.quoting import quoted_if_odd
from lakesmith.sources.shape import FileShape, UnreadableFile, check_names

_MAGIC = b"Obj\x01"
_SYNC = 16
_LARGEST = 64 * 1024 * 1024
_PRIMITIVES = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
    "enum": "string",
    "fixed": "binary",
    "null": "void",
}
_LOGICAL = {
    ("int", "date"): "date",
    ("long", "timestamp-millis"): "timestamp",
    ("long", "timestamp-micros"): "timestamp",
    ("long", "local-timestamp-millis"): "timestamp_ntz",
    ("long", "local-timestamp-micros"): "timestamp_ntz",
    ("long", "timestamp-nanos"): "timestamp_ns",
    ("long", "local-timestamp-nanos"): "timestamp_ntz_ns",
}
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_avro_shape(path: Path) -> FileShape:
    """The shape of one file.

    Raises UnreadableFile LS422 when it is not a whole Avro header with a record schema, and OSError.
    """
    with path.open("rb") as file:
        if path.stat().st_size == 0:
            return FileShape(empty=True)
        schema = _schema(file)
        empty = not file.read(1)
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise _damaged(f"a schema that is not a record: {json.dumps(schema)[:60]}")
    columns, types = _fields(schema)
    check_names(columns)
    pairs = zip(columns, types, strict=True)
    unreadable = tuple((name, "a record that contains itself") for name, type_ in pairs if type_ is None)
    return FileShape(columns, types, empty, unreadable)


def check_avro_blocks(path: Path) -> None:
    """Walks over a file's data blocks. Raises UnreadableFile LS422 where one is cut or does not end as the header says, and OSError."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if size == 0:
            return
        _schema(file)
        file.seek(-_SYNC, 1)
        sync = file.read(_SYNC)
        while file.tell() < size:
            _long(file)
            length = _long(file)
            if length < 0 or file.tell() + length + _SYNC > size:
                raise _damaged("a block of data that ends too early")
            file.seek(length, 1)
            if file.read(_SYNC) != sync:
                raise _damaged("a block of data without its end mark")


def _schema(file: BinaryIO) -> Any:
    """The schema of an open file, which is then at its first data block."""
    if file.read(len(_MAGIC)) != _MAGIC:
        raise _damaged("other first bytes than Avro's")
    text = _metadata(file).get("avro.schema")
    if text is None or len(file.read(_SYNC)) < _SYNC:
        raise _damaged("a header that ends too early" if text is not None else "no schema")
    try:
        return json.loads(text)
    except ValueError as error:
        raise _damaged(f"a schema that is not JSON: {error}") from error


def _metadata(file: BinaryIO) -> dict[str, bytes]:
    """The header's map of bytes, which comes in blocks; a negative count is followed by the block's size in bytes."""
    values: dict[str, bytes] = {}
    while count := _long(file):
        if count < 0:
            _long(file)
        for _ in range(abs(count)):
            key = _bytes(file).decode("utf-8", "replace")
            values[key] = _bytes(file)
    return values


def _long(file: BinaryIO) -> int:
    """A zig-zag number of variable length, at most ten bytes."""
    value = 0
    for shift in range(0, 70, 7):
        byte = file.read(1)
        if not byte:
            raise _damaged("a header that ends too early")
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return (value >> 1) ^ -(value & 1)
    raise _damaged("a number of more than ten bytes in its header")


def _bytes(file: BinaryIO) -> bytes:
    size = _long(file)
    if not 0 <= size <= _LARGEST:
        raise _damaged(f"a header entry of {size} bytes")
    data = file.read(size)
    if len(data) < size:
        raise _damaged("a header that ends too early")
    return data


def _fields(schema: dict[str, Any]) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
    named: dict[str, Any] = dict.fromkeys(_names(schema), schema)
    inside = _names(schema)
    try:
        columns = tuple(str(field["name"]) for field in schema["fields"])
        return columns, tuple(_spark_type(field["type"], named, inside) for field in schema["fields"])
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(f"a schema that is not Avro: {error!r}") from error


def _spark_type(schema: Any, named: dict[str, Any], inside: tuple[str, ...]) -> str | None:
    """The Spark SQL type; None for a record that contains itself. Raises KeyError for a name that is not defined."""
    if isinstance(schema, list):
        return _union(schema, named, inside)
    if isinstance(schema, str):
        if schema in _PRIMITIVES:
            return _PRIMITIVES[schema]
        return None if schema in inside else _spark_type(named[schema], named, inside)
    kind = schema["type"]
    if not isinstance(kind, str) or kind not in (*_PRIMITIVES, "record", "array", "map"):
        return _spark_type(kind, named, inside)
    for name in _names(schema):
        named[name] = schema
    if kind in ("array", "map"):
        inner = _spark_type(schema["items" if kind == "array" else "values"], named, inside)
        prefix = "array<" if kind == "array" else "map<string,"
        return None if inner is None else f"{prefix}{inner}>"
    return _record(schema, named, inside) if kind == "record" else _simple(schema)


def _simple(schema: dict[str, Any]) -> str:
    kind, logical = str(schema["type"]), str(schema.get("logicalType"))
    if logical == "decimal" and kind in ("bytes", "fixed"):
        return f"decimal({schema['precision']},{schema.get('scale', 0)})"
    return _LOGICAL.get((kind, logical), _PRIMITIVES[kind])


def _record(schema: dict[str, Any], named: dict[str, Any], inside: tuple[str, ...]) -> str | None:
    around = (*inside, *_names(schema))
    fields = [(field["name"], _spark_type(field["type"], named, around)) for field in schema["fields"]]
    return struct_type(fields)


def struct_type(fields: list[tuple[str, str | None]]) -> str | None:
    """``struct<...>`` of named types, None when one of the types is."""
    parts = []
    for name, kind in fields:
        if kind is None:
            return None
        parts.append(f"{quoted_if_odd(name)}:{kind}")
    return f"struct<{','.join(parts)}>"


def _union(schema: list[Any], named: dict[str, Any], inside: tuple[str, ...]) -> str | None:
    """A union with null is the other type; int with long, float with double widen; others become a struct of members."""
    members = [_spark_type(member, named, inside) for member in schema if member != "null"]
    if len(members) == 1:
        return members[0]
    if set(members) == {"int", "bigint"}:
        return "bigint"
    if set(members) == {"float", "double"}:
        return "double"
    return struct_type([(f"member{number}", member) for number, member in enumerate(members)])


def _names(schema: dict[str, Any]) -> tuple[str, ...]:
    """What a named type can be called: its name, and with its namespace."""
    name = schema.get("name")
    if name is None:
        return ()
    space = schema.get("namespace")
    short = name.rpartition(".")[2]
    return (name, short) if not space or "." in name else (name, f"{space}.{name}")


def _damaged(found: str) -> UnreadableFile:
    return UnreadableFile("LS422", "it is not a whole Avro file", "an Avro object container file", found)
