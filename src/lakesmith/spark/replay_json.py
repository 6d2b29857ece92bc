"""Rows as JSON that is read back exactly as it was: what a row in quarantine is kept as, and its way back.

JSON itself cannot say which type a value had, so the types are kept beside it, as DDL. Spark's defaults cut times to
milliseconds, and its reader knows no maps but those with string keys: others are written as arrays of entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType

_OPTIONS: Final = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_DAMAGED: Final = "_damaged"


def types_of(schema: StructType, columns: Sequence[str]) -> str:
    """The types of ``columns`` as DDL, in their order."""
    return StructType([schema[name] for name in columns]).toDDL()


def exact_json(fields: Sequence[tuple[str, SparkColumn, DataType]]) -> SparkColumn:
    """Named values of known types as one JSON object."""
    return F.to_json(F.struct(*(_plain(value, kind).alias(name) for name, value, kind in fields)), _OPTIONS)


def read_json(text: SparkColumn, types: str) -> tuple[SparkColumn, SparkColumn]:
    """The row that ``exact_json`` wrote, as a struct of ``types`` (DDL), and whether the text could not be read."""
    schema = parse_types(types)
    written = StructType([StructField(field.name, _written(field.dataType)) for field in schema])
    options = {**_OPTIONS, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": _DAMAGED}
    parsed = F.from_json(text, StructType([*written, StructField(_DAMAGED, StringType())]), options)
    fields = [_restored(parsed[field.name], field.dataType).alias(field.name) for field in schema]
    return F.struct(*fields), parsed.isNull() | parsed[_DAMAGED].isNotNull()


def parse_types(types: str) -> StructType:
    """The schema that ``types_of`` wrote."""
    schema = DataType.fromDDL(types)
    assert isinstance(schema, StructType)
    return schema


def _has_odd_map(kind: DataType) -> bool:
    match kind:
        case MapType():
            return not isinstance(kind.keyType, StringType) or _has_odd_map(kind.valueType)
        case ArrayType():
            return _has_odd_map(kind.elementType)
        case StructType():
            return any(_has_odd_map(field.dataType) for field in kind)
    return False


def _written(kind: DataType) -> DataType:
    """The type as which a value of ``kind`` is written."""
    if not _has_odd_map(kind):
        return kind
    match kind:
        case MapType():
            pair = [
                StructField("key", _written(kind.keyType)),
                StructField("value", _written(kind.valueType)),
            ]
            return ArrayType(StructType(pair))
        case ArrayType():
            return ArrayType(_written(kind.elementType))
        case StructType():
            return StructType([StructField(field.name, _written(field.dataType)) for field in kind])
    return kind


def _plain(value: SparkColumn, kind: DataType) -> SparkColumn:
    """``value`` of type ``kind`` as its written type."""
    if not _has_odd_map(kind):
        return value
    match kind:
        case MapType():
            return F.transform(F.map_entries(value), lambda entry: _pair(_plain, entry, kind))
        case ArrayType():
            return F.transform(value, lambda element: _plain(element, kind.elementType))
        case StructType():
            return _struct(_plain, value, kind)
    return value


def _restored(value: SparkColumn, kind: DataType) -> SparkColumn:
    """The inverse of ``_plain``."""
    if not _has_odd_map(kind):
        return value
    match kind:
        case MapType():
            return F.map_from_entries(F.transform(value, lambda entry: _pair(_restored, entry, kind)))
        case ArrayType():
            return F.transform(value, lambda element: _restored(element, kind.elementType))
        case StructType():
            return _struct(_restored, value, kind)
    return value


_Change = Callable[[SparkColumn, DataType], SparkColumn]


def _pair(change: _Change, entry: SparkColumn, kind: MapType) -> SparkColumn:
    key, value = change(entry["key"], kind.keyType), change(entry["value"], kind.valueType)
    return F.struct(key.alias("key"), value.alias("value"))


def _struct(change: _Change, value: SparkColumn, kind: StructType) -> SparkColumn:
    fields = [change(value[field.name], field.dataType).alias(field.name) for field in kind]
    return F.when(value.isNotNull(), F.struct(*fields))
