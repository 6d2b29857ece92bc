"""Fields inside columns: what a file has and a declared type does not name is told as a new column is, at any depth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from harness import ProjectHarness, RunResult
from test_semantics_sources import _avro_text, _zigzag

if TYPE_CHECKING:
    from lakesmith.spark.session import SessionHandle

pytestmark = pytest.mark.spark

TABLE = """
    source:
      files: {{path: landing/{name}/, format: {format}, on_new_column: {policy}}}
    columns:
      id: bigint
    {columns}
    """


def _table(name: str, format_: str, policy: str, columns: dict[str, str]) -> str:
    lines = "".join(f"  {json.dumps(column)}: {json.dumps(kind)}\n    " for column, kind in columns.items())
    return TABLE.format(name=name, format=format_, policy=policy, columns=lines)


def _lines(*rows: Any) -> str:
    return "".join(
        (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)) + "\n" for row in rows
    )


def _parquet(shop: ProjectHarness, name: str, rows: list[dict[str, Any]], schema: Any = None) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(rows, schema), shop.land(name, b""))


def _found(result: RunResult) -> dict[str, tuple[str, str | None]]:
    """What failed: the file of the problem's place -> its code and what was found."""
    return {
        Path(problem.place.file).stem if problem.place else "": (problem.code, problem.found)
        for problem in result.problems
    }


def _notes(result: RunResult, table: str) -> list[str]:
    return list(result.published[table].notes)


def test_fields_of_json_that_no_type_names(tmp_path: Path, session: SessionHandle) -> None:
    columns = {
        "address": "struct<city:string,geo:struct<lat:double>>",
        "parts": "array<struct<n:int>>",
        "prices": "map<string,struct<amount:int>>",
        "odd 'name'": "struct<`a.b`:int,`e, <f`:decimal(3,1),`c``d`:array<array<struct<x:int>>>>",
        "whole": "struct<text:string>",
    }
    policies = ("fail", "ignore", "evolve")
    shop = ProjectHarness(
        tmp_path / "shop",
        session,
        {f"tables/bronze/{policy}.yaml": _table(policy, "json", policy, columns) for policy in policies},
    )
    known = {
        "id": 1,
        "address": {"city": "x", "geo": {"lat": 1.5}},
        "parts": [{"n": 1}, None],
        "prices": {"any key": {"amount": 1}},
        "odd 'name'": {"a.b": 1, "e, <f": 1.5, "c`d": [[{"x": 1}], []]},
        "whole": {"text": {"kept": "as it is"}},
    }
    for policy in policies:
        shop.land(f"landing/{policy}/1.json", _lines(known, {"id": 2}, {"id": 3, "address": None}))
    first = shop.must_run()
    assert not any("left out" in note for policy in policies for note in _notes(first, f"bronze.{policy}"))

    # Each only in one line, some beside lines that do not parse or hold no struct there; a bad row's text stays anyway.
    more = _lines(
        {"id": 4, "address": {"city": "y", "zip": "1", "geo": {"lat": 2.5, "lon": 3.5}}},
        {"id": 5, "address": "no struct", "parts": [{"n": 2}, {"n": 3, "sku": "s"}]},
        {"id": 6, "prices": {"k": {"amount": 2, "currency": "EUR"}, "amount": {}}},
        {"id": 7, "odd 'name'": {"a": {"b": 9}, "a.b": 2, "ü, `q`": 1, "c`d": [[], [{"x": 2, "y": 0}]]}},
        {"id": 8, "address": {"City": "another key", "geo": '{"text": 1}'}},
        "no json",
    )
    for policy in policies:
        shop.land(f"landing/{policy}/2.json", more)
    result = shop.run()
    left_out = [
        "address.City",
        "address.zip",
        "address.geo.lon",
        "parts.element.sku",
        "prices.value.currency",
        "`odd 'name'`.a",
        "`odd 'name'`.`ü, ``q```",
        "`odd 'name'`.`c``d`.element.element.y",
    ]
    assert result.code == 1
    assert _found(result) == {policy: ("LS434", ", ".join(left_out)) for policy in ("fail", "evolve")}
    assert shop.rows("bronze.fail", "id") == shop.rows("bronze.evolve", "id") == [(1,), (2,), (3,)]
    assert f"left out (on_new_column: ignore): {', '.join(left_out)}" in _notes(result, "bronze.ignore")
    assert shop.rows("bronze.ignore", "id", "address.city")[3:] == [(4, "y"), (6, None), (7, None)]
    assert len(shop.quarantine("bronze.ignore")) == 3


