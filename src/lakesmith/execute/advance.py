"""Publishes steps that need no JVM: inputs moved without a change of rows (after their maintenance), or only
metadata changed."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from lakesmith.catalog.metadata import read_metadata, spark_type
from lakesmith.catalog.record import Record
from lakesmith.catalog.state import TableState
from lakesmith.execute.events import BatchReport
from lakesmith.execute.lake import Lake
from lakesmith.execute.publish import Ground, batch_number, ground_of, publish_record
from lakesmith.plan.facts import as_recorded
from lakesmith.plan.format_version import FormatUpgrade
from lakesmith.plan.settings import (
    Partitioning,
    Renaming,
    Reordering,
    SettingChange,
    TextSetting,
    changed_settings,
    still_ahead,
    structure_changes,
)
from lakesmith.plan.steps import Decision, Strategy, TableStep
from lakesmith.project.definitions import TableDefinition
from lakesmith.sources.columns.types import type_changes


def takes_spark(lake: Lake, decisions: Iterable[Decision]) -> bool:
    """Whether any table has a step that cannot be done otherwise, as far as metadata tells."""
    return any(isinstance(each, TableStep) and _ground(lake, each) is None for each in decisions)


def publish_advance(lake: Lake, step: TableStep) -> BatchReport | None:
    """Does a step that only moves positions; None if it needs Spark. Raises Outdated, and what the catalog
    raises."""
    found = _ground(lake, step)
    if found is None:
        return None
    ground, after = found
    done = structure_changes(step.table, ground.state)
    record = replace(_record(step, ground), columns=columns_of(after), notes=done)
    head = publish_record(ground.catalog, step, record, restructured)
    return BatchReport(record, head, (*still_ahead(step.notes, done), *done))


def _ground(lake: Lake, step: TableStep) -> tuple[Ground, Mapping[str, Any]] | None:
    """Returns the ground with the changed metadata; None if only Spark can change it, as for dropped
    columns."""
    moves_alone = step.strategy is Strategy.ADVANCE and not step.drops
    ground = ground_of(lake, step) if moves_alone else None
    if ground is None:
        return None
    after = restructured(step.table, ground.state, read_metadata(ground.state.metadata_location))
    return None if after is None else (ground, after)


def _record(step: TableStep, ground: Ground) -> Record:
    base = ground.base
    same = base.fingerprint == step.fingerprint
    return replace(
        base,
        attempt=str(uuid.uuid4()),
        parent=base.attempt,
        batch=batch_number(step),
        kind=step.strategy.value,
        started_ms=time.time_ns() // 1_000_000,
        fingerprint=step.fingerprint,
        account=ground.same_rows,
        by_row=False,
        inputs={str(item.table): item.pin for item in step.inputs},
        files=0,
        ledger_hash=None,
        checks={},
        refused=as_recorded(step.refused, step.table.trusts_python),
        definition=step.definition or (base.definition if same else {}),
        unknown={},
    )


Field = dict[str, Any]

_ICEBERG_NAMES: Final = {"bigint": "long", "timestamp": "timestamptz", "timestamp_ntz": "timestamp"}
_PLAIN: Final = frozenset(
    {"boolean", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp", "timestamp_ntz"}
)
_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_BY_COLUMN: Final = re.compile(r"^schema\.name-mapping|\.column\.")
"""Properties that name columns: Iceberg changes them with these."""


def restructured(table: TableDefinition, state: TableState, data: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the metadata with the declared structure; None if only Iceberg can change it."""
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
    """Returns the columns with the declared ones and wider types; None for a type that is not plain."""
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
    """Returns whether names that change may be in properties and partition specs, too."""
    names = {field["name"] for field in after} - {field["name"] for field in before}
    in_specs = {field["name"] for spec in data["partition-specs"] for field in spec["fields"]}
    return bool(names) and (bool(names & in_specs) or any(map(_BY_COLUMN.search, data["properties"])))


def _in_order(fields: list[Field], changes: Sequence[SettingChange]) -> list[Field]:
    wanted = next((change.wanted for change in changes if isinstance(change, Reordering)), ())
    place = {name.lower(): number for number, name in enumerate(wanted)}
    return sorted(fields, key=lambda field: place.get(field["name"].lower(), len(place)))


def _with_schema(schemas: Sequence[Mapping[str, Any]], wanted: Mapping[str, Any]) -> tuple[list[Any], int]:
    """Returns the schemas with the wanted one, and its id. Iceberg reuses an equal schema, too."""
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
