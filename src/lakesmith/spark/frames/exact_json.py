"""Rows as JSON that is read back exactly as it was: what a row in quarantine is kept as, and its way back.

JSON itself cannot say which type a value had, so the types are kept beside it, as DDL. Spark's defaults cut
times to milliseconds, and its reader knows no maps but those with string keys: others are written as arrays
of entries. All of it is SQL text, as the readers' is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType

from lakesmith.quoting import literal, own, quoted
from lakesmith.spark.frames.sql_text import any_of, options

_OPTIONS: Final = (
    ("timestampFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"),
    ("timestampNTZFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"),
    # Elsewhere zones once were a number of seconds apart, for which the format has no place.
    ("timeZone", "UTC"),
)
_DAMAGED: Final = own("damaged")


def types_of(schema: StructType, columns: Sequence[str]) -> str:
    return StructType([StructField(column, schema[column].dataType) for column in columns]).toDDL()


def parse_types(types: str) -> StructType:
    """The schema that ``types_of`` wrote."""
    schema = DataType.fromDDL(types)
    assert isinstance(schema, StructType)
    return schema


def frame_of(spark: SparkSession, rows: Sequence[Mapping[str, object]], types: str) -> DataFrame:
    """Returns given rows as a frame of ``types`` (DDL), without the Python workers of ``createDataFrame``."""
    schema = StructType([StructField("rows", ArrayType(parse_types(types)))]).toDDL()
    text = json.dumps({"rows": list(rows)})
    return spark.range(1).selectExpr(f"inline(from_json({literal(text)}, {literal(schema)}).rows)")


def exact_json(fields: Sequence[tuple[str, str, DataType]]) -> str:
    """SQL of one JSON object: each field's name, the SQL of its value, and its type."""
    values = ", ".join(
        f"{_turned(value, kind, _PLAIN_MAP)} AS {quoted(field)}" for field, value, kind in fields
    )
    return f"to_json(struct({values}), {options(_OPTIONS)})"


def read_json(text: str, types: str) -> str:
    """Returns SQL that parses what ``exact_json`` wrote, for ``restored`` and ``is_damaged``."""
    written = StructType([StructField(field.name, _written(field.dataType)) for field in parse_types(types)])
    schema = written.add(_DAMAGED, StringType()).toDDL()
    more = (("mode", "PERMISSIVE"), ("columnNameOfCorruptRecord", _DAMAGED))
    return f"from_json({text}, {literal(schema)}, {options((*_OPTIONS, *more))})"


def restored(parsed: str, types: str) -> list[str]:
    """SQL of each field, as it was written, of the struct ``parsed`` that ``read_json`` gave."""
    return [
        f"{_turned(f'{parsed}.{quoted(field.name)}', field.dataType, _RESTORED_MAP)} AS {quoted(field.name)}"
        for field in parse_types(types)
    ]


def is_damaged(parsed: str, types: str) -> str:
    """SQL that is true when the text was not what ``exact_json`` writes, or cannot be ``restored``."""
    twice = (_has_key_twice(f"{parsed}.{quoted(field.name)}", field.dataType) for field in parse_types(types))
    odd = "".join(f" OR coalesce({test}, false)" for test in twice if test)
    return f"({parsed} IS NULL OR {parsed}.{_DAMAGED} IS NOT NULL{odd})"


def _has_key_twice(written: str, kind: DataType, depth: int = 0) -> str | None:
    """SQL that is true for entries of which no map can be made; None: there are none."""
    if not _has_odd_map(kind):
        return None
    element = f"e{depth}"
    match kind:
        case MapType():
            keys = f"transform({written}, {element} -> {element}.key)"
            inside = _has_key_twice(f"{element}.value", kind.valueType, depth + 1)
            other = f" OR exists({written}, {element} -> {inside})" if inside else ""
            return f"(size(array_distinct({keys})) < size({keys}){other})"
        case ArrayType():
            return f"exists({written}, {element} -> {_has_key_twice(element, kind.elementType, depth + 1)})"
        case StructType():
            tests = (_has_key_twice(f"{written}.{quoted(f.name)}", f.dataType, depth) for f in kind)
            return any_of(test for test in tests if test)
    return None


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


_PLAIN_MAP: Final = "transform(map_entries({value}), {entry} -> struct({key} AS key, {of} AS value))"
_RESTORED_MAP: Final = "map_from_entries(transform({value}, {entry} -> struct({key}, {of})))"


def _turned(value: str, kind: DataType, of_map: str, depth: int = 0) -> str:
    if not _has_odd_map(kind):
        return value
    element = f"e{depth}"
    match kind:
        case MapType():
            key = _turned(f"{element}.key", kind.keyType, of_map, depth + 1)
            of = _turned(f"{element}.value", kind.valueType, of_map, depth + 1)
            return of_map.format(value=value, entry=element, key=key, of=of)
        case ArrayType():
            return f"transform({value}, {element} -> {_turned(element, kind.elementType, of_map, depth + 1)})"
        case StructType():
            fields = ((f.name, _turned(f"{value}.{quoted(f.name)}", f.dataType, of_map, depth)) for f in kind)
            pairs = ", ".join(f"{literal(field)}, {of}" for field, of in fields)
            return f"IF({value} IS NULL, NULL, named_struct({pairs}))"
    return value