def test_fields_of_json_are_looked_for_under_every_spelling_of_the_column(
    tmp_path: Path, session: SessionHandle
) -> None:
    table = _table("spelt", "json", "fail", {"Address": "struct<city:string>"})
    shop = ProjectHarness(tmp_path / "shop", session, {"tables/bronze/spelt.yaml": table})
    shop.land("landing/spelt/1.json", _lines({"id": 1, "address": {"city": "x", "zip": "1"}}))
    assert _found(shop.run()) == {"spelt": ("LS434", "Address.zip")}
    shop.land("landing/spelt/1.json", _lines({"id": 1, "address": {"city": "x"}}))
    shop.must_run()
    assert shop.rows("bronze.spelt", "id", "Address.city") == [(1, "x")]


def test_inferred_types_hold_later_files_to_their_fields(tmp_path: Path, session: SessionHandle) -> None:
    table = "source:\n  files: {path: landing/inferred/, format: json}\n"
    shop = ProjectHarness(tmp_path / "shop", session, {"tables/bronze/inferred.yaml": table})
    first = {"id": 1, "a": {"x": 1, "an odd, one": [None]}}
    shop.land("landing/inferred/1.json", _lines(first, {"id": 2, "a": {"y": {"void": "z"}}}))
    shop.must_run()
    assert shop.rows("bronze.inferred", "id", "a") == [(1, ([None], 1, None)), (2, (None, None, ("z",)))]
    shop.land("landing/inferred/2.json", _lines({"id": 3, "a": {"x": 1, "new": 1, "y": {"void": "w"}}}))
    assert [(problem.code, problem.found) for problem in shop.run().problems] == [("LS434", "a.new")]


ADDRESSES = {"address": "struct<city:string,zip:string>", "parts": "array<struct<n:bigint>>"}


def test_fields_of_parquet_are_read_by_name(tmp_path: Path, session: SessionHandle) -> None:
    policies = ("fail", "ignore", "evolve")
    shop = ProjectHarness(
        tmp_path / "shop",
        session,
        {f"tables/bronze/{policy}.yaml": _table(policy, "parquet", policy, ADDRESSES) for policy in policies},
    )
    for policy in policies:
        same = {"id": 1, "address": {"city": "x", "zip": "1"}, "parts": [{"n": 1}]}
        _parquet(shop, f"landing/{policy}/1.parquet", [same])
        turned = {"id": 2, "address": {"ZIP": "2", "city": "y"}, "parts": [None, {"n": 2}]}
        _parquet(shop, f"landing/{policy}/2.parquet", [turned, {"id": 3, "address": None, "parts": []}])
        _parquet(
            shop, f"landing/{policy}/3.parquet", [{"id": 4, "address": {"city": "only"}, "parts": [{"n": 4}]}]
        )
    first = shop.must_run()
    rows = [
        (1, ("x", "1"), [(1,)]),
        (2, ("y", "2"), [None, (2,)]),
        (3, None, []),
        (4, ("only", None), [(4,)]),
    ]
    for policy in policies:
        assert shop.rows(f"bronze.{policy}", "id", "address", "parts") == rows
        assert "not in the files, null in their rows: address.zip" in _notes(first, f"bronze.{policy}")
        assert not any("left out" in note for note in _notes(first, f"bronze.{policy}"))

    more = {"id": 5, "address": {"a street": "s", "city": "c", "zip": "5"}, "parts": [{"sku": "k", "n": 5}]}
    for policy in policies:
        _parquet(shop, f"landing/{policy}/4.parquet", [more])
    result = shop.run()
    left_out = "address.`a street`, parts.element.sku"
    assert _found(result) == dict.fromkeys(("fail", "evolve"), ("LS434", left_out))
    assert shop.rows("bronze.fail", "id", "address", "parts") == rows
    assert f"left out (on_new_column: ignore): {left_out}" in _notes(result, "bronze.ignore")
    assert shop.rows("bronze.ignore", "id", "address", "parts") == [*rows, (5, ("c", "5"), [(5,)])]


