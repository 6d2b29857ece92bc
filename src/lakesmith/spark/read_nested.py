"""Types within types: what a declared type is read as from JSON, and how that is made into the type exactly.

Decimals are read with as many digits after the point as fit; dates and times as strings. The rest is read as
declared, because Spark's JSON parser is strict about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lakesmith.spark.read_sql import any_of, literal, name
from lakesmith.spark.read_types import (
    MAX_PRECISION,
    TextFormats,
    exact_from_text,
    plain,
    precision_and_scale,
    roomy_scale,
)

_ISO = TextFormats()
_AS_TEXT = ("date", "timestamp", "timestamp_ntz")


def reading_type(type_: str) -> str:
    """The type to give to ``from_json``."""
    kind = plain(type_)
    shape = precision_and_scale(kind)
    if shape:
        return f"decimal({MAX_PRECISION},{roomy_scale(*shape)})"
    if kind in _AS_TEXT:
        return "string"
    outer, inner = _parts(kind)
    if outer == "array":
        return f"array<{reading_type(inner)}>"
    if outer == "map":
        key, value = _split(inner)
        return f"map<{key},{reading_type(value)}>"
    if outer == "struct":
        return f"struct<{', '.join(f'{name(field)}: {reading_type(of)}' for field, of in _fields(inner))}>"
    return kind


def exact(read: str, type_: str, depth: int = 0) -> str:
    """SQL that turns what was read into the declared type."""
    kind = plain(type_)
    if kind in _AS_TEXT:
        return exact_from_text(read, kind, _ISO)
    outer, inner = _parts(kind)
    if reading_type(kind) == kind:
        return read
    variable = f"v{depth}"
    if outer == "array":
        return f"transform({read}, {variable} -> {exact(variable, inner, depth + 1)})"
    if outer == "map":
        value = exact(variable, _split(inner)[1], depth + 1)
        return f"transform_values({read}, (k{depth}, {variable}) -> {value})"
    if outer == "struct":
        fields = (
            f"{literal(field)}, {exact(f'{read}.{name(field)}', of, depth)}" for field, of in _fields(inner)
        )
        return f"IF({read} IS NULL, NULL, named_struct({', '.join(fields)}))"
    return f"try_cast({read} AS {kind})"  # a decimal: the digits are counted in exact_or_null


def exact_or_null(read: str, value: str, type_: str, depth: int = 0) -> str | None:
    """SQL that is true when something was read that ``value`` does not say; None: that cannot be."""
    kind = plain(type_)
    if kind in _AS_TEXT:
        return f"{read} IS NOT NULL AND {value} IS NULL"
    if precision_and_scale(kind):
        return f"{read} IS NOT NULL AND NOT ({read} <=> {value})"
    if kind in ("double", "float"):
        return f"abs({read}) = {kind}('Infinity')"
    outer, inner = _parts(kind)
    if outer == "struct":
        parts = (
            exact_or_null(f"{read}.{name(field)}", exact(f"{read}.{name(field)}", of, depth), of, depth)
            for field, of in _fields(inner)
        )
        doubts = [part for part in parts if part]
        return any_of(doubts) if doubts else None
    if outer in ("array", "map"):
        return _odd_elements(read, inner if outer == "array" else _split(inner)[1], outer, depth)
    return None


def _odd_elements(read: str, type_: str, outer: str, depth: int) -> str | None:
    variable = f"w{depth}"
    odd = exact_or_null(variable, exact(variable, type_, depth + 1), type_, depth + 1)
    elements = read if outer == "array" else f"map_values({read})"
    return f"exists({elements}, {variable} -> coalesce({odd}, false))" if odd else None


def _parts(type_: str) -> tuple[str, str]:
    """``array<int>`` -> ("array", "int"); a type without parts -> ("", "")."""
    match = re.fullmatch(r"(array|map|struct)<(.*)>", type_, re.DOTALL)
    return (match[1], match[2]) if match else ("", "")


def _split(inner: str) -> tuple[str, str]:
    key, value = _at_top(inner)
    return key, value


def _fields(inner: str) -> Iterator[tuple[str, str]]:
    for field in _at_top(inner):
        match = re.fullmatch(
            r"\s*(`(?:[^`]|``)+`|[^:\s]+)\s*[:\s]\s*(.+?)(?:\s+comment\s.*)?\s*", field, re.DOTALL
        )
        if match is None:
            raise ValueError(f"not a field of a struct type: {field!r}")
        quoted = match[1].startswith("`")
        yield (match[1][1:-1].replace("``", "`") if quoted else match[1]), match[2]


def _at_top(text: str) -> list[str]:
    """Splits at the commas that are in no brackets and in no quoted name."""
    parts, depth, start, quoted = [], 0, 0, False
    for position, character in enumerate(text):
        quoted ^= character == "`"
        depth += 0 if quoted else (character in "<(") - (character in ">)")
        if character == "," and depth == 0 and not quoted:
            parts.append(text[start:position].strip())
            start = position + 1
    return [*parts, text[start:].strip()]
