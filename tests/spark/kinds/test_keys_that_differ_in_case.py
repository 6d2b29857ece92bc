"""Keys that differ in case only: which one a record's value is read from depends on the record alone."""

import json
from typing import Any

import pytest
from harness import MakeShop, in_order
from nested import found, json_lines, notes
from out_of_quarantine import replay

TABLE = """
    source:
      files: {path: landing/NAME/, format: json, on_new_column: ignore}
    columns:
      n: int
      UserUPN: string
      full_name: {type: string, renamed_from: name}
      s: "struct<City:string,list:array<struct<Sku:int>>>"
    """
FILES: list[list[dict[str, Any]]] = [
    [{"n": 1, "UserUPN": "a"}, {"n": 2, "UserUpn": "b"}, {"n": 3, "s": {"City": "Oslo"}}],
    [{"n": 4, "UserUpn": "c"}, {"n": 5, "userupn": "d", "s": {"city": "Bern"}}],
    [{"N": 6, "UserUPN": None, "UserUpn": "e"}, {"n": 7, "UserUpn": "f", "USERUPN": "g"}],
    [{"n": 8, "full_name": "new", "name": "old"}, {"n": 9, "name": "old"},
        {"n": 10, "Name": "x", "name": "y"}],
    [{"n": 11, "FULL_NAME": None, "name": "z"}, {"n": 12,
        "s": {"list": [{"SKU": 1}, {"sku": 2, "Sku": None}, None]}}],
    [{"n": 13, "s": {"CITY": "no", "city": "way"}}, {"n": 14, "s": None},
        {"n": 15, "s": {"list": [{"SKU": 1, "sku": 2}]}}],
]  # fmt: skip


class Ambiguous(Exception):
    """Several keys of a record differ from a column's name in case only."""


def value_of(record: dict[str, Any] | None, *names: str) -> Any:
    """The rule: the same key, else the only one that differs in case; then the same for the earlier name."""
    for name in names:
        like = [key for key in record or () if key.lower() == name.lower()]
        if like and name not in like and len(like) > 1:
            raise Ambiguous
        if like and record is not None:
            return record[name if name in like else like[0]]
    return None


def struct_of(record: dict[str, Any] | None) -> Any:
    if record is None:
        return None
    items = value_of(_some(record), "list")
    each = items and [None if it is None else (value_of(_some(it), "Sku"),) for it in items]
    return (value_of(_some(record), "City"), each)


def _some(struct: dict[str, Any]) -> dict[str, Any]:
    """Inside a column, a key whose value is null counts as absent."""
    return {key: value for key, value in struct.items() if value is not None}


def row_of(record: dict[str, Any]) -> tuple[Any, ...]:
    name = value_of(record, "full_name", "name")
    return (value_of(record, "n"), value_of(record, "UserUPN"), name, struct_of(value_of(record, "s")))


@pytest.mark.in_turn
def test_keys_are_matched_record_by_record(make_shop: MakeShop) -> None:
    shop = make_shop(
        {f"tables/bronze/{name}.yaml": TABLE.replace("NAME", name) for name in ("together", "apart")}
    )
    good, bad = [], []
    for record in (record for file in FILES for record in file):
        try:
            good.append(row_of(record))
        except Ambiguous:
            bad.append(record)
    for number, file in enumerate(FILES):
        shop.land(f"landing/together/{number}.json", json_lines(*file))
    for number, file in enumerate(FILES):
        result = shop.take(f"landing/apart/{number}.json", json_lines(*file))
        if not number:
            assert any(
                "left out (on_new_column: ignore): " in note for note in notes(result, "bronze.together")
            )
    for name in ("together", "apart"):
        assert shop.rows(f"bronze.{name}") == in_order(good)
        aside = shop.quarantine(f"bronze.{name}")
        assert [json.loads(row["raw"]) for row in aside] == bad
        assert [row["reasons"] for row in aside] == [
            ["UserUPN: several keys differ from it in case only, or look the same: USERUPN, UserUpn"],
            ["s.City: several keys differ from it in case only, or look the same"],
            ["s.list.element.Sku: several keys differ from it in case only, or look the same"],
        ]
    replay(shop, table="bronze.together")
    assert shop.rows("bronze.together") == in_order(good)
    assert len(shop.quarantine("bronze.together")) == len(bad)


@pytest.mark.in_turn
def test_new_keys_that_differ_in_case_are_one_column_unless_one_record_has_both(make_shop: MakeShop) -> None:
    inferred = "source:\n  files: {path: landing/NAME/, format: json}\n"
    declared = "columns: {id: int, s: struct<a:int>}"
    evolve = inferred.replace("json", "json, on_new_column: evolve") + declared
    fail = inferred + declared
    tables = {
        "new": evolve, "guessed": inferred, "both": evolve, "inside": evolve, "fail": fail, "clear": fail,
    }  # fmt: skip
    shop = make_shop(
        {f"tables/bronze/{name}.yaml": text.replace("NAME", name) for name, text in tables.items()}
    )
    rows = {"id": 1, "Up": 1, "s": {"a": 1, "New": 1}}, {"id": 2, "UP": 2, "s": {"A": 2, "NEW": 2}}
    for name in ("new", "guessed"):
        shop.land(f"landing/{name}/1.json", json_lines(*rows))
    shop.land("landing/both/1.json", json_lines({"id": 1, "Up": 1, "UP": 2}))
    shop.land("landing/inside/1.json", json_lines({"id": 1, "s": {"a": 1, "A": 2}}))
    shop.land("landing/fail/1.json", json_lines({"id": 1, "ID": 2}))
    shop.land("landing/clear/1.json", json_lines({"id": 1, "s": {"a": 1}}, {"ID": 2, "s": {"A": 2}}))
    assert found(shop.run()) == {"both": ("LS432", "Up"), "inside": ("LS434", "s.A"), "fail": ("LS431", "ID")}
    expected = [(1, 1, (1, 1)), (2, 2, (2, 2))]
    assert shop.rows("bronze.clear") == [(1, (1,)), (2, (2,))]
    assert shop.rows("bronze.new", "id", "UP", "s") == expected
    assert shop.rows("bronze.guessed", "id", "Up", "s") == [(1, 1, (1, 1)), (2, 2, (2, 2))]
