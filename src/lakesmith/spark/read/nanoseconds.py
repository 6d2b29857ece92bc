"""Timestamps in nanoseconds, which Spark reads as whole numbers and holds as microseconds."""

from __future__ import annotations

from lakesmith.project.spark_types import SqlType, composed
from lakesmith.sources.shape import NANOS


def is_nanos(kind: SqlType) -> bool:
    return kind.text in NANOS


def has_nanos(kind: SqlType) -> bool:
    return any(map(is_nanos, kind.leaves()))


def read_as(kind: SqlType) -> SqlType:
    """Returns the type that Spark is asked to read a file's type as."""
    if kind.outer and has_nanos(kind):
        return composed(kind.outer, [(name, read_as(part)) for name, part in kind.parts])
    return SqlType(text="bigint") if is_nanos(kind) else kind


def in_micros(kind: SqlType) -> SqlType:
    return SqlType(text=NANOS[kind.text])


def micros(read: str, kind: SqlType) -> str:
    """Returns SQL of the timestamp, rounded towards the past to microseconds."""
    whole = f"({read} div 1000 - IF({read} % 1000 < 0, 1, 0))"
    if NANOS[kind.text] == "timestamp":
        return f"timestamp_micros({whole})"
    # Not by way of a timestamp: its clock is that of the session's zone.
    return f"(TIMESTAMP_NTZ '1970-01-01 00:00:00' + {whole} * INTERVAL '0.000001' SECOND)"


def inexact(read: str) -> str:
    """Returns SQL that is true if microseconds are not exact."""
    return f"coalesce({read} % 1000 <> 0, false)"


def text(read: str, kind: SqlType) -> str:
    """Returns SQL of its text with all of its digits."""
    value = micros(read, kind)
    digits = f"lpad(CAST(pmod({read}, 1000000000) AS STRING), 9, '0')"
    exact = f"concat(date_format({value}, 'yyyy-MM-dd HH:mm:ss'), '.', {digits})"
    return f"IF({inexact(read)}, {exact}, CAST({value} AS STRING))"
