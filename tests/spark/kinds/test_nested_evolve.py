"""``on_new_column: evolve`` inside columns: fields come in with the files that bring them, and stay."""

import json
from decimal import Decimal
from typing import Any

import pytest
from harness import MakeShop
from nested import found, json_lines, land_as, land_parquet, notes, reasons, source, types
from out_of_quarantine import replay

from lakesmith.project.spark_types import parse_type

pytestmark = pytest.mark.in_turn

BIG = 2**40
DECLARED = {
    "s": "struct<b:bigint,sub:struct<x:double>>",
    "parts": "array<struct<n:bigint>>",
    "m": "map<string,struct<d:double>>",
    "deep": "array<map<string,array<struct<p:string>>>>",
}
BROUGHT = {
    "s": "struct<list:array<struct<q:double>>,sub:struct<y:struct<w:array<string>,z:bigint>,x:double>,"
    "b:bigint,zip:string>",
    "parts": "array<struct<sku:string,n:bigint>>",
    "m": "map<string,struct<d:double,e:array<bigint>>>",
    "deep": "array<map<string,array<struct<p:string,r:boolean>>>>",
}
EVOLVED = {
    "s": "struct<b:bigint,sub:struct<x:double,y:struct<w:array<string>,z:bigint>>,"
    "list:array<struct<q:double>>,zip:string>",
    "parts": "array<struct<n:bigint,sku:string>>",
    "m": "map<string,struct<d:double,e:array<bigint>>>",
    "deep": "array<map<string,array<struct<p:string,r:boolean>>>>",
}
ADDED = [
    "deep.element.value.element.r boolean", "m.value.e array<bigint>", "parts.element.sku string",
    "s.list array<struct<q:double>>", "s.sub.y struct<w:array<string>,z:bigint>", "s.zip string",
]  # fmt: skip
OLD: list[dict[str, Any]] = [
    {
        "id": 1,
        "s": {"b": 1, "sub": {"x": 0.5}},
        "parts": [{"n": 1}, None],
        "m": {"k": {"d": 1.25}},
        "deep": [{"a": [{"p": "t"}]}],
    },
    {"id": 2, "s": {"b": 2}, "parts": [], "m": {"k": None}},
    {"id": 3},
]
NEW: list[dict[str, Any]] = [
    {
        "id": 4,
        "s": {
            "zip": "0150",
            "sub": {"y": {"z": BIG, "w": ["v", None]}, "x": 1.0},
            "b": 4,
            "list": [{"q": 1.0}],
        },
        "parts": [None, {"sku": "k", "n": 4}, {"n": 5}],
        "m": {"k": {"d": 2.0, "e": [1, None]}, "l": {"d": 3.0}},
        "deep": [{"a": [{"p": "u", "r": True}, None], "b": []}, None],
    },
    {"id": 5, "s": {"zip": "1", "list": []}, "parts": None, "m": {}},
    {"id": 6, "s": {"b": 6, "sub": {"y": {"z": 1}}}},
]
LATE: list[dict[str, Any]] = [
    {"id": 7, "s": {"b": 7, "sub": {"x": 7.0}}, "parts": [{"n": 7}], "m": {"o": {}}}
]


def _shaped(value: Any, like: Any) -> Any:
    """A value of JSON as a row has it. ``like``: a struct's fields, or a list or a map of one of these."""
    if value is None or like is None:
        return value
    if isinstance(like, list):
        return [_shaped(each, like[0]) for each in value]
    if like.keys() == {"*"}:
        return {key: _shaped(each, like["*"]) for key, each in value.items()}
    return tuple(_shaped(value.get(name), kind) for name, kind in like.items())


LIKE = {
    "id": None,
    "s": {"b": None, "sub": {"x": None, "y": {"w": None, "z": None}}, "list": [{"q": None}], "zip": None},
    "parts": [{"n": None, "sku": None}],
    "m": {"*": {"d": None, "e": [None]}},
    "deep": [{"*": [{"p": None, "r": None}]}],
}


