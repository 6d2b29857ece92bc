"""Avro record schemas (``.avsc``) to columns with Spark types."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from lakesmith.errors import Place, Problem, ProjectError
from lakesmith.project.avro_types import AvroTypes, NoAvroType, part_of, text_of
from lakesmith.project.definitions import Column
from lakesmith.project.spark_types import TypeProblem, normal_type

_SUPPORTED: Final = (
    f"{', '.join(AvroTypes.simple)}, enum, fixed, array, map, record, or a union of one of them with null"
)


def avro_columns(text: str, file: str) -> tuple[Column, ...]:
    """The fields of a record schema as columns, each with its line, its aliases and its default. None of them is ``required``:
    that a schema leaves null out says little of deletes, which often carry only their key.

    Raises ProjectError LS113 when the text is no JSON, no record, or a field has no Spark type (every such field).
    """
    schema = _schema(text, file)
    columns, problems, types = [], [], AvroTypes(schema)
    for field in schema["fields"]:
        name, doc = field.get("name"), field.get("doc")
        place = Place(file, _line_of(text, name))
        try:
            kind = part_of(field, "type")
            found = normal_type(types.of(kind).text)
            columns.append(
                Column(
                    text_of(field, "name"),
                    found,
                    doc if isinstance(doc, str) else None,
                    place=place,
                    aliases=_texts(field, "aliases"),
                    default=types.default(kind, field["default"]) if "default" in field else None,
                    symbols=_symbols(types.named(kind)),
                )
            )
        except (NoAvroType, TypeProblem) as error:
            what = f"the Avro field {name!r} cannot be a column"
            problems.append(Problem("LS113", what, place, f"a type: {_SUPPORTED}", str(error)))
    if problems:
        raise ProjectError(problems)
    return tuple(columns)


def _texts(schema: dict[str, Any], name: str) -> tuple[str, ...]:
    found = schema.get(name) or []
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise NoAvroType(f"{json.dumps(found)}, where {name} are no list of texts")
    return tuple(found)


def _symbols(kind: Any) -> tuple[str, ...]:
    """The symbols of an enum that has a default, that one first."""
    if not isinstance(kind, dict) or kind.get("type") != "enum" or not isinstance(kind.get("default"), str):
        return ()
    return tuple(dict.fromkeys((kind["default"], *_texts(kind, "symbols"))))


def _schema(text: str, file: str) -> dict[str, Any]:
    try:
        schema: Any = json.loads(text)
    except json.JSONDecodeError as error:
        problem = Problem("LS113", "this Avro schema is not JSON", Place(file, error.lineno), found=error.msg)
        raise ProjectError(problem) from error
    fields = schema.get("fields") if isinstance(schema, dict) and schema.get("type") == "record" else None
    if not isinstance(fields, list) or not fields or not all(isinstance(field, dict) for field in fields):
        what = "this Avro schema is no record"
        raise ProjectError(Problem("LS113", what, Place(file, 1), '{"type": "record", "fields": [ ... ]}'))
    return schema  # type: ignore[no-any-return]


def _line_of(text: str, name: Any) -> int:
    found = re.search(r'"name"\s*:\s*' + re.escape(json.dumps(name, ensure_ascii=False)), text)
    return text.count("\n", 0, found.start()) + 1 if found else 1
