"""Avro record schemas (``.avsc``, Avro 1.12 specification) to columns with Spark types.

The types are those Spark's own Avro reader gives (``SchemaConverters``): ``[null, T]`` is a T that may be null; ``date``,
``timestamp-millis``, ``timestamp-micros`` and ``decimal`` keep their meaning; ``local-timestamp-*`` is ``timestamp_ntz``;
enum and uuid are strings, fixed is binary, and a record inside a record is a struct.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from lakesmith.errors import Place, Problem, ProjectError
from lakesmith.project.definitions import Column

_SIMPLE: Final = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
}
_LOGICAL: Final = {
    ("int", "date"): "date",
    ("long", "timestamp-millis"): "timestamp",
    ("long", "timestamp-micros"): "timestamp",
    ("long", "local-timestamp-millis"): "timestamp_ntz",
    ("long", "local-timestamp-micros"): "timestamp_ntz",
}
_SUPPORTED: Final = (
    f"{', '.join(_SIMPLE)}, enum, fixed, array, map, record, or a union of one of them with null"
)


class _Unsupported(ValueError):
    """A part of a schema that has no column type."""


def avro_columns(text: str, file: str) -> tuple[Column, ...]:
    """The fields of a record schema as columns, each with its line. A field whose union lacks null is ``required``: False.

    Raises ProjectError LS113 when the text is no JSON, no record, or a field has no Spark type (every such field).
    """
    schema = _parsed(text, file)
    columns, problems = [], []
    for field in schema["fields"]:
        place = Place(file, _line_of(text, field.get("name", "")))
        try:
            columns.append(Column(field["name"], _type_of(field["type"], {}), field.get("doc"), place=place))
        except (_Unsupported, KeyError) as error:
            what = f"the Avro field {field.get('name')!r} cannot be a column"
            problems.append(Problem("LS113", what, place, f"a type: {_SUPPORTED}", str(error)))
    if problems:
        raise ProjectError(problems)
    return tuple(columns)


def _parsed(text: str, file: str) -> dict[str, Any]:
    try:
        schema: Any = json.loads(text)
    except json.JSONDecodeError as error:
        problem = Problem("LS113", "this Avro schema is not JSON", Place(file, error.lineno), found=error.msg)
        raise ProjectError(problem) from error
    is_record = isinstance(schema, dict) and schema.get("type") == "record"
    if not is_record or not all(isinstance(field, dict) for field in schema.get("fields") or [None]):
        what = "this Avro schema is no record"
        raise ProjectError(Problem("LS113", what, Place(file, 1), '{"type": "record", "fields": [ ... ]}'))
    return dict(schema)


def _line_of(text: str, name: str) -> int:
    found = re.search(r'"name"\s*:\s*' + re.escape(json.dumps(name, ensure_ascii=False)), text)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _type_of(schema: Any, named: Mapping[str, str]) -> str:
    if isinstance(schema, list):
        return _union(schema, named)
    if isinstance(schema, str):
        if schema in _SIMPLE:
            return _SIMPLE[schema]
        raise _Unsupported(f"the type {schema!r}")
    if not isinstance(schema, dict):
        raise _Unsupported(f"{schema!r}")
    return _of_mapping(schema, named)


def _union(schema: list[Any], named: Mapping[str, str]) -> str:
    rest = [part for part in schema if part != "null"]
    if len(rest) != 1:
        raise _Unsupported(f"the union {json.dumps(schema)}")
    return _type_of(rest[0], named)


def _of_mapping(schema: Mapping[str, Any], named: Mapping[str, str]) -> str:
    kind, logical = schema.get("type"), schema.get("logicalType")
    if logical == "decimal" and kind in {"bytes", "fixed"}:
        return f"decimal({schema['precision']},{schema.get('scale', 0)})"
    if (kind, logical) in _LOGICAL:
        return _LOGICAL[(str(kind), str(logical))]
    if kind == "array":
        return f"array<{_type_of(schema['items'], named)}>"
    if kind == "map":
        return f"map<string,{_type_of(schema['values'], named)}>"
    if kind == "record":
        fields = (f"{field['name']}:{_type_of(field['type'], named)}" for field in schema["fields"])
        return f"struct<{','.join(fields)}>"
    return {"enum": "string", "fixed": "binary"}.get(str(kind)) or _type_of(kind, named)