@pytest.mark.parametrize("format_", ["parquet", "avro", "json"])
def test_new_fields_come_in_with_the_files_that_bring_them(make_shop: MakeShop, format_: str) -> None:
    below = {
        "tables/silver/copy.yaml": "from: bronze.new\n",
        "tables/silver/text.sql": "SELECT id, to_json(s) AS text FROM bronze.new",
    }
    shop = make_shop({**source("new", format_, "evolve", DECLARED), **below})
    land_as(shop, format_, "new/1", DECLARED, *OLD)
    shop.must_run()
    assert types(shop, "bronze.new") == DECLARED

    land_as(shop, format_, "new/2", BROUGHT, *NEW)
    result = shop.must_run()
    (note,) = [
        note for note in notes(result, "bronze.new") if note.startswith("new (on_new_column: evolve): ")
    ]
    assert sorted(note.partition("evolve): ")[2].split(", ")) == ADDED
    assert {f"field {text} was added" for text in ADDED} <= set(notes(result, "bronze.new"))
    assert types(shop, "bronze.new") == types(shop, "silver.copy") == EVOLVED
    rows = [_shaped(row, LIKE) for row in (*OLD, *NEW)]
    assert shop.rows("bronze.new") == shop.rows("silver.copy") == rows
    kinds = [result.published[table].kind for table in ("silver.copy", "silver.text")]
    assert kinds == ["append", "full"]
    assert not shop.must_run().published

    # A file of the earlier shape: nulls, and the fields stay.
    land_as(shop, format_, "new/3", DECLARED, *LATE)
    result = shop.must_run()
    assert not any("was added" in note or "evolve" in note for note in notes(result, "bronze.new"))
    assert types(shop, "bronze.new") == EVOLVED
    rows = [_shaped(row, LIKE) for row in (*OLD, *NEW, *LATE)]
    assert shop.rows("bronze.new") == shop.rows("silver.copy") == rows
    assert not shop.must_run().published
    text = shop.rows("silver.text")
    shop.must_run(full=["silver.copy", "silver.text"])
    assert shop.rows("silver.copy") == rows
    assert shop.rows("silver.text") == text


def test_what_evolved_stays_whatever_the_file_says_of_it(make_shop: MakeShop) -> None:
    """As a column that evolved stays in the table: declared or not, and under another policy."""
    shop = make_shop(source("t", "parquet", "evolve", {"s": "struct<a:int>"}))
    land_as(shop, "parquet", "t/1", {"s": "struct<x:int,a:int>"}, {"id": 1, "s": {"a": 1, "x": 1}})
    shop.must_run()
    whole = {"id": 2, "s": {"a": 2, "x": 2, "y": 2, "z": 2}}
    steps = (
        ("fail", "struct<a:int>", "struct<a:int,x:int>", (2, 2)),
        ("ignore", "struct<a:int>", "struct<a:int,x:int>", (2, 2)),
        ("ignore", "struct<a:int,y:int>", "struct<a:int,x:int,y:int>", (2, 2, 2)),
        ("fail", "struct<a:int,x:bigint,y:int>", "struct<a:int,x:bigint,y:int>", (2, 2, 2)),
        ("evolve", "struct<a:int,y:int>", "struct<a:int,x:bigint,y:int,z:int>", (2, 2, 2, 2)),
        ("fail", "struct<z:int>", "struct<a:int,x:bigint,y:int,z:int>", (2, 2, 2, 2)),
    )
    for number, (policy, declared, kind, row) in enumerate(steps, 2):
        shop.write(source("t", "parquet", policy, {"s": declared}))
        names = "axyz" if policy != "fail" else "axyz"[: len(row)]
        brought = f"struct<{','.join(f'{name}:int' for name in names)}>"
        land_as(shop, "parquet", f"t/{number}", {"s": brought}, {**whole, "id": number})
        shop.must_run()
        assert types(shop, "bronze.t") == {"s": kind}
        assert shop.rows("bronze.t", "id", "s")[-1] == (number, row)
    assert shop.rows("bronze.t", "id", "s")[0] == (1, (1, 1, None, None))