def test_fields_of_parquet_in_maps_and_of_other_types(tmp_path: Path, session: SessionHandle) -> None:
    import pyarrow as pa

    columns = {"m": "map<string,struct<a:bigint,b:struct<x:double>>>", "whole": "string"}
    table = _table("maps", "parquet", "ignore", columns)
    shop = ProjectHarness(tmp_path / "shop", session, {"tables/bronze/maps.yaml": table})
    value = pa.struct([("b", pa.struct([("y", pa.int32()), ("x", pa.float32())])), ("a", pa.int32())])
    schema = pa.schema([("id", pa.int64()), ("m", pa.map_(pa.string(), value)), ("whole", value)])
    of = {"b": {"y": 1, "x": 0.5}, "a": 7}
    _parquet(shop, "landing/maps/1.parquet", [{"id": 1, "m": [("k", of), ("l", None)], "whole": of}], schema)
    result = shop.must_run()
    assert _notes(result, "bronze.maps") == ["left out (on_new_column: ignore): m.value.b.y"]
    assert shop.rows("bronze.maps", "id", "m") == [(1, {"k": (7, (0.5,)), "l": None})]
    assert shop.rows("bronze.maps", "whole") == [("{{1, 0.5}, 7}",)]


AVRO = {
    "type": "record",
    "name": "row",
    "fields": [
        {"name": "id", "type": "long"},
        {
            "name": "address",
            "type": {
                "type": "record",
                "name": "address",
                "fields": [{"name": "zip", "type": "string"}, {"name": "city", "type": "string"}],
            },
        },
    ],
}


def _avro_row(id_: int, zip_: str, city: str) -> bytes:
    """An Avro object container file (Avro 1.12 specification) of ``AVRO`` with one row."""
    pairs = (("avro.schema", json.dumps(AVRO)), ("avro.codec", "null"))
    meta = b"".join(_avro_text(text) for pair in pairs for text in pair)
    block, sync = _zigzag(id_) + _avro_text(zip_) + _avro_text(city), bytes(range(16))
    return (
        b"Obj\x01" + _zigzag(2) + meta + _zigzag(0) + sync + _zigzag(1) + _zigzag(len(block)) + block + sync
    )


def test_fields_of_avro_are_read_by_name(tmp_path: Path, session: SessionHandle) -> None:
    tables = {
        "fail": _table("fail", "avro", "fail", {"address": "struct<city:string>"}),
        "ignore": _table("ignore", "avro", "ignore", {"address": "struct<city:string>"}),
        "both": _table("both", "avro", "fail", {"address": "struct<city:string,zip:string>"}),
    }
    files = {f"tables/bronze/{name}.yaml": text for name, text in tables.items()}
    shop = ProjectHarness(tmp_path / "shop", session, files)
    for name in tables:
        shop.land(f"landing/{name}/1.avro", _avro_row(1, "12345", "Oslo"))
    result = shop.run()
    assert _found(result) == {"fail": ("LS434", "address.zip")}
    assert "left out (on_new_column: ignore): address.zip" in _notes(result, "bronze.ignore")
    assert shop.rows("bronze.ignore", "id", "address") == [(1, ("Oslo",))]
    assert shop.rows("bronze.both", "id", "address") == [(1, ("Oslo", "12345"))]
