"""Types that files have and Spark lacks, or converts before a value can be validated.

Spark is asked for such a column as its file stores it, and the value is made of that in SQL
(``spark.read.file_values``), so that a value that cannot be converted costs its row and not the batch.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from lakesmith.project.spark_types import MAX_PRECISION, SqlType, composed


@dataclass(frozen=True, slots=True)
class FileType:
    """A type of files. ``stored``: the type that Spark reads it as; ``usual``: the type that a table gets.

    ``loaded``: the type that its values are given as soon as they are read, where that loses nothing.
    ``by_rows``: Spark's vectorised reader cannot read it so, its row reader can.
    """

    stored: str
    usual: str
    loaded: str = ""
    by_rows: bool = False


_FILE_TYPES: Final = {
    "timestamp_ms": FileType("bigint", "timestamp"),
    "timestamp_ntz_ms": FileType("bigint", "timestamp_ntz"),
    "timestamp_ns": FileType("bigint", "timestamp"),
    "timestamp_ntz_ns": FileType("bigint", "timestamp_ntz"),
    "timestamp_int96": FileType("binary", "timestamp", by_rows=True),
    "time_ms": FileType("int", "string"),
    "time_us": FileType("bigint", "string"),
    "time_ns": FileType("bigint", "string"),
    "float16": FileType("binary", "float", loaded="float"),
    "uuid": FileType("binary", "string"),
}
_DECIMAL: Final = re.compile(r"(wide|bytes)_decimal\((\d+),(\d+)\)")


def wide_decimal(precision: int, scale: int) -> str:
    """Returns the type of decimals that may have more digits than their file says, of up to 38."""
    return f"wide_decimal({precision},{scale})"


def bytes_decimal(precision: int, scale: int) -> str:
    """Returns the type of decimals in bytes, which may be any number of digits."""
    return f"bytes_decimal({precision},{scale})"


def file_type(kind: SqlType) -> FileType | None:
    """Returns what is known of a type without parts; None: it is one of Spark's.

    >>> file_type(SqlType(text="timestamp_ms")).usual, file_type(SqlType(text="bigint"))
    ('timestamp', None)
    """
    if found := _DECIMAL.fullmatch(kind.text):
        form, precision, scale = found.groups()
        usual = f"decimal({precision},{scale})"
        if form == "bytes":
            return FileType("binary", usual, loaded="string")
        return FileType(f"decimal({MAX_PRECISION},{scale})", usual)
    return None if kind.outer else _FILE_TYPES.get(kind.text)


def has_file_type(kind: SqlType) -> bool:
    return any(map(file_type, kind.leaves()))


def needs_row_reader(kind: SqlType) -> bool:
    return any(found.by_rows for found in map(file_type, kind.leaves()) if found)


def read_as(kind: SqlType) -> SqlType:
    """Returns the type that Spark is asked to read a file's type as.

    >>> from lakesmith.project.spark_types import parse_type
    >>> read_as(parse_type("array<timestamp_ms>")).text
    'array<bigint>'
    """
    return _each_leaf(kind, lambda found: found.stored)


def loaded_as(kind: SqlType) -> SqlType:
    """Returns the type that the values of a file's type are given as soon as they are read."""
    return _each_leaf(kind, lambda found: found.loaded)


def _each_leaf(kind: SqlType, become: Callable[[FileType], str]) -> SqlType:
    """The type with the types of files in it replaced, unless by nothing."""
    if kind.outer and has_file_type(kind):
        return composed(kind.outer, [(name, _each_leaf(part, become)) for name, part in kind.parts])
    return SqlType(text=text) if (found := file_type(kind)) and (text := become(found)) else kind


def usual_type(kind: SqlType) -> SqlType:
    """Returns Spark's type for the values of a type without parts.

    >>> usual_type(SqlType(text="uuid")).text
    'string'
    """
    return SqlType(text=found.usual) if (found := file_type(kind)) else kind
