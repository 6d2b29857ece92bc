"""The schema in the footer of a Parquet file, in the types that Spark reads it with.

The mapping is that of Spark's ``ParquetToSparkSchemaConverter``: unsigned integers get the next wider type, INT96 is a
timestamp, and a timestamp is one with or without time zone as the file says.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lakesmith.sources.avro_header import struct_type
from lakesmith.sources.shape import FileShape, UnreadableFile, check_names

_TYPES = {
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint8": "smallint",
    "uint16": "int",
    "uint32": "bigint",
    "uint64": "decimal(20,0)",
    "float": "float",
    "double": "double",
    "string": "string",
    "large_string": "string",
    "binary": "binary",
    "large_binary": "binary",
    "date32[day]": "date",
    # What only Arrow tells apart; in the file they are the same as the ones above.
    "string_view": "string",
    "binary_view": "binary",
    "extension<arrow.json>": "string",
    # Arrow writes a column of nulls as INT32, and Spark reads that.
    "null": "int",
}


def read_parquet_shape(path: Path) -> FileShape:
    """The shape of one file. Raises UnreadableFile LS422 when it is not a whole Parquet file, and OSError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.stat().st_size == 0:
        return FileShape(empty=True)
    try:
        footer = pq.read_metadata(path)
        schema = footer.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        # An OSError with a number is the system's (gone, not allowed); without one it is Arrow's word for a damaged footer.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        found = str(error).partition(". ")[0]
        raise UnreadableFile("LS422", "it is not a whole Parquet file", "a Parquet file", found) from error
    check_names(tuple(schema.names))
    int96 = any(footer.schema.column(i).physical_type == "INT96" for i in range(footer.num_columns))
    types = tuple(_spark_type(field.type, int96) for field in schema)
    pairs = zip(schema, types, strict=True)
    unreadable = tuple((field.name, str(field.type)) for field, type_ in pairs if type_ is None)
    return FileShape(tuple(schema.names), types, footer.num_rows == 0, unreadable)


def _spark_type(kind: Any, int96: bool) -> str | None:
    """The Spark SQL type of an Arrow type; None where Spark has none. ``int96``: the file has such timestamps."""
    import pyarrow.types as pt

    if pt.is_timestamp(kind):
        return _timestamp(kind, int96)
    if pt.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})" if kind.precision <= 38 else None
    if pt.is_dictionary(kind):
        return _spark_type(kind.value_type, int96)
    if pt.is_duration(kind):
        return "bigint"
    if pt.is_fixed_size_binary(kind):
        return "binary"
    if pt.is_struct(kind):
        return struct_type([(field.name, _spark_type(field.type, int96)) for field in kind])
    if pt.is_map(kind):
        key, value = _spark_type(kind.key_type, int96), _spark_type(kind.item_type, int96)
        return None if key is None or value is None else f"map<{key},{value}>"
    if pt.is_list(kind) or pt.is_large_list(kind) or pt.is_fixed_size_list(kind):
        item = _spark_type(kind.value_type, int96)
        return None if item is None else f"array<{item}>"
    return _TYPES.get(str(kind))


def _timestamp(kind: Any, int96: bool) -> str:
    # Arrow shows INT96 as nanoseconds without a zone.
    if kind.unit == "ns" and not (int96 and kind.tz is None):
        return "timestamp_ns" if kind.tz else "timestamp_ntz_ns"
    if kind.unit == "ns":
        return "timestamp"
    return "timestamp" if kind.tz else "timestamp_ntz"
