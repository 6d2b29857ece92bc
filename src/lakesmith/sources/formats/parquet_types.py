"""The types of a Parquet file's columns, by its footer.

The mapping is that of Spark's ``ParquetToSparkSchemaConverter``: unsigned integers get the next wider type,
and a timestamp has a time zone or not, as the file says. Types that Spark converts before a value can be
validated, or lacks, are those of ``sources.file_types``.
Source: apache/parquet-format, LogicalTypes.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from lakesmith.project.spark_types import MAX_PRECISION, SqlType, composed
from lakesmith.sources.file_types import bytes_decimal, wide_decimal

_TYPES: Final = {
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint8": "smallint",
    "uint16": "int",
    "uint32": "bigint",
    "uint64": "decimal(20,0)",
    "halffloat": "float16",
    "float": "float",
    "double": "double",
    "string": "string",
    "large_string": "string",
    "binary": "binary",
    "large_binary": "binary",
    "date32[day]": "date",
    "time32[ms]": "time_ms",
    "time64[us]": "time_us",
    "time64[ns]": "time_ns",
    # Only Arrow distinguishes these; in the file they are the same as the ones above.
    "string_view": "string",
    "binary_view": "binary",
    # A column of nothing but nulls (the logical type UNKNOWN).
    "null": "void",
}
_LOGICAL: Final = {"ENUM": "string", "JSON": "string", "UUID": "uuid"}
"""Types that Arrow takes for bytes, or names otherwise with some of its settings."""
_BYTES: Final = {"INT32": 4, "INT64": 8}
_OF_SPARK: Final = (b"org.apache.spark.version", b"org.apache.spark.sql.parquet.row.metadata")
"""What only Spark's files have in their footers."""


def parquet_types(footer: Any, largest: Callable[[int, int], int | None]) -> tuple[str | None, ...]:
    """Returns the types of the columns, in order; None if Spark has none.

    ``footer``: as PyArrow reads it; ``largest``: the largest number of a column of decimals, by its place and
    the bytes of its values; None if that is not known.
    """
    leaves = _Leaves(footer, largest)
    return tuple(leaves.type_of(field.type) for field in footer.schema.to_arrow_schema())


class _Leaves:
    """The columns without parts of a file, which come in the order of the fields that have them."""

    def __init__(self, footer: Any, largest: Callable[[int, int], int | None]) -> None:
        self._footer, self._next, self._largest = footer, 0, largest
        self._by_spark = any(key in _OF_SPARK for key in footer.metadata or ())

    def type_of(self, kind: Any) -> str | None:
        """Returns the type of the next field, whose type Arrow says."""
        found = self._sql_type(kind)
        return None if found is None else found.text

    def _sql_type(self, kind: Any) -> SqlType | None:
        """Visits all parts, whatever is found, as each takes its leaf."""
        import pyarrow.types as pt

        if pt.is_struct(kind):
            return _with_parts("struct", [(field.name, self._sql_type(field.type)) for field in kind])
        if pt.is_map(kind):
            parts = {"key": kind.key_type, "value": kind.item_type}
            return _with_parts("map", [(name, self._sql_type(part)) for name, part in parts.items()])
        if pt.is_list(kind) or pt.is_large_list(kind) or pt.is_fixed_size_list(kind):
            return _with_parts("array", [("element", self._sql_type(kind.value_type))])
        number, self._next = self._next, self._next + 1
        text = self._leaf(kind.value_type if pt.is_dictionary(kind) else kind, number)
        return SqlType(text=text) if text else None

    def _leaf(self, kind: Any, number: int) -> str | None:
        import pyarrow.types as pt

        column = self._footer.schema.column(number)
        if pt.is_timestamp(kind):
            return self._timestamp(kind, column)
        if pt.is_decimal(kind):
            return self._decimal(kind, column, number)
        if logical := _LOGICAL.get(column.logical_type.type):
            return logical
        if pt.is_duration(kind):
            return "bigint"
        return "binary" if pt.is_fixed_size_binary(kind) else _TYPES.get(str(kind))

    def _timestamp(self, kind: Any, column: Any) -> str:
        is_int96 = column.physical_type == "INT96"
        usual = "timestamp" if kind.tz or is_int96 else "timestamp_ntz"
        if is_int96 or kind.unit == "ms":
            # Spark had no more years and digits than it reads. Of its old files it also knows the calendar.
            return usual if self._by_spark else f"{usual}_{'int96' if is_int96 else 'ms'}"
        return usual if kind.unit == "us" else f"{usual}_{kind.unit}"

    def _decimal(self, kind: Any, column: Any, number: int) -> str | None:
        if kind.precision > MAX_PRECISION:
            return None
        width, digits = _BYTES.get(column.physical_type) or column.length, (kind.precision, kind.scale)
        if (largest := self._largest(number, width)) is None:
            # No byte array without statistics has a largest number.
            largest = 1 << 8 * (width or 32) - 1
        if largest < 10**kind.precision:
            return "decimal({},{})".format(*digits)
        return (wide_decimal if largest < 10**MAX_PRECISION else bytes_decimal)(*digits)


def _with_parts(outer: str, parts: Sequence[tuple[str, SqlType | None]]) -> SqlType | None:
    known = [(name, part) for name, part in parts if part is not None]
    return composed(outer, known) if len(known) == len(parts) else None
