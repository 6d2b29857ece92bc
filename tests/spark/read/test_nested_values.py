"""Nested values of typed files: what does not fit its declared type is set aside, never made null."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from harness import MakeShop
from nested import land_parquet, made, notes, reasons, source

BIG = 2**40
DECLARED = {
    "s": "struct<n:int,d:decimal(4,2),at:date,sub:struct<x:bigint>>",
    "parts": "array<struct<sku:string,n:int>>",
    "grid": "array<array<int>>",
    "m": "map<string,struct<n:int>>",
}
# Each column is of one type in the file: texts and wide numbers, of which some fit. Nulls of the file stay
# nulls.
IN_FILE = f"""
    SELECT CAST(id AS bigint) AS id,
      from_json(s, 'n string, d decimal(10,4), at timestamp, sub struct<x:string>') AS s,
      from_json(parts, 'array<struct<n:bigint,sku:string>>') AS parts,
      from_json(grid, 'array<array<bigint>>') AS grid,
      from_json(m, 'map<string,struct<n:bigint>>') AS m
    FROM VALUES
      (1, '{{"n":"7","d":1.25,"at":"2024-01-02T00:00:00","sub":{{"x":"8"}}}}',
        '[{{"n":1,"sku":"a"}}]', '[[1],[]]', '{{"k":{{"n":1}}}}'),
      (2, '{{"n":null,"sub":{{}}}}', '[null,{{"sku":"b"}}]', '[null,[null,2]]', '{{"k":null,"l":{{}}}}'),
      (3, NULL, NULL, NULL, NULL),
      (4, '{{"n":"abc"}}', '[]', '[]', '{{}}'),
      (5, '{{"n":"1","d":1.255}}', NULL, NULL, NULL),
      (6, '{{"d":123.5}}', NULL, NULL, NULL),
      (7, '{{"at":"2024-01-02T03:00:00","sub":{{"x":"1.5"}}}}', NULL, NULL, NULL),
      (8, NULL, '[{{"n":1,"sku":"a"}},null,{{"n":{BIG},"sku":"b"}},{{"n":{BIG + 1}}}]', NULL, NULL),
      (9, NULL, NULL, '[[1],null,[2,{BIG}]]', NULL),
      (10, NULL, NULL, NULL, '{{"k":{{"n":1}},"l":{{"n":{BIG}}}}}')
      AS t(id, s, parts, grid, m)"""
SET_ASIDE = {
    4: ["s.n: not an int: 'abc'"],
    5: ["s.d: not a decimal(4,2): '1.2550' (it has more than 2 digits after the point)"],
    6: ["s.d: not a decimal(4,2): '123.5000'"],
    7: ["s.at: not a date: '2024-01-02 03:00:00'", "s.sub.x: not a bigint: '1.5'"],
    8: [f"parts.element.n: not an int: '{BIG}'"],
    9: [f"grid.element.element: not an int: '{BIG}'"],
    10: [f"m.value.n: not an int: '{BIG}'"],
}


@pytest.mark.parametrize("format_", ["parquet", "avro"])
def test_a_value_inside_that_does_not_fit_sets_its_row_aside(make_shop: MakeShop, format_: str) -> None:
    table = source("deep", format_, "fail", DECLARED)
    shop = make_shop(table)
    shop.take(f"landing/deep/1.{format_}", made(shop, format_, IN_FILE))
    assert reasons(shop, "bronze.deep") == SET_ASIDE
    assert shop.rows("bronze.deep") == [
        (1, (7, Decimal("1.25"), date(2024, 1, 2), (8,)), [("a", 1)], [[1], []], {"k": (1,)}),
        (2, (None, None, None, (None,)), [None, ("b", None)], [None, [None, 2]], {"k": None, "l": (None,)}),
        (3, None, None, None, None),
    ]


def test_keys_of_maps_are_values_too(make_shop: MakeShop) -> None:
    import pyarrow as pa

    table = source("keys", "parquet", "fail", {"m": "map<int,string>", "w": "map<bigint,struct<n:int>>"})
    shop = make_shop(table)
    of = pa.struct([("n", pa.int32())])
    schema = pa.schema(
        [("id", pa.int64()), ("m", pa.map_(pa.string(), pa.string())), ("w", pa.map_(pa.int32(), of))]
    )
    rows = [
        {"id": 1, "m": [("1", "a"), ("2", None)], "w": [(1, {"n": 1}), (2, None)]},
        {"id": 2, "m": [], "w": None},
        {"id": 3, "m": [("1", "a"), ("x", "b")], "w": []},
        {"id": 4, "m": [("1", "a"), (" 1", "b")], "w": []},
    ]
    land_parquet(shop, "keys/1", rows, schema)
    shop.must_run()
    assert reasons(shop, "bronze.keys") == {
        3: ["m.key: not an int: 'x'"],
        4: ["""m: not a map<int,string>: '{"1":"a"," 1":"b"}' (a key is given twice)"""],
    }
    assert shop.rows("bronze.keys") == [(1, {1: "a", 2: None}, {1: (1,), 2: None}), (2, {}, None)]


def test_a_value_of_another_kind_inside_sets_its_row_aside(make_shop: MakeShop) -> None:
    import pyarrow as pa

    declared = {
        "s": "struct<inside:struct<x:int>,list:array<struct<x:int>>,at:timestamp>",
        "text": "struct<x:int>",
    }
    table = source("kinds", "parquet", "fail", declared)
    shop = make_shop(table)
    inside = pa.struct([("inside", pa.string()), ("list", pa.list_(pa.int64())), ("at", pa.int64())])
    schema = pa.schema([("id", pa.int64()), ("s", inside), ("text", pa.string())])
    none = {"inside": None, "list": None, "at": None}
    rows: list[dict[str, Any]] = [
        {"id": 1, "s": {**none, "list": []}, "text": None},
        {"id": 2, "s": {**none, "list": [None]}, "text": None},
        {"id": 3, "s": {"inside": '{"x":1}', "list": [None, 5], "at": 9}, "text": None},
        {"id": 4, "s": None, "text": '{"x":1}'},
    ]
    land_parquet(shop, "kinds/1", rows, schema)
    shop.must_run()
    assert reasons(shop, "bronze.kinds") == {
        3: [
            "s.inside: not a struct<x:int>: '{\"x\":1}'",
            "s.list.element: not a struct<x:int>: '5'",
            "s.at: not a timestamp: '9'",
        ],
        4: ["text: not a struct<x:int>: '{\"x\":1}'"],
    }
    assert shop.rows("bronze.kinds") == [(1, (None, [], None), None), (2, (None, [None], None), None)]


def test_arrays_that_are_empty_in_every_row(make_shop: MakeShop) -> None:
    """Arrow calls them lists of nulls, and has no other type for what is not in them."""
    declared = {"parts": "array<struct<n:int>>", "m": "map<string,struct<n:int>>", "texts": "array<string>"}
    table = source("empty", "parquet", "fail", declared)
    shop = make_shop(table)
    rows: list[dict[str, Any]] = [
        {"id": 1, "parts": [], "texts": []},
        {"id": 2, "parts": None, "texts": [None]},
    ]
    land_parquet(shop, "empty/1", rows)
    assert notes(shop.must_run(), "bronze.empty") == ["not in the files, null in their rows: m"]
    assert shop.rows("bronze.empty") == [(1, [], None, []), (2, None, None, [None])]