def test_fields_that_files_of_one_batch_have_of_different_types(make_shop: MakeShop) -> None:
    shop = make_shop(source("t", "parquet", "evolve", {"s": "struct<a:int>"}))
    fields = {
        "1": "struct<a:int,w:int,d:decimal(6,2),g:struct<u:float>,odd:int>",
        "2": "struct<a:bigint,W:bigint,d:decimal(4,2),g:struct<v:int,u:double>,odd:string>",
        "3": "struct<a:int,w:smallint,g:struct<u:float,v:bigint>>",
    }
    row = {"a": 1, "w": 1, "W": 1, "d": 1.25, "g": {"u": 0.5, "v": 1}, "odd": 5}
    for number, kind in fields.items():
        column = (
            {"c": "bigint", "e": "struct<x:int>"} if number == "2" else {"c": "int", "e": "struct<y:int>"}
        )
        values = {"id": int(number), "s": row, "c": int(number), "e": {"x": 1, "y": 2}}
        land_as(shop, "parquet", f"t/{number}", {"s": kind, **column}, values)
    bad = {**row, "a": BIG, "W": BIG, "odd": "text"}
    land_as(shop, "parquet", "t/4", {"s": fields["2"]}, {"id": 4, "s": bad}, {"id": 5, "s": {**bad, "a": 5}})
    land_as(shop, "parquet", "t/5", {"s": fields["2"]}, {"id": 6, "s": {**bad, "a": 6, "odd": "6"}})
    shop.must_run()
    kind = "struct<a:int,w:bigint,d:decimal(6,2),g:struct<u:double,v:bigint>,odd:int>"
    assert types(shop, "bronze.t") == {"s": kind, "c": "bigint", "e": "struct<y:int,x:int>"}
    assert reasons(shop, "bronze.t") == {
        4: [f"s.a: not an int: '{BIG}'", "s.odd: not an int: 'text'"],
        5: ["s.odd: not an int: 'text'"],
    }
    assert shop.rows("bronze.t", "id", "s.w", "s.d", "s.g", "s.odd") == [
        (1, 1, Decimal("1.25"), (0.5, None), 5),
        (2, 1, Decimal("1.25"), (0.5, 1), 5),
        (3, 1, None, (0.5, 1), None),
        (6, BIG, Decimal("1.25"), (0.5, 1), 6),
    ]


def test_the_types_of_json_fields_are_those_of_their_own_values(make_shop: MakeShop) -> None:
    """Whatever stands beside them: here the struct is a text in one line, and there is no JSON in another."""
    shop = make_shop(source("t", "json", "evolve", {"s": "struct<a:int>"}))
    values: dict[str, tuple[list[Any], str, list[Any]]] = {
        "whole": ([1, None], "bigint", [1, None]),
        "with_points": ([1.0, 2.0], "double", [1.0, 2.0]),
        "point_at_times": ([1, 2.5], "double", [1.0, 2.5]),
        "in_a_list": ([[3.0], [4.0, 5.0]], "array<double>", [[3.0], [4.0, 5.0]]),
        "large": ([10**20, 1], "decimal(38,0)", [10**20, 1]),
        "text": (["007", "2024-01-02"], "string", ["007", "2024-01-02"]),
        "number_or_text": ([1, "x"], "string", ["1", "x"]),
        "always_null": ([None, None], "string", [None, None]),
        "empty_object": ([{}, None], "string", ["{}", None]),
        "empty_list": ([[], None], "array<string>", [[], None]),
        "nulls_inside": ([{"n": None}, {}], "struct<n:string>", [(None,), (None,)]),
        "objects": ([{"p": 1}, {"q": True}], "struct<p:bigint,q:boolean>", [(1, None), (None, True)]),
        "yes": ([True, False], "boolean", [True, False]),
        "two words, `quoted` 'twice' \"thrice\"": (["v", "w"], "string", ["v", "w"]),
        "a.b": ([1, 2], "bigint", [1, 2]),
    }
    rows = [
        {"id": id_, "s": {"a": id_, **{name: of[0][id_ - 1] for name, of in values.items()}}}
        for id_ in (1, 2)
    ]
    shop.take("landing/t/1.json", json_lines(*rows, {"id": 3, "s": "[1.5]"}, "no json", {"id": 4, "s": None}))
    assert {name: kind.text for name, kind in parse_type(types(shop, "bronze.t")["s"]).parts} == {
        "a": "int",
        **{name: kind for name, (_, kind, _) in values.items()},
    }
    expected = {
        id_: {"a": id_, **{name: read[id_ - 1] for name, (_, _, read) in values.items()}} for id_ in (1, 2)
    }
    found_rows = {row.id: row.s.asDict() for row in shop.frame("bronze.t").where("s IS NOT NULL").collect()}
    assert found_rows == expected
    assert len(shop.quarantine("bronze.t")) == 2


