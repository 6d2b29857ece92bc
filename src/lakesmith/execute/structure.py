"""A table's metadata made what is declared, without a JVM: names and order of columns, texts, new columns and wider types.

Source: Iceberg's specification, "Schema Evolution" (https://iceberg.apache.org/spec/#schema-evolution): a field keeps its id whatever it is
called, a new one gets the next id. Partitioning, the format version, and types with fields inside are left to Iceberg itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lakesmith.catalog.metadata import spark_type
from lakesmith.catalog.state import TableState
from lakesmith.plan.format_version import FormatUpgrade
from lakesmith.plan.settings import (
    Partitioning,
    Renaming,
    Reordering,
    SettingChange,
    TextSetting,
    changed_settings,
)
from lakesmith.project.definitions import TableDefinition
from lakesmith.sources.columns.types import type_changes

Field = dict[str, Any]

_ICEBERG_NAMES: Final = {"bigint": "long", "timestamp": "timestamptz", "timestamp_ntz": "timestamp"}
_PLAIN: Final = frozenset(
    {"boolean", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp", "timestamp_ntz"}
)
_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_BY_COLUMN: Final = re.compile(r"^schema\.name-mapping|\.column\.")
"""Properties that name columns: Iceberg changes them with these."""


def restructured(table: TableDefinition, state: TableState, data: Mapping[str, Any]) -> dict[str, Any] | None:
    """The metadata ``data``, which ``state`` was read from, as it has to be; None where it takes Iceberg to change it."""
    changes = changed_settings(table, state)
    schema = next(each for each in data["schemas"] if each["schema-id"] == data["current-schema-id"])
    fields: list[Field] | None = [dict(field) for field in schema["fields"]]
    for change in changes:
        fields = _with_names(fields or [], change)
    last = int(data["last-column-id"])
    fields = _as_declared(table, fields or [], last)
    if fields is None or any(isinstance(change, Partitioning | FormatUpgrade) for change in changes):
        return None
    if _named_elsewhere(data, schema["fields"], fields):
        return None
    fields = _in_order(fields, changes)
    wanted = {**schema, "fields": fields}
    schemas, current = _with_schema(data["schemas"], wanted)
    return {
        **data,
        "schemas": schemas,
        "current-schema-id": current,
        "last-column-id": max(last, *(field["id"] for field in fields)),
        "properties": _properties(data["properties"], changes),
    }


def columns_of(data: Mapping[str, Any]) -> dict[str, int]:
    """The names and ids of the columns that metadata has."""
    schema = next(each for each in data["schemas"] if each["schema-id"] == data["current-schema-id"])
    return {field["name"]: field["id"] for field in schema["fields"]}


def _with_names(fields: list[Field], change: SettingChange) -> list[Field]:
    match change:
        case Renaming(found, wanted):
            return [{**field, "name": wanted} if field["name"] == found else field for field in fields]
        case TextSetting(column=column, wanted=doc) if column:
            return [{**field, "doc": doc or ""} if field["name"] == column else field for field in fields]
    return fields


def _as_declared(table: TableDefinition, fields: list[Field], last: int) -> list[Field] | None:
    """With the columns that a table of files has to get, and the wider types; None for a type that is not plain."""
    found = {field["name"].lower(): field for field in fields}
    for column in table.columns if table.is_sourced else ():
        there, kind = found.get(column.name.lower()), _iceberg_type(column.type or "")
        old = spark_type(there["type"]) if there else None
        if old is not None and (column.type is None or type_changes(old, column.type) == ()):
            continue
        if kind is None or (old is not None and not type_changes(old, column.type or "")):
            return None
        if there is not None:
            there["type"] = kind
            continue
        last += 1
        doc = {"doc": column.doc} if column.doc else {}
        found[column.name.lower()] = {"id": last, "name": column.name, "required": False, "type": kind, **doc}
    return list(found.values())


def _iceberg_type(spark: str) -> str | None:
    plain = spark.lower()
    if match := _DECIMAL.fullmatch(plain):
        return f"decimal({match[1]}, {match[2]})"
    return _ICEBERG_NAMES.get(plain, plain) if plain in _PLAIN else None


def _named_elsewhere(data: Mapping[str, Any], before: Sequence[Field], after: Sequence[Field]) -> bool:
    """Whether names that change, or come, may also be in properties and in partition specs."""
    names = {field["name"] for field in after} - {field["name"] for field in before}
    in_specs = {field["name"] for spec in data["partition-specs"] for field in spec["fields"]}
    return bool(names) and (bool(names & in_specs) or any(map(_BY_COLUMN.search, data["properties"])))


def _in_order(fields: list[Field], changes: Sequence[SettingChange]) -> list[Field]:
    wanted = next((change.wanted for change in changes if isinstance(change, Reordering)), ())
    place = {name.lower(): number for number, name in enumerate(wanted)}
    return sorted(fields, key=lambda field: place.get(field["name"].lower(), len(place)))


def _with_schema(schemas: Sequence[Mapping[str, Any]], wanted: Mapping[str, Any]) -> tuple[list[Any], int]:
    """The schemas with the wanted one among them, and its id: one that is the same is used again, as Iceberg does."""
    for schema in sorted(schemas, key=lambda each: bool(each["schema-id"] != wanted["schema-id"])):
        if {**schema, "schema-id": None} == {**wanted, "schema-id": None}:
            return list(schemas), schema["schema-id"]
    number = 1 + max(schema["schema-id"] for schema in schemas)
    return [*schemas, {**wanted, "schema-id": number}], number


def _properties(there: Mapping[str, str], changes: Sequence[SettingChange]) -> dict[str, str]:
    texts = {
        change.property: change.wanted
        for change in changes
        if isinstance(change, TextSetting) and change.property
    }
    return {key: text for key, text in {**there, **texts}.items() if text is not None}
