"""The OpenAPI document of an intake, made from the columns of its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from lakesmith import __version__
from lakesmith.project.definitions import Column
from lakesmith.project.spark_types import SqlType, parse_type, precision_and_scale
from lakesmith.serve.intake.app import LONGEST_KEY
from lakesmith.serve.routes import EventSource

Json = dict[str, Any]

_RETRY: Final = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
_ANSWERS: Final[tuple[tuple[int, str, str, Json], ...]] = (
    (202, "The events are on the disk.", "Taken", {}),
    (400, "Nothing was taken. `error` has the first fault of the events, `reasons` has each.", "Refused", {}),
    (401, "A bearer token is needed.", "Error", {}),
    (408, "The body was not there in time.", "Error", {}),
    (409, "Other events came with this Idempotency-Key before.", "Error", {}),
    (413, "The body is too large; send fewer events at once.", "Error", {}),
    (415, "The body is compressed.", "Error", {}),
    (429, "Events come too fast; send it again later.", "Error", _RETRY),
    (503, "Nothing can be written now; send it again later.", "Error", _RETRY),
)
_WHOLE: Final = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_SIMPLE: Final[dict[str, Json]] = {
    "boolean": {"type": "boolean"},
    "float": {"type": "number", "format": "float"},
    "double": {"type": "number", "format": "double"},
    "string": {"type": "string"},
    "binary": {"type": "string", "contentEncoding": "base64"},
    "date": {"type": "string", "format": "date"},
    "timestamp": {"type": "string", "format": "date-time"},
    "timestamp_ntz": {"type": "string", "description": "a date and a time without a zone, as in ISO 8601"},
}
_SHARED: Final[Json] = {
    "Taken": {
        "type": "object",
        "required": ["events", "duplicate"],
        "properties": {
            "events": {"type": "integer", "description": "How many were written."},
            "duplicate": {"type": "boolean", "description": "The request came before; nothing was written."},
            "duplicates": {"type": "integer", "description": "How many events came before, by their ids."},
        },
    },
    "Error": {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}},
    "Refused": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {"type": "string"},
            "reasons": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "event": {
                            "type": "integer",
                            "description": "The event's number in the request, from 0.",
                        },
                        "column": {"type": ["string", "null"]},
                        "reason": {"type": "string"},
                    },
                },
            },
        },
    },
}


def described(project: str, sources: Sequence[EventSource]) -> Json:
    """Returns the document of a project's intake."""
    schemas = {_name(each): _event(each) for each in sources}
    components: Json = {"schemas": {**schemas, **_SHARED}}
    if any(each.source.tokens for each in sources):
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Events of {project}", "version": __version__},
        "paths": {**{each.source.url_path: {"post": _post(each)} for each in sources}, **_about()},
        "components": components,
    }


def _name(each: EventSource) -> str:
    return f"{each.table.name}.{each.source.name}"


def _event(each: EventSource) -> Json:
    required = {column.name for column in each.table.columns if column.required} | {*each.source.event_id}
    found: Json = {
        "type": "object",
        "properties": {
            column.name: _property(column, column.name in required) for column in each.table.columns
        },
        "required": [column.name for column in each.table.columns if column.name in required],
        "additionalProperties": each.source.takes_bad,
    }
    return found if each.table.description is None else {"description": each.table.description, **found}


def _property(column: Column, is_required: bool) -> Json:
    found = _type(parse_type(column.type or "string"))
    if not is_required:
        found = {**found, "type": [found["type"], "null"]}
    said = ". ".join(text for text in (column.doc, found.get("description")) if text)
    return {**found, "description": said} if said else found


def _type(kind: SqlType) -> Json:
    parts = {name: _type(part) for name, part in kind.parts}
    match kind.outer:
        case "array":
            return {"type": "array", "items": _or_null(parts["element"])}
        case "map":
            return {"type": "object", "additionalProperties": _or_null(parts["value"])}
        case "struct":
            return {"type": "object", "properties": {name: _or_null(part) for name, part in parts.items()}}
    return _number(kind.text) or _SIMPLE.get(kind.text, {"type": "string"})


def _or_null(part: Json) -> Json:
    return {**part, "type": [part["type"], "null"]}


def _number(kind: str) -> Json | None:
    if (bits := _WHOLE.get(kind)) is not None:
        limits = {"minimum": -(2 ** (bits - 1)), "maximum": 2 ** (bits - 1) - 1}
        return {"type": "integer", "format": f"int{bits}", **limits}
    if (digits := precision_and_scale(kind)) is None:
        return None
    precision, scale = digits
    said = f"at most {precision - scale} digits before the point and {scale} after it"
    return {"type": "number", "format": "decimal", "description": said}


def _post(each: EventSource) -> Json:
    one = {"$ref": f"#/components/schemas/{_name(each)}"}
    many = {"type": "array", "minItems": 1, "items": one}
    found: Json = {
        "summary": f"Events of {each.table.name}",
        "operationId": f"post-{_name(each)}",
        "parameters": [_KEY],
        "requestBody": {
            "required": True,
            "description": f"In UTF-8, at most {each.source.max_request} bytes; all is accepted, or nothing.",
            "content": {
                "application/json": {"schema": {"oneOf": [one, many]}},
                "application/x-ndjson": {"schema": {"type": "string", "description": "One event a line."}},
            },
        },
        "responses": dict(_responses(each)),
    }
    return {**found, "security": [{"token": []}]} if each.source.tokens else found


_KEY: Final[Json] = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Identifies the request: one that is sent again with the same key is accepted once.",
    "schema": {"type": "string", "maxLength": LONGEST_KEY},
}


def _responses(each: EventSource) -> Iterator[tuple[str, Json]]:
    for status, said, schema, headers in _ANSWERS:
        if status == 401 and not each.source.tokens:
            continue
        content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
        answer = {"description": said, "content": content}
        yield str(status), {**answer, "headers": headers} if headers else answer


def _about() -> Json:
    ready = {
        "200": {"description": "One path or more takes events."},
        "503": {"description": "None does now."},
    }
    lives, counts = {"200": {"description": "It lives."}}, {"200": {"description": "Counts for Prometheus."}}
    said = {"/health": lives, "/ready": ready, "/metrics": counts}
    return {path: {"get": {"responses": responses}} for path, responses in said.items()}
