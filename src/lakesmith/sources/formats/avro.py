"""The schema in the header of an Avro object container file, without a reader for its data.

Format: https://avro.apache.org/docs/1.12.0/specification/#object-container-files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, ClassVar, Final

from lakesmith.catalog.avro_container import NotAvro, read_entries, read_long
from lakesmith.project.avro_types import AvroTypes, NoSparkType, part_of, text_of
from lakesmith.project.spark_types import MAX_PRECISION, SqlType, composed
from lakesmith.sources.file_types import wide_decimal
from lakesmith.sources.model import LandingFile
from lakesmith.sources.shape import FileShape, UnreadableFile, check_names

_SYNC = 16
_PARTS: Final = ("type", "items", "values", "fields")


def read_avro_shape(path: LandingFile) -> FileShape:
    """Returns the shape of one file.

    Raises UnreadableFile LS422 if it is not a complete Avro header with a record schema, and OSError.
    """
    with path.open("rb") as file:
        try:
            schema = _schema(file)
            columns, types, unreadable = _fields(schema)
        except NotAvro as error:
            raise _damaged(error.found) from error
        empty = not file.read(1)
    check_names(columns)
    return FileShape(columns, types, empty, unreadable, reader=_reader(schema))


def check_avro_blocks(path: LandingFile) -> None:
    """Walks over a file's data blocks. Raises UnreadableFile LS422 for a damaged block, and OSError."""
    size = path.stat().st_size
    with path.open("rb") as file:
        try:
            if size:
                _check_blocks(file, size)
        except NotAvro as error:
            raise _damaged(error.found) from error


def _check_blocks(file: BinaryIO, size: int) -> None:
    _schema(file)
    file.seek(-_SYNC, 1)
    sync = file.read(_SYNC)
    while file.tell() < size:
        read_long(file)
        length = read_long(file)
        if length < 0 or file.tell() + length + _SYNC > size:
            raise NotAvro("a block of data that ends too early")
        file.seek(length, 1)
        if file.read(_SYNC) != sync:
            raise NotAvro("a block of data without its end mark")


def _schema(file: BinaryIO) -> Any:
    """Reads the schema of an open file, which is then at its first data block. Raises NotAvro."""
    text = read_entries(file).get("avro.schema")
    if text is None or len(file.read(_SYNC)) < _SYNC:
        raise NotAvro("a header that ends too early" if text is not None else "no schema")
    try:
        return json.loads(text)
    except ValueError as error:
        raise NotAvro(f"a schema that is not JSON: {error}") from error


class _FileTypes(AvroTypes):
    """The type as a file has it; there are more than a column can be declared as."""

    simple: ClassVar = {**AvroTypes.simple, "null": "void"}
    logical: ClassVar = {
        **AvroTypes.logical,
        ("long", "timestamp-millis"): "timestamp_ms",
        ("long", "local-timestamp-millis"): "timestamp_ntz_ms",
        ("long", "timestamp-nanos"): "timestamp_ns",
        ("long", "local-timestamp-nanos"): "timestamp_ntz_ns",
    }

    def decimal(self, schema: Mapping[str, Any]) -> SqlType:
        """Nothing keeps a value from having more digits than the schema says."""
        precision, scale = int(part_of(schema, "precision")), int(schema.get("scale", 0))
        if precision > MAX_PRECISION:
            raise NoSparkType(f"decimal({precision},{scale})")
        return SqlType(text=wide_decimal(precision, scale))

    def union(self, schema: Sequence[Any], members: Sequence[Any]) -> SqlType:
        """Int with long, float with double widen; others become a struct of members."""
        kinds = [self.of(member) for member in members]
        texts = {kind.text for kind in kinds}
        for wide in ({"int", "bigint"}, {"float", "double"}):
            if texts == wide:
                return next(kind for kind in kinds if kind.text in ("bigint", "double"))
        return composed("struct", [(f"member{number}", kind) for number, kind in enumerate(kinds)])


def _fields(schema: Any) -> tuple[tuple[str, ...], tuple[str | None, ...], tuple[tuple[str, str], ...]]:
    """The names and types of its fields, and those without one of Spark's types. Raises NotAvro."""
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise NotAvro(f"a schema that is not a record: {json.dumps(schema)[:60]}")
    types: dict[str, str | None] = {}
    unreadable = []
    try:
        known = _FileTypes(schema)
        columns = tuple(text_of(field, "name") for field in schema["fields"])
        for name, field in zip(columns, schema["fields"], strict=True):
            try:
                types[name] = known.of(part_of(field, "type")).text
            except NoSparkType as error:
                types[name] = None
                unreadable.append((name, str(error)))
    except (KeyError, TypeError, ValueError) as error:
        raise NotAvro(f"a schema that is not Avro: {error!r}") from error
    return columns, tuple(types[name] for name in columns), tuple(unreadable)


def _reader(schema: Any) -> str:
    """The schema whose decimals have as many digits as Spark can read; empty if it has no decimals.

    By the file's own schema Spark cuts numbers that are too long to their last 64 bits, or fails.
    """
    return json.dumps(_with_room(schema)) if '"decimal"' in json.dumps(schema) else ""


def _with_room(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_with_room(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _with_room(part) if key in _PARTS else part for key, part in schema.items() if key != "doc"}
    if schema.get("logicalType") == "decimal" and schema["type"] in ("bytes", "fixed"):
        made["precision"] = max(int(schema["precision"]), _most_digits(schema.get("size")))
    return made


def _most_digits(size: int | None) -> int:
    """The digits of any decimal in ``size`` bytes, as the specification counts them; None: in any."""
    digits = MAX_PRECISION if size is None else len(str((1 << 8 * size - 1) - 1)) - 1
    return min(MAX_PRECISION, digits)


def _damaged(found: str) -> UnreadableFile:
    return UnreadableFile("LS422", "it is not a whole Avro file", "an Avro object container file", found)
