"""Avro schemas to columns. The expected types are those of Spark's own reader (SchemaConverters)."""

import json
from typing import Any

import pytest

from lakesmith.errors import ProjectError
from lakesmith.project.columns import avro_columns


def types(*field_types: Any) -> list[str | None]:
    fields = [{"name": f"f{number}", "type": kind} for number, kind in enumerate(field_types)]
    text = json.dumps({"type": "record", "name": "r", "fields": fields})
    return [column.type for column in avro_columns(text, "x.avsc")]


def record(name: str, *fields: Any) -> dict[str, Any]:
    """Returns an Avro record of these fields."""
    return {"type": "record", "name": name, "fields": [*fields]}


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
        ({"type": "fixed", "name": "d", "size": 8, "logicalType": "decimal", "precision": 5}, "decimal(5,0)"),
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
        "struct<x:int>", "struct<x:int>", "array<struct<x:int>>",
    ]  # fmt: skip


def test_columns_keep_their_documentation_and_line_and_are_not_required() -> None:
    fields = '{"name": "a", "type": "int", "doc": "one"},\n  {"name":"b", "type": "int"}'
    text = '{"type": "record", "name": "r", "fields": [\n  ' + fields + "\n]}"

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


ENUM = {"type": "enum", "name": "e", "symbols": ["A", "B"], "default": "B"}


@pytest.mark.parametrize(
    ("kind", "default", "sql"),
    [
        ("int", 5, "CAST(5 AS int)"),
        (["long", "null"], -1, "CAST(-1 AS bigint)"),
        (["null", "long"], None, None),
        ("string", "it's", "CAST('it\\'s' AS string)"),
        ("boolean", False, "CAST(false AS boolean)"),
        ("double", 1, "CAST('1.0' AS double)"),
        ("bytes", "\u0000\u00ff", "CAST(X'00ff' AS binary)"),
        (ENUM, "A", "CAST('A' AS string)"),
        ({"type": "int", "logicalType": "date"}, 1, "CAST(date_from_unix_date(1) AS date)"),
        ({"type": "long", "logicalType": "timestamp-millis"}, 2, "CAST(timestamp_micros(2000) AS timestamp)"),
        ({"type": "long", "logicalType": "timestamp-micros"}, 2, "CAST(timestamp_micros(2) AS timestamp)"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
            "\u00ff\u009c",
            "CAST('-1.00' AS decimal(4,2))",
        ),
        ({"type": "array", "items": "int"}, [], "CAST(array() AS array<int>)"),
        (
            {"type": "map", "values": ["null", "int"]},
            {"k": None},
            "CAST(map('k', CAST(NULL AS int)) AS map<string,int>)",
        ),
        (
            record("p", {"name": "x", "type": "int"}, {"name": "y", "type": ENUM, "default": "B"}),
            {"x": 1},
            "CAST(named_struct('x', CAST(1 AS int), 'y', CAST('B' AS string)) AS struct<x:int,y:string>)",
        ),
    ],
)  # fmt: skip
def test_defaults(kind: Any, default: Any, sql: str | None) -> None:
    field = {"name": "f", "type": kind, "default": default, "aliases": ["g"]}
    (column,) = avro_columns(json.dumps({"type": "record", "name": "r", "fields": [field]}), "x.avsc")
    assert (column.default, column.aliases) == (sql, ("g",))
    assert column.symbols == (("B", "A") if kind is ENUM else ())


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        *[("int", "5"), ("int", 1.5), ("boolean", 1), ("string", 5), ("bytes", "\u0100"), (ENUM, 1)],
        ({"type": "array", "items": "int"}, ["x"]),
    ],
)
def test_a_default_that_is_no_value_of_its_type_is_refused(kind: Any, default: Any) -> None:
    text = json.dumps(
        {"type": "record", "name": "r", "fields": [{"name": "f", "type": kind, "default": default}]}
    )
    with pytest.raises(ProjectError, match=r"LS113 x\.avsc:1: the Avro field 'f' cannot be a column"):
        avro_columns(text, "x.avsc")