def test_what_cannot_be_added_stops_as_a_whole(make_shop: MakeShop) -> None:
    import pyarrow as pa

    columns = {"s": "struct<zip:string>", "m": "map<struct<k:int>,int>"}
    shop = make_shop()
    for name in ("case", "twice", "keys", "inside"):
        shop.write(source(name, "parquet", "evolve", columns))
    for name in ("json_case", "json_blank"):
        shop.write(source(name, "json", "evolve", {"s": "struct<zip:string>"}))
    land_parquet(shop, "case/1", [{"id": 1, "s": {"Zip": "1", "ZIP": "2", "more": 3}}])
    land_parquet(shop, "twice/1", [{"id": 1, "s": {"zip": "1", "new": 2, "NEW": 3}}])
    land_parquet(shop, "inside/1", [{"id": 1, "s": {"zip": "1", "new": {"a": 1, "A": 2}}}])
    key = pa.struct([("k", pa.int32()), ("l", pa.int32())])
    schema = pa.schema([("id", pa.int64()), ("m", pa.map_(key, pa.int32()))])
    land_parquet(shop, "keys/1", [{"id": 1, "m": [({"k": 1, "l": 2}, 3)]}], schema)
    shop.land("landing/json_case/1.json", json_lines({"id": 1, "s": {"zip": "0", "Zip": "1", "more": 1}}))
    shop.land("landing/json_blank/1.json", json_lines({"id": 1, "s": {"": "1", "more": 1}}))
    result = shop.run()
    assert found(result) == {
        "case": ("LS434", "s.Zip, s.ZIP"), "twice": ("LS434", "s.NEW"), "inside": ("LS434", "s.new"),
        "keys": ("LS434", "m.key.l"), "json_case": ("LS434", "s.Zip"), "json_blank": ("LS434", "s.``"),
    }  # fmt: skip
    assert not result.published


