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
from lakesmith.project.spark_types import TypeProblem, normal_type

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
    """The fields of a record schema as columns, each with its line. None of them is ``required``:
    that a schema leaves null out says little of deletes, which often carry only their key.

    Raises ProjectError LS113 when the text is no JSON, no record, or a field has no Spark type (every such field).
    """
    columns, problems, types = [], [], _Types()
    for field in _fields(text, file):
        name, doc = field.get("name"), field.get("doc")
        place = Place(file, _line_of(text, name))
        try:
            found = normal_type(types.of(_part(field, "type")))
            columns.append(
                Column(_text(field, "name"), found, doc if isinstance(doc, str) else None, place=place)
            )
        except (_Unsupported, TypeProblem) as error:
            what = f"the Avro field {name!r} cannot be a column"
            problems.append(Problem("LS113", what, place, f"a type: {_SUPPORTED}", str(error)))
    if problems:
        raise ProjectError(problems)
    return tuple(columns)


def _fields(text: str, file: str) -> list[dict[str, Any]]:
    try:
        schema: Any = json.loads(text)
    except json.JSONDecodeError as error:
        problem = Problem("LS113", "this Avro schema is not JSON", Place(file, error.lineno), found=error.msg)
        raise ProjectError(problem) from error
    fields = schema.get("fields") if isinstance(schema, dict) and schema.get("type") == "record" else None
    if not isinstance(fields, list) or not fields or not all(isinstance(field, dict) for field in fields):
        what = "this Avro schema is no record"
        raise ProjectError(Problem("LS113", what, Place(file, 1), '{"type": "record", "fields": [ ... ]}'))
    return fields


def _line_of(text: str, name: Any) -> int:
    found = re.search(r'"name"\s*:\s*' + re.escape(json.dumps(name, ensure_ascii=False)), text)
    return text.count("\n", 0, found.start()) + 1 if found else 1


class _Types:
    """Finds the types of one schema; named types can be used again by their names, as the specification allows."""

    def __init__(self) -> None:
        self._named: dict[str, str | None] = {}

    def of(self, schema: Any) -> str:
        """The Spark type of a schema. Raises _Unsupported."""
        if isinstance(schema, list):
            return self._union(schema)
        if isinstance(schema, dict):
            return self._mapping(schema)
        if schema in _SIMPLE:
            return _SIMPLE[schema]
        if schema in self._named:
            return self._named[schema] or self._recursive(schema)
        raise _Unsupported(f"the type {json.dumps(schema)}")

    def _union(self, schema: list[Any]) -> str:
        rest = [part for part in schema if part != "null"]
        if len(rest) != 1:
            raise _Unsupported(f"the union {json.dumps(schema)}")
        return self.of(rest[0])

    def _mapping(self, schema: Mapping[str, Any]) -> str:
        kind, logical = _part(schema, "type"), schema.get("logicalType")
        if kind in ("record", "enum", "fixed"):
            return self._name(schema, kind, logical)
        if logical == "decimal" and kind == "bytes":
            return _decimal(schema)
        if kind == "array":
            return f"array<{self.of(_part(schema, 'items'))}>"
        if kind == "map":
            return f"map<string,{self.of(_part(schema, 'values'))}>"
        return _LOGICAL.get((str(kind), str(logical))) or self.of(kind)

    def _name(self, schema: Mapping[str, Any], kind: str, logical: str | None) -> str:
        names = _names(schema)
        self._named.update(dict.fromkeys(names))
        if kind == "record":
            found = f"struct<{','.join(map(self._field, _list(schema, 'fields')))}>"
        else:
            found = _decimal(schema) if logical == "decimal" else {"enum": "string", "fixed": "binary"}[kind]
        self._named.update(dict.fromkeys(names, found))
        return found

    def _field(self, field: Any) -> str:
        return f"{_text(field, 'name')}:{self.of(_part(field, 'type'))}"

    @staticmethod
    def _recursive(name: str) -> str:
        raise _Unsupported(f"{name}, which contains itself")


def _names(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The names a type can be referred to by: with its namespace, and without."""
    name, namespace = _text(schema, "name"), schema.get("namespace")
    return (name.rpartition(".")[2], f"{namespace}.{name}" if namespace else name)


def _decimal(schema: Mapping[str, Any]) -> str:
    return f"decimal({_part(schema, 'precision')},{schema.get('scale', 0)})"


def _part(schema: Any, name: str) -> Any:
    if not isinstance(schema, dict) or schema.get(name) is None:
        raise _Unsupported(f"{json.dumps(schema)}, which has no {name}")
    return schema[name]


def _text(schema: Any, name: str) -> str:
    found = _part(schema, name)
    if not isinstance(found, str):
        raise _Unsupported(f"{json.dumps(found)}, where {name} is no text")
    return found


def _list(schema: Any, name: str) -> list[Any]:
    found = _part(schema, name)
    if not isinstance(found, list):
        raise _Unsupported(f"{json.dumps(found)}, where {name} is no list")
    return found
