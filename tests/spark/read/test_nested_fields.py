"""Fields inside columns: what a declared type does not name is reported as a new column is, at any depth."""

import pytest
from harness import MakeShop
from nested import found, json_lines, land_as, land_parquet, notes, source, sources, types

pytestmark = pytest.mark.in_turn


def test_fields_of_json_that_no_type_names(make_shop: MakeShop) -> None:
    columns = {
        "address": "struct<city:string,geo:struct<lat:double>>",
        "parts": "array<struct<n:int>>",
        "prices": "map<string,struct<amount:int>>",
        "odd 'name'": "struct<`a.b`:int,`e, <f`:decimal(3,1),`c``d`:array<array<struct<x:int>>>>",
        "whole": "struct<text:string>",
    }
    policies = ("fail", "ignore", "evolve")
    shop = make_shop(sources("json", columns, *policies))
    known = {
        "id": 1,
        "address": {"city": "x", "geo": {"lat": 1.5}},
        "parts": [{"n": 1}, None],
        "prices": {"any key": {"amount": 1}},
        "odd 'name'": {"a.b": 1, "e, <f": 1.5, "c`d": [[{"x": 1}], []]},
        "whole": {"text": {"kept": "as it is"}},
    }
    for policy in policies:
        shop.land(f"landing/{policy}/1.json", json_lines(known, {"id": 2}, {"id": 3, "address": None}))
    first = shop.must_run()
    assert not any("left out" in note for policy in policies for note in notes(first, f"bronze.{policy}"))

    # Each only in one line, some beside lines that do not parse or hold no struct there; a bad row's text
    # stays anyway.
    more = json_lines(
        {"id": 4, "address": {"city": "y", "zip": "1", "geo": {"lat": 2.5, "lon": 3.5}}},
        {"id": 5, "address": "no struct", "parts": [{"n": 2}, {"n": 3, "sku": "s"}]},
        {"id": 6, "prices": {"k": {"amount": 2, "currency": "EUR"}, "amount": {}}},
        {"id": 7, "odd 'name'": {"a": {"b": 9}, "a.b": 2, "ü, `q`": 1, "c`d": [[], [{"x": 2, "y": 0}]]}},
        {"id": 8, "address": {"city": "its own key", "City": "another key"}},
        {"id": 9, "address": {"geo": '{"text": 1}'}},
        "no json",
    )
    for policy in policies:
        shop.land(f"landing/{policy}/2.json", more)
    result = shop.run()
    left_out = [
        "address.City", "address.zip", "address.geo.lon", "parts.element.sku", "prices.value.currency",
        "`odd 'name'`.a", "`odd 'name'`.`ü, ``q```", "`odd 'name'`.`c``d`.element.element.y",
    ]  # fmt: skip
    assert result.code == 1
    # A key beside one that differs from it in case only is another key, but no table has both: the others
    # could be added.
    assert found(result) == {"fail": ("LS434", ", ".join(left_out)), "evolve": ("LS434", "address.City")}
    assert shop.rows("bronze.fail", "id") == shop.rows("bronze.evolve", "id") == [(1,), (2,), (3,)]
    assert f"left out (on_new_column: ignore): {', '.join(left_out)}" in notes(result, "bronze.ignore")
    assert shop.rows("bronze.ignore", "id", "address.city")[3:] == [
        (4, "y"), (6, None), (7, None), (8, "its own key"),
    ]  # fmt: skip
    assert len(shop.quarantine("bronze.ignore")) == 3


def test_fields_of_json_are_looked_for_under_every_spelling_of_the_column(make_shop: MakeShop) -> None:
    table = source("spelt", "json", "fail", {"Address": "struct<city:string>"})
    shop = make_shop(table)
    shop.land("landing/spelt/1.json", json_lines({"id": 1, "address": {"city": "x", "zip": "1"}}))
    assert found(shop.run()) == {"spelt": ("LS434", "Address.zip")}
    shop.take("landing/spelt/1.json", json_lines({"id": 1, "address": {"city": "x"}}))
    assert shop.rows("bronze.spelt", "id", "Address.city") == [(1, "x")]


def test_inferred_types_hold_later_files_to_their_fields(make_shop: MakeShop) -> None:
    table = "source:\n  files: {path: landing/inferred/, format: json, on_new_column: fail}\n"
    shop = make_shop({"tables/bronze/inferred.yaml": table})
    first = {"id": 1, "a": {"x": 1, "an odd, one": [None]}}
    shop.take("landing/inferred/1.json", json_lines(first, {"id": 2, "a": {"y": {"void": "z"}}}))
    assert shop.rows("bronze.inferred", "id", "a") == [(1, ([None], 1, None)), (2, (None, None, ("z",)))]
    shop.land("landing/inferred/2.json", json_lines({"id": 3, "a": {"x": 1, "new": 1, "y": {"void": "w"}}}))
    assert [(problem.code, problem.found) for problem in shop.run().problems] == [("LS434", "a.new")]
    shop.write(
        {"tables/bronze/inferred.yaml": table.replace(", on_new_column: fail", "")}
    )  # then they evolve
    assert "new (on_new_column: evolve): a.new bigint" in notes(shop.must_run(), "bronze.inferred")
    assert shop.rows("bronze.inferred", "id", "a.x", "a.new", "a.y.void")[2:] == [(3, 1, 1, "w")]


