"""Avro schemas to columns. The expected types are those of Spark's own reader (SchemaConverters)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakesmith.errors import ProjectError
from lakesmith.project.avro import avro_columns


def types(*field_types: Any) -> list[str | None]:
    fields = [{"name": f"f{number}", "type": kind} for number, kind in enumerate(field_types)]
    text = json.dumps({"type": "record", "name": "r", "fields": fields})
    return [column.type for column in avro_columns(text, "x.avsc")]


@pytest.mark.parametrize(
    ("avro", "spark"),
    [
        ("boolean", "boolean"),
        ("int", "int"),
        ("long", "bigint"),
        ("float", "float"),
        ("double", "double"),
        ("bytes", "binary"),
        ("string", "string"),
        (["null", "long"], "bigint"),
        (["string", "null"], "string"),
        (["int"], "int"),
        ({"type": "int", "logicalType": "date"}, "date"),
        ({"type": "long", "logicalType": "timestamp-millis"}, "timestamp"),
        ({"type": "long", "logicalType": "timestamp-micros"}, "timestamp"),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, "timestamp_ntz"),
        ({"type": "long", "logicalType": "of-another-tool"}, "bigint"),
        ({"type": "string", "logicalType": "uuid"}, "string"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}, "decimal(10,2)"),
        (
            {"type": "fixed", "name": "d", "size": 8, "logicalType": "decimal", "precision": 5},
            "decimal(5,0)",
        ),
        ({"type": "fixed", "name": "h", "size": 8}, "binary"),
        ({"type": "enum", "name": "op", "symbols": ["I", "U"]}, "string"),
        ({"type": "array", "items": ["null", "int"]}, "array<int>"),
        ({"type": "map", "values": {"type": "array", "items": "string"}}, "map<string,array<string>>"),
        ({"type": {"type": "int", "logicalType": "date"}}, "date"),
        (
            {"type": "record", "name": "p", "fields": [{"name": "x", "type": ["null", "double"]}]},
            "struct<x:double>",
        ),
    ],
)
def test_types(avro: Any, spark: str) -> None:
    assert types(avro) == [spark]


def test_named_types_can_be_used_again() -> None:
    point = {"type": "record", "name": "point", "namespace": "geo", "fields": [{"name": "x", "type": "int"}]}

    assert types(point, ["null", "point"], {"type": "array", "items": "geo.point"}) == [
        "struct<x:int>",
        "struct<x:int>",
        "array<struct<x:int>>",
    ]


def test_columns_keep_their_documentation_and_line_and_are_not_required() -> None:
    text = '{"type": "record", "name": "r", "fields": [\n  {"name": "a", "type": "int", "doc": "one"},\n  {"name":"b", "type": "int"}\n]}'

    found = avro_columns(text, "x.avsc")

    assert [(c.name, c.doc, c.required, str(c.place)) for c in found] == [
        ("a", "one", False, "x.avsc:2"),
        ("b", None, False, "x.avsc:3"),
    ]


@pytest.mark.parametrize(
    "text", ["[]", '"int"', '{"type": "record", "name": "r"}', '{"type": "record", "fields": [1]}']
)
def test_what_is_no_record(text: str) -> None:
    with pytest.raises(ProjectError) as caught:
        avro_columns(text, "x.avsc")

    assert [problem.code for problem in caught.value.problems] == ["LS113"]


@pytest.mark.parametrize(
    "avro",
    [
        None,
        5,
        "point",
        ["int", "string"],
        [],
        {},
        {"type": "array"},
        {"type": "map", "values": "no"},
        {"type": "record", "name": "p"},
        {"type": "record", "name": "p", "fields": {}},
        {"type": "record", "name": "p", "fields": ["x"]},
        {"type": "record", "name": 5, "fields": []},
        {"type": "fixed", "size": 5},
        {"type": "bytes", "logicalType": "decimal"},
        {"type": "bytes", "logicalType": "decimal", "precision": 50},
        {"type": "bytes", "logicalType": "decimal", "precision": "x"},
    ],
)
def test_what_has_no_type(avro: Any) -> None:
    with pytest.raises(ProjectError, match=r"LS113 x\.avsc:1: the Avro field 'f0' cannot be a column"):
        types(avro)
