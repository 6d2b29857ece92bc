"""The schema in the footer of a Parquet file, in the types that Spark reads it with.

The mapping is that of Spark's ``ParquetToSparkSchemaConverter``: unsigned integers get the next wider type,
INT96 is a timestamp, and a timestamp has a time zone or not, as the file says.
"""

from __future__ import annotations

from typing import Any

from lakesmith.project.spark_types import MAX_PRECISION, SqlType, composed
from lakesmith.sources.model import LandingFile
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
    # Only Arrow distinguishes these; in the file they are the same as the ones above.
    "string_view": "string",
    "binary_view": "binary",
    "extension<arrow.json>": "string",
    # A column of nothing but nulls (the logical type UNKNOWN).
    "null": "void",
}


def read_parquet_shape(path: LandingFile) -> FileShape:
    """Returns the shape of one file. Raises UnreadableFile LS422 if it is not Parquet, and OSError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.stat().st_size == 0:
        return FileShape(empty=True)
    try:
        with path.open("rb") as file:
            footer = pq.read_metadata(file)
        schema = footer.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        raise _damaged(error) from error
    check_names(tuple(schema.names))
    int96 = any(footer.schema.column(i).physical_type == "INT96" for i in range(footer.num_columns))
    types = tuple(_spark_type(field.type, int96) for field in schema)
    pairs = zip(schema, types, strict=True)
    unreadable = tuple((field.name, str(field.type)) for field, type_ in pairs if type_ is None)
    return FileShape(tuple(schema.names), types, footer.num_rows == 0, unreadable)


class _NoType(Exception):
    """Spark has no type for an Arrow type."""


def _spark_type(kind: Any, int96: bool) -> str | None:
    """Returns the Spark SQL type of an Arrow type, or None. ``int96``: the file has such timestamps."""
    try:
        return _sql_type(kind, int96).text
    except _NoType:
        return None


def _sql_type(kind: Any, int96: bool) -> SqlType:
    import pyarrow.types as pt

    if pt.is_dictionary(kind):
        return _sql_type(kind.value_type, int96)
    if pt.is_struct(kind):
        return composed("struct", [(field.name, _sql_type(field.type, int96)) for field in kind])
    if pt.is_map(kind):
        parts = {"key": kind.key_type, "value": kind.item_type}
        return composed("map", [(name, _sql_type(part, int96)) for name, part in parts.items()])
    if pt.is_list(kind) or pt.is_large_list(kind) or pt.is_fixed_size_list(kind):
        return composed("array", [("element", _sql_type(kind.value_type, int96))])
    text = _simple(kind, int96)
    if text is None:
        raise _NoType
    return SqlType(text=text)


def _simple(kind: Any, int96: bool) -> str | None:
    import pyarrow.types as pt

    if pt.is_timestamp(kind):
        return _timestamp(kind, int96)
    if pt.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})" if kind.precision <= MAX_PRECISION else None
    if pt.is_duration(kind):
        return "bigint"
    return "binary" if pt.is_fixed_size_binary(kind) else _TYPES.get(str(kind))


def _timestamp(kind: Any, int96: bool) -> str:
    # Arrow shows INT96 as nanoseconds without a zone.
    if kind.unit == "ns" and not (int96 and kind.tz is None):
        return "timestamp_ns" if kind.tz else "timestamp_ntz_ns"
    if kind.unit == "ns":
        return "timestamp"
    return "timestamp" if kind.tz else "timestamp_ntz"


def read_parquet_pages(path: LandingFile) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as file:
            for _ in pq.ParquetFile(file).iter_batches():
                pass
    except (pa.ArrowException, OSError) as error:
        raise _damaged(error) from error


def _damaged(error: Exception) -> UnreadableFile:
    """Arrow's error for a damaged file. Raises OSErrors that have a number: the system's."""
    if isinstance(error, OSError) and error.errno is not None:
        raise error
    found = str(error).partition(". ")[0]
    return UnreadableFile("LS422", "it is not a whole Parquet file", "a Parquet file", found)


def count_parquet_rows(path: LandingFile) -> int:
    import pyarrow.parquet

    with path.open("rb") as file:
        return int(pyarrow.parquet.read_metadata(file).num_rows)