def test_rows_that_do_not_fit_a_field_that_evolved_are_set_aside(make_shop: MakeShop) -> None:
    shop = make_shop()
    tables = ("json", "parquet")
    for format_ in tables:
        shop.write(source(format_, format_, "evolve", {"s": "struct<a:int>"}))
    bad, good = {"id": 1, "s": {"a": BIG, "n": 1}}, {"id": 2, "s": {"a": 2, "n": 2}}
    wide = {"id": 3, "s": {"a": 3, "n": BIG, "o": 1}}
    for format_ in tables:
        land_as(shop, format_, f"{format_}/1", {"s": "struct<a:bigint,n:int>"}, bad, good)
    shop.must_run()
    for format_ in tables:
        land_as(shop, format_, f"{format_}/2", {"s": "struct<a:bigint,n:bigint,o:int>"}, wide)
    shop.must_run()
    assert types(shop, "bronze.parquet") == {"s": "struct<a:int,n:int,o:int>"}
    assert reasons(shop, "bronze.parquet") == {
        1: [f"s.a: not an int: '{BIG}'"],
        3: [f"s.n: not an int: '{BIG}'"],
    }
    assert [json.loads(row["raw"])["id"] for row in shop.quarantine("bronze.json")] == [1]
    assert shop.rows("bronze.json") == [(2, (2, 2, None)), (3, (3, BIG, 1))]

    # Back through a definition that says nothing of what evolved, then one that widens it.
    for format_ in tables:
        shop.write(source(format_, format_, "evolve", {"s": "struct<a:bigint>"}))
        replay(shop, table=f"bronze.{format_}")
    rows = [(1, (BIG, 1, None)), (2, (2, 2, None)), (3, (3, BIG, 1))]
    assert shop.rows("bronze.json") == rows
    assert shop.rows("bronze.parquet") == rows[:2]
    shop.write(source("parquet", "parquet", "evolve", {"s": "struct<a:bigint,n:bigint>"}))
    replay(shop, table="bronze.parquet")
    assert shop.rows("bronze.parquet") == rows
    assert not shop.must_run().published


def test_sources_of_one_table_each_have_their_word_on_fields(make_shop: MakeShop) -> None:
    both = """
        source:
          web: {files: {path: landing/web/, format: parquet, on_new_column: POLICY}}
          shop: {files: {path: landing/shop/, format: json, on_new_column: evolve}}
        columns: {id: bigint, s: "struct<a:bigint>"}
        """
    policies = ("ignore", "fail")
    shop = make_shop(
        {
            f"tables/bronze/{policy}.yaml": both.replace("POLICY", policy).replace(
                "landing/", f"landing/{policy}/"
            )
            for policy in policies
        }
    )
    for policy in policies:
        (shop.root / f"landing/{policy}/shop").mkdir(parents=True)
        land_parquet(shop, f"{policy}/web/1", [{"id": 1, "s": {"a": 1, "n": 1}}])
    first = shop.run()
    assert found(first) == {"fail": ("LS434", "s.n")}
    assert notes(first, "bronze.ignore") == ["left out (on_new_column: ignore): s.n"]

    # What the one lets in, the other brings as well.
    for policy in policies:
        land_parquet(shop, f"{policy}/web/2", [{"id": 2, "s": {"a": 2, "n": 2}}])
        shop.land(f"landing/{policy}/shop/1.json", json_lines({"id": 3, "s": {"n": 3}}))
    shop.must_run()
    assert shop.rows("bronze.ignore", "id", "s") == [(1, (1, None)), (2, (2, 2)), (3, (None, 3))]
    assert shop.rows("bronze.fail", "id", "s") == [(1, (1, 1)), (2, (2, 2)), (3, (None, 3))]


def test_columns_that_are_inferred_of_files_of_different_types(make_shop: MakeShop) -> None:
    table = "source:\n  files: {path: landing/t/, format: parquet}\n"
    shop = make_shop({"tables/bronze/t.yaml": table})
    narrow = {"n": "int", "s": "struct<x:int>", "d": "decimal(10,2)"}
    land_as(shop, "parquet", "t/1", narrow, {"id": 1, "n": 1, "s": {"x": 1}, "d": 12345678.25})
    wide = {"n": "bigint", "s": "struct<x:bigint,y:string>", "d": "decimal(12,4)"}
    row = {"id": 2, "n": BIG, "s": {"x": BIG, "y": "t"}, "d": 12345678.2525}
    land_as(shop, "parquet", "t/2", wide, row)
    shop.must_run()
    assert types(shop, "bronze.t") == wide
    assert shop.rows("bronze.t") == [
        (1, 1, (1, None), Decimal("12345678.2500")),
        (2, BIG, (BIG, "t"), Decimal("12345678.2525")),
    ]
    assert shop.quarantine("bronze.t") == []