ADDRESSES = {"address": "struct<city:string,zip:string>", "parts": "array<struct<n:bigint>>"}


def test_fields_of_parquet_are_read_by_name(make_shop: MakeShop) -> None:
    policies = ("fail", "ignore", "evolve")
    shop = make_shop(sources("parquet", ADDRESSES, *policies))
    for policy in policies:
        same = {"id": 1, "address": {"city": "x", "zip": "1"}, "parts": [{"n": 1}]}
        land_parquet(shop, f"{policy}/1", [same])
        turned = {"id": 2, "address": {"ZIP": "2", "city": "y"}, "parts": [None, {"n": 2}]}
        land_parquet(shop, f"{policy}/2", [turned, {"id": 3, "address": None, "parts": []}])
        land_parquet(shop, f"{policy}/3", [{"id": 4, "address": {"city": "only"}, "parts": [{"n": 4}]}])
    first = shop.must_run()
    rows = [
        (1, ("x", "1"), [(1,)]), (2, ("y", "2"), [None, (2,)]), (3, None, []), (4, ("only", None), [(4,)]),
    ]  # fmt: skip
    for policy in policies:
        assert shop.rows(f"bronze.{policy}", "id", "address", "parts") == rows
        assert "not in the files, null in their rows: address.zip" in notes(first, f"bronze.{policy}")
        assert not any("left out" in note for note in notes(first, f"bronze.{policy}"))

    more = {"id": 5, "address": {"a street": "s", "city": "c", "zip": "5"}, "parts": [{"sku": "k", "n": 5}]}
    for policy in policies:
        land_parquet(shop, f"{policy}/4", [more])
    result = shop.run()
    left_out = "address.`a street`, parts.element.sku"
    assert found(result) == {"fail": ("LS434", left_out)}
    assert shop.rows("bronze.fail", "id", "address", "parts") == rows
    assert f"left out (on_new_column: ignore): {left_out}" in notes(result, "bronze.ignore")
    assert shop.rows("bronze.ignore", "id", "address", "parts") == [*rows, (5, ("c", "5"), [(5,)])]
    evolved = "new (on_new_column: evolve): address.`a street` string, parts.element.sku string"
    assert evolved in notes(result, "bronze.evolve")
    assert shop.rows("bronze.evolve", "id", "address", "parts")[4:] == [(5, ("c", "5", "s"), [(5, "k")])]
    assert types(shop, "bronze.fail") == types(shop, "bronze.ignore") == ADDRESSES


def test_fields_of_parquet_in_maps_and_of_other_types(make_shop: MakeShop) -> None:
    import pyarrow as pa

    columns = {"m": "map<string,struct<a:bigint,b:struct<x:double>>>", "whole": "string"}
    table = source("maps", "parquet", "ignore", columns)
    shop = make_shop(table)
    value = pa.struct([("b", pa.struct([("y", pa.int32()), ("x", pa.float32())])), ("a", pa.int32())])
    schema = pa.schema([("id", pa.int64()), ("m", pa.map_(pa.string(), value)), ("whole", value)])
    of = {"b": {"y": 1, "x": 0.5}, "a": 7}
    land_parquet(shop, "maps/1", [{"id": 1, "m": [("k", of), ("l", None)], "whole": of}], schema)
    assert notes(shop.must_run(), "bronze.maps") == ["left out (on_new_column: ignore): m.value.b.y"]
    assert shop.rows("bronze.maps", "id", "m") == [(1, {"k": (7, (0.5,)), "l": None})]
    assert shop.rows("bronze.maps", "whole") == [("{{1, 0.5}, 7}",)]


def test_fields_of_avro_are_read_by_name(make_shop: MakeShop) -> None:
    short, whole = "struct<city:string>", "struct<city:string,zip:string>"
    tables = {"fail": ("fail", short), "ignore": ("ignore", short), "both": ("fail", whole)}
    shop = make_shop()
    for name, (policy, kind) in tables.items():
        shop.write(source(name, "avro", policy, {"address": kind}))
        row = {"id": 1, "address": {"zip": "12345", "city": "Oslo"}}
        land_as(shop, "avro", f"{name}/1", {"address": "struct<zip:string,city:string>"}, row)
    result = shop.run()
    assert found(result) == {"fail": ("LS434", "address.zip")}
    assert "left out (on_new_column: ignore): address.zip" in notes(result, "bronze.ignore")
    assert shop.rows("bronze.ignore", "id", "address") == [(1, ("Oslo",))]
    assert shop.rows("bronze.both", "id", "address") == [(1, ("Oslo", "12345"))]
