"""Every line of a JSON file is accounted for: good with the right values, or bad with text and reason."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from landing_files import Columns, landed, one, rows, source
from pyspark.sql import Row, SparkSession

from lakesmith.project.definitions import CsvOptions
from lakesmith.project.formats import FileFormat
from lakesmith.sources.columns.reading import ReadGroup
from lakesmith.spark.read.files import read_files
from lakesmith.spark.read.formats.json_lines import json_key_files
from lakesmith.spark.read.request import ReadRequest

JSON: list[tuple[str, str, dict[str, object] | str]] = [
    ("plain", '{"i": 5, "s": "x", "d": 1.50, "f": 1}', {"i": 5, "s": "x", "d": Decimal("1.50"), "f": 1.0}),
    ("missing keys and nulls", '{"i": null, "zzz": 1}', {"i": None, "s": None}),
    ("a number for a string", '{"s": 5}', {"s": "5"}),
    ("an object for a string", '{"s": {"a": [1]}}', {"s": '{"a":[1]}'}),
    ("a decimal in a string", '{"d": "12.50"}', {"d": Decimal("12.50")}),
    ("a date", '{"day": "2024-02-29"}', {"day": date(2024, 2, 29)}),
    ("nested", '{"n": {"x": 1, "d": 1.5}, "l": [1, 2]}', {"n": Row(x=1, d=Decimal("1.5")), "l": [1, 2]}),
    ("a string for an int", '{"i": "5"}', "i: not an int: '5'"),
    ("a fraction for an int", '{"i": 5.5}', "i: not an int: '5.5'"),
    ("zeros after the point of an int", '{"i": 5.00, "l": [1.0]}', {"i": 5, "l": [1]}),
    (
        "such an int beside such a text",
        '{"i": 5.0, "s": 7.0, "w": {"s": 7.0}}',
        {"i": 5, "s": "7.0", "w": Row(s="7.0")},
    ),
    ("an int with an exponent", '{"i": 1e2}', "i: not an int: '1e2'"),
    ("an exponent without end", '{"d": 1e99999999}', "a number out of all range"),
    ("an exponent without end in a text", '{"n": {"d": "1e-99999999"}}', "a number out of all range"),
    ("a decimal comma inside", '{"n": {"d": "1,5"}}', "n: not a struct"),
    (
        "few digits of many",
        '{"s": 0.1000000000000000000000001}',
        "s: not a string: '0.1000000000000000000000001'",
    ),
    ("too large", '{"i": 99999999999}', "i: not an int: '99999999999'"),
    (
        "digits beyond the scale",
        '{"d": 1.239}',
        "d: not a decimal(10,2): '1.239' (it has more than 2 digits after the point)",
    ),
    ("a decimal comma", '{"d": "1,50"}', "d: not a decimal(10,2): '1,50'"),
    ("an overflow", '{"f": 1e999}', "f: not a double: '1e999'"),
    ("a number for a timestamp", '{"t": 1704067200}', "t: not a timestamp: '1704067200'"),
    ("a time for a timestamp", '{"t": "12:30"}', "t: not a timestamp: '12:30'"),
    ("a day that is not", '{"day": "2024-02-30"}', "day: not a date: '2024-02-30'"),
    ("digits inside a struct", '{"n": {"d": 1.55}}', "n: not a struct"),
    ("a type inside an array", '{"l": [1, "x"]}', "l: not an array<int>: '[1,"),
    ("a type inside a struct", '{"n": {"x": 1.5, "d": 1}}', "n.x: not an int: '1.5'"),
    ("a type inside a struct in an array", '{"a": [{"b": {"c": 1}}, {"b": {"c": 1.5}}]}', "a: not an array<"),
    ("a type deep inside", '{"deep": {"m": {"k": {"x": "1"}}}}', "deep.m: not a map<string,struct<x:int>>: "),
    ("no struct inside a struct", '{"deep": {"s": 5}}', "deep.s: not a struct<`odd, one`:int>: '5'"),
    ("an odd name inside", '{"deep": {"s": {"odd, one": true}}}', "deep.s.`odd, one`: not an int: 'true'"),
    (
        "digits a double would lose",
        '{"s": 12345678901234567890.123}',
        "s: not a string: '12345678901234567890.123'",
    ),
    ("digits lost in an object", '{"s": {"a": [1.00000000000000000001]}}', "s: not a string: '{"),
    ("a number lost in an array", '{"s": [1e999]}', "s: not a string: '["),
    ("a number lost that is nearly 0", '{"s": [0.5, 1e-400]}', "s: not a string: '[0.5,"),
    (
        "all digits kept in an object",
        '{"s": {"a": [0.12345678901234568, 1e5], "b": 12345678901234567890}}',
        {"s": '{"a":[0.12345678901234568,100000.0],"b":12345678901234567890}'},
    ),
    (
        "digits in a string in an object",
        '{"s": {"a": "1.00000000000000000001", "b": 1.5}}',
        {"s": '{"a":"1.00000000000000000001","b":1.5}'},
    ),
    ("digits lost in a field", '{"w": {"s": 12345678901234567890.123}}', "w: not a struct<s:string>"),
    (
        "the same digits in quotes in a field",
        '{"w": {"s": "12345678901234567890.123"}}',
        {"w": Row(s="12345678901234567890.123")},
    ),
    ("a number a double does not hold", '{"s": 1e999, "n": {"s": 1}}', "s: not a string: '1e999'"),
    ("the same key inside", '{"n": {"f": 5}, "f": "5.0"}', "f: not a double: '5.0'"),
    ("the same digits in quotes", '{"s": "12345678901234567890.123"}', {"s": "12345678901234567890.123"}),
    ("a key twice", '{"i": 1, "i": 2}', "a key is given twice in one object"),
    ("two objects", '{"i": 1} {"i": 2}', "not one JSON object"),
    ("two objects and a comma", '{"i": 1}, {"i": 2}', "not one JSON object"),
    ("an array", '[{"i": 1}]', "not one JSON object"),
    ("something after it", '{"i": 1} x', "not one JSON object"),
    ("null", "null", "not one JSON object"),
    ("cut", '{"i": 1', "not one JSON object"),
    ("nothing but a tab", "\t", "not one JSON object"),
    ("a character of two escapes", r'{"s": "\ud83d\uDE00"}', {"s": "\U0001f600"}),
    ("the text of an escape", r'{"s": "\\ud83d"}', {"s": r"\ud83d"}),
    ("half a character", r'{"s": "cut \ud83d"}', "half of a surrogate pair"),
    ("two halves the wrong way round", r'{"s": "\uDE00\ud83d"}', "half of a surrogate pair"),
    ("half a character after a backslash", r'{"s": "\\\ud83dx"}', "half of a surrogate pair"),
    ("single quotes", "{'i': 1}", "not one JSON object"),
]
JSON_COLUMNS: Columns = (
    ("i", "int"), ("s", "string"), ("d", "decimal(10,2)"), ("f", "double"), ("t", "timestamp"),
    ("day", "date"),
    ("n", "struct<x:int,d:decimal(5,1)>"), ("l", "array<int>"),
    ("a", "array<struct<b:struct<c:int>>>"), ("deep", "struct<m:map<string,struct<x:int>>,s:struct<`odd,"
                                                      " one`:int>>"),
    ("w", "struct<s:string>"),
)  # fmt: skip


def test_json_lines(spark: SparkSession, tmp_path: Path) -> None:
    content = "\n\n".join(line for _, line, _ in JSON)
    request = one(tmp_path, content, (), JSON_COLUMNS, name="landing/a.jsonl", format_=FileFormat.JSON)
    wrong = []
    for (title, line, expected), row in zip(JSON, rows(read_files(spark, request)), strict=True):
        if isinstance(expected, str):
            right = len(row._reasons) == 1 and row._reasons[0].startswith(expected) and row._raw == line
        else:
            right = all(row[k] == v for k, v in expected.items()) and not row._reasons and row._raw is None
        if not right:
            wrong.append((title, row))
    assert wrong == []
    assert set(json_key_files(spark, request)) == {
        "i", "s", "d", "f", "t", "day", "n", "l", "a", "deep", "w", "zzz",
    }  # fmt: skip


NOT_WHOLE = "not one JSON object; objects over several lines, or several in one, need `multiline: true`"
ENCODED = '{"s": "Ċ ഊ"}\r\n{"s": "a, \\"b\\""}\r\n{"s": 5\r\n\r\n{"s": "c"}'
"""In UTF-16, the first line has bytes in it that are line ends in other encodings."""


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "UTF-16LE", "UTF-16BE"])
def test_json_lines_in_wide_encodings(spark: SparkSession, tmp_path: Path, encoding: str) -> None:
    options, data = CsvOptions(encoding=encoding), ENCODED.encode(encoding.lower())
    request = one(
        tmp_path, data, (), (("s", "string"),), name="a.json", format_=FileFormat.JSON, options=options
    )
    found = rows(read_files(spark, request))
    assert [row.s for row in found] == ["Ċ ഊ", 'a, "b"', None, "c"]
    assert [list(row._reasons) for row in found] == [[], [], [NOT_WHOLE], []]
    assert [(row._raw or "").strip() for row in found] == ["", "", '{"s": 5', ""]
    assert list(json_key_files(spark, request)) == ["s"]


def test_json_bytes_that_are_not_in_the_encoding(spark: SparkSession, tmp_path: Path) -> None:
    data, options = b'{"s": "\xe4\x80"}\n{"s": "\x81"}\n', CsvOptions(encoding="windows-1252")
    request = one(
        tmp_path, data, (), (("s", "string"),), name="a.json", format_=FileFormat.JSON, options=options
    )
    found = rows(read_files(spark, request))
    assert [(row.s, list(row._reasons)) for row in found] == [
        ("ä€", []), ("\ufffd", ["not valid windows-1252"])
    ]  # fmt: skip


def test_json_keys_matched_under_another_spelling(spark: SparkSession, tmp_path: Path) -> None:
    file = landed(tmp_path, "a.json", '{"Id": 1}\n{"id": 2}\n{"ID": 3}\n{"Id": 4, "id": null}\n')
    keys = {("id",): (("id",), ("Id",))}
    request = ReadRequest(
        source(FileFormat.JSON), tmp_path, (ReadGroup((file,)),), (("id", "int"),), keys=keys
    )
    assert [row.id for row in rows(read_files(spark, request))] == [1, 2, None, None]
