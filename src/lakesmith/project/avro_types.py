"""Conversion of Avro schemas (Avro 1.12 specification) to the Spark types of Spark's Avro reader
(``SchemaConverters``).

``[null, T]`` is a nullable T. ``date``, ``timestamp-millis``, ``timestamp-micros`` and ``decimal`` keep their
meaning; ``local-timestamp-*`` is ``timestamp_ntz``. Enums and UUIDs are strings, fixed values are binary, and
a nested record is a struct.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

from lakesmith.project.spark_types import SqlType, composed, precision_and_scale
from lakesmith.quoting import literal

_T = TypeVar("_T")


class NoAvroType(ValueError):
    """A part of a schema without a Spark type; the message names the part."""


class NoSparkType(NoAvroType):
    """A part of a valid schema for which Spark has no type: a record that contains itself, for one."""


class AvroTypes:
    """Lookup of types in one schema. Named types can be used again by name, as the specification allows."""

    simple: ClassVar[Mapping[str, str]] = {
        "boolean": "boolean",
        "int": "int",
        "long": "bigint",
        "float": "float",
        "double": "double",
        "bytes": "binary",
        "string": "string",
    }
    logical: ClassVar[Mapping[tuple[str, str], str]] = {
        ("int", "date"): "date",
        ("long", "timestamp-millis"): "timestamp",
        ("long", "timestamp-micros"): "timestamp",
        ("long", "local-timestamp-millis"): "timestamp_ntz",
        ("long", "local-timestamp-micros"): "timestamp_ntz",
    }

    def __init__(self, record: Mapping[str, Any]) -> None:
        """Takes the schema itself, a ``record``."""
        names = _names(record) if isinstance(record.get("name"), str) else ()
        self._named: dict[str, SqlType | None] = dict.fromkeys(names)
        self._schemas: dict[str, Mapping[str, Any]] = {}

    def of(self, schema: Any) -> SqlType:
        """Returns the Spark type of a part of the schema. Raises NoAvroType."""
        if isinstance(schema, list):
            return self._union(schema)
        if isinstance(schema, dict):
            return self._mapping(schema)
        if schema in self.simple:
            return SqlType(text=self.simple[schema])
        if schema in self._named:
            return self._named[schema] or _recursive(schema)
        raise NoAvroType(f"the type {json.dumps(schema)}")

    def named(self, schema: Any) -> Any:
        """Returns a part of the schema without its null, and with the definition of a named type."""
        if isinstance(schema, list):
            members = [part for part in schema if part != "null"]
            return self.named(members[0]) if len(members) == 1 else schema
        if isinstance(schema, dict) and isinstance(schema.get("type"), dict | list):
            return self.named(schema["type"])
        return self._schemas.get(schema, schema) if isinstance(schema, str) else schema

    def default(self, schema: Any, value: Any) -> str | None:
        """Returns the SQL of a default, for a part that ``of`` was asked for; None for null.

        Raises NoAvroType if the value does not fit the type. Format: Avro 1.12 specification, "Complex
        Types", table of field defaults; bytes are code points up to 255.
        """
        if value is None:
            return None
        kind, plain = self.of(schema), self.named(schema)
        try:
            return f"CAST({self._literal(plain, kind, value)} AS {kind.text})"
        except (ArithmeticError, AttributeError, KeyError, TypeError, UnicodeError, ValueError) as error:
            raise NoAvroType(f"the default {json.dumps(value)} of {json.dumps(schema)}") from error

    def _literal(self, schema: Any, kind: SqlType, value: Any) -> str:
        if kind.outer == "struct":
            each = (self._field(field, value) for field in schema["fields"])
            return f"named_struct({', '.join(each)})"
        if kind.outer == "array":
            return f"array({', '.join(self._item(schema['items'], item) for item in value)})"
        if kind.outer == "map":
            pairs = (f"{literal(key)}, {self._item(schema['values'], item)}" for key, item in value.items())
            return f"map({', '.join(pairs)})"
        logical = schema.get("logicalType") if isinstance(schema, dict) else None
        return _plain_literal(kind.text, logical, value)

    def _field(self, field: Mapping[str, Any], value: Mapping[str, Any]) -> str:
        found = value.get(field["name"], field.get("default"))
        return f"{literal(field['name'])}, {self._item(field['type'], found)}"

    def _item(self, schema: Any, value: Any) -> str:
        return self.default(schema, value) or f"CAST(NULL AS {self.of(schema).text})"

    def union(self, schema: Sequence[Any], members: Sequence[Any]) -> SqlType:
        """Returns the type of a union of null and several ``members``, or of none."""
        raise NoAvroType(f"the union {json.dumps(schema)}")

    def decimal(self, schema: Mapping[str, Any]) -> SqlType:
        """Returns the type of decimals."""
        return SqlType(text=f"decimal({part_of(schema, 'precision')},{schema.get('scale', 0)})")

    def _union(self, schema: list[Any]) -> SqlType:
        members = [part for part in schema if part != "null"]
        return self.of(members[0]) if len(members) == 1 else self.union(schema, members)

    def _mapping(self, schema: Mapping[str, Any]) -> SqlType:
        kind, logical = part_of(schema, "type"), schema.get("logicalType")
        if kind in ("record", "enum", "fixed"):
            return self._name(schema, kind, logical)
        if logical == "decimal" and kind == "bytes":
            return self.decimal(schema)
        if kind == "array":
            return composed("array", [("element", self.of(part_of(schema, "items")))])
        if kind == "map":
            value = self.of(part_of(schema, "values"))
            return composed("map", [("key", SqlType(text="string")), ("value", value)])
        found = self.logical.get((str(kind), str(logical)))
        return SqlType(text=found) if found else self.of(kind)

    def _name(self, schema: Mapping[str, Any], kind: str, logical: str | None) -> SqlType:
        names = _names(schema)
        self._named.update(dict.fromkeys(names))
        self._schemas.update(dict.fromkeys(names, schema))
        if kind == "record":
            found = self._record(_of_kind(schema, "fields", list, "list"))
        elif logical == "decimal" and kind == "fixed":
            found = self.decimal(schema)
        else:
            found = SqlType(text="string" if kind == "enum" else "binary")
        self._named.update(dict.fromkeys(names, found))
        return found

    def _record(self, fields: Sequence[Any]) -> SqlType:
        """Looks at all fields before it raises, because other fields may use the names that they define."""
        parts, failures = [], []
        for field in fields:
            try:
                parts.append((text_of(field, "name"), self.of(part_of(field, "type"))))
            except NoSparkType as error:
                failures.append(error)
        if failures:
            raise failures[0]
        return composed("struct", parts)


def part_of(schema: Any, name: str) -> Any:
    """Returns a required part of a schema. Raises NoAvroType."""
    if not isinstance(schema, dict) or schema.get(name) is None:
        raise NoAvroType(f"{json.dumps(schema)}, which has no {name}")
    return schema[name]


def text_of(schema: Any, name: str) -> str:
    """Returns a required text of a schema. Raises NoAvroType."""
    return _of_kind(schema, name, str, "text")


def _of_kind(schema: Any, name: str, kind: type[_T], word: str) -> _T:
    found = part_of(schema, name)
    if not isinstance(found, kind):
        raise NoAvroType(f"{json.dumps(found)}, where {name} is no {word}")
    return found


def _names(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of a named type: without its namespace and with it."""
    name, space = text_of(schema, "name"), schema.get("namespace")
    return (name.rpartition(".")[2], f"{space}.{name}" if space and "." not in name else name)


def _plain_literal(kind: str, logical: Any, value: Any) -> str:
    """The SQL of a default of a type without parts. Raises ValueError, among others, if the value does not
    fit the type."""
    shape = precision_and_scale(kind)
    if shape or kind == "binary":
        data = value.encode("latin-1")
        number = Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-shape[1]) if shape else None
        return f"X'{data.hex()}'" if number is None else literal(str(number))
    if kind == "string":
        return literal(value)
    if isinstance(value, bool) != (kind == "boolean"):
        raise ValueError(f"another type: {value}")
    if kind == "boolean":
        return str({True: "true", False: "false"}[value])
    if kind in ("float", "double"):
        return literal(str(float(value)))
    whole = int(value)
    if whole != value:
        raise ValueError(f"no whole number: {value}")
    if kind == "date":
        return f"date_from_unix_date({whole})"
    if kind in ("timestamp", "timestamp_ntz"):
        micros = whole * 1000 if str(logical).endswith("millis") else whole
        epoch = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"
        local = f"{epoch} + {micros}L * INTERVAL '0.000001' SECOND"
        return f"timestamp_micros({micros})" if kind == "timestamp" else local
    return str(whole)


def _recursive(name: str) -> SqlType:
    raise NoSparkType(f"{name}, which contains itself")
