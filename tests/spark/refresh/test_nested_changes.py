"""Column types that change inside: fields that are declared later, and types that widen, without new data."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from harness import Harness, MakeShop
from nested import found, land_as, land_parquet, notes, reasons, source, types
from out_of_quarantine import replay

pytestmark = pytest.mark.in_turn

BIG = 2**40
BEFORE = {
    "s": "struct<b:int,sub:struct<x:float>>",
    "parts": "array<struct<n:int>>",
    "m": "map<string,struct<d:decimal(4,2)>>",
    "l": "array<int>",
}
AFTER = {
    "s": "struct<a:string,b:bigint,sub:struct<x:double,y:struct<z:int>>,`odd, c`:date>",
    "parts": "array<struct<sku:string,n:bigint>>",
    "m": "map<string,struct<d:decimal(9,2),e:array<int>>>",
    "l": "array<bigint>",
}
OLD: list[dict[str, Any]] = [
    {"id": 1, "s": {"b": 1, "sub": {"x": 0.5}}, "parts": [{"n": 1}], "m": {"k": {"d": 1.25}}, "l": [1]},
    {"id": 2, "s": {"b": 2}, "parts": [None], "m": {"k": None}, "l": []},
]
NEW: dict[str, Any] = {
    "id": 3,
    "s": {"a": "t", "b": BIG, "sub": {"x": 0.1, "y": {"z": 7}}, "odd, c": "2024-01-02"},
    "parts": [{"sku": "k", "n": BIG}],
    "m": {"k": {"d": 12345.75, "e": [1, None]}},
    "l": [BIG],
}
OLD_ROWS = [
    (1, (None, 1, (0.5, None), None), [(None, 1)], {"k": (Decimal("1.25"), None)}, [1]),
    (2, (None, 2, None, None), [None], {"k": None}, []),
]
NEW_ROW = (
    3, ("t", BIG, (0.1, (7,)), date(2024, 1, 2)), [("k", BIG)], {"k": (Decimal("12345.75"), [1, None])},
    [BIG],
)  # fmt: skip


def _sources(columns: dict[str, str]) -> dict[str, str]:
    return {**source("json", "json", "fail", columns), **source("parquet", "parquet", "fail", columns)}


def _land(shop: Harness, name: str, columns: dict[str, str], *rows: dict[str, Any]) -> None:
    for format_ in ("json", "parquet"):
        land_as(shop, format_, f"{format_}/{name}", columns, *rows)


def test_fields_declared_later_and_types_that_widen(make_shop: MakeShop) -> None:
    below = {
        "tables/silver/copy.yaml": "from: bronze.json\n",
        "tables/silver/keyed.sql": "SELECT id, s, parts, m, l FROM bronze.parquet",
        "tables/silver/keyed.yaml": "key: [id]\n",
        "tables/gold/whole.sql": "SELECT max(s) AS s FROM silver.copy",
    }
    shop = make_shop({**_sources(BEFORE), **below})
    tables = ("bronze.json", "bronze.parquet", "silver.copy", "silver.keyed")
    _land(shop, "1", BEFORE, *OLD)
    shop.must_run()
    assert [types(shop, table) for table in tables] == [BEFORE] * 4

    _land(shop, "2", AFTER, NEW)
    assert {code for code, _ in found(shop.run()).values()} == {"LS434"}
    result = shop.redefine(_sources(AFTER))
    assert {
        "field s.a string was added", "field s.b was widened from int to bigint",
        "field s.sub.x was widened from float to double", "field s.sub.y struct<z:int> was added",
        "field s.`odd, c` date was added", "field parts.element.sku string was added",
        "field parts.element.n was widened from int to bigint",
        "field m.value.d was widened from decimal(4,2) to decimal(9,2)",
        "field m.value.e array<int> was added", "field l.element was widened from int to bigint",
    } <= set(notes(result, "bronze.json"))  # fmt: skip
    assert [types(shop, table) for table in tables] == [AFTER] * 4
    for table in tables:
        assert shop.rows(table, "id", *AFTER) == [*OLD_ROWS, NEW_ROW]
    assert result.published["silver.copy"].kind == "append"
    assert result.published["silver.keyed"].kind == "upsert"
    assert shop.rows("gold.whole") == [(NEW_ROW[1],)]
    shop.must_run(full=["silver.copy", "silver.keyed", "gold.whole"])
    for table in tables:
        assert shop.rows(table, "id", *AFTER) == [*OLD_ROWS, NEW_ROW]
    assert not shop.must_run().published


def test_what_metadata_cannot_change_inside_stops(make_shop: MakeShop) -> None:
    declared = {"s": "struct<a:int,b:bigint>", "m": "map<int,string>"}
    shop = make_shop(source("parquet", "parquet", "fail", declared))
    land_parquet(shop, "parquet/1", [{"id": 1, "s": {"a": 1, "b": 1}}])
    shop.must_run()
    land_parquet(shop, "parquet/2", [{"id": 2, "s": {"a": 1, "b": 1}}])
    others = {
        "s": ["struct<b:bigint,a:int>", "struct<a:string,b:bigint>", "struct<a:int,b:int>"],
        "m": ["map<bigint,string>"],
    }
    for column, kind in ((column, kind) for column, kinds in others.items() for kind in kinds):
        shop.write(source("parquet", "parquet", "ignore", {**declared, column: kind}))
        (problem,) = shop.run().problems
        assert (problem.code, problem.expected, problem.found) == (
            "LS507",
            f"{declared[column]}, or a type it widens to without new data",
            kind,
        )
    assert types(shop, "bronze.parquet") == declared
    assert shop.rows("bronze.parquet", "id") == [(1,)]


def test_a_rebuild_changes_types_inside_as_it_can(make_shop: MakeShop) -> None:
    """In place where metadata can do it, else by a column that takes the other's place."""
    shop = make_shop(
        {"tables/bronze/e.yaml": "source:\n  files: {path: landing/e/, format: csv}\ncolumns: {id: int}\n"}
    )
    shop.land("landing/e/1.csv", "id\n1\n")
    for query, kind, row in (
        ("named_struct('x', id)", "struct<x:int>", (1,)),
        ("named_struct('w', 'v', 'x', id + 1L)", "struct<w:string,x:bigint>", ("v", 2)),
        ("named_struct('x', id, 'w', 'v')", "struct<x:int,w:string>", (1, "v")),
        ("array(named_struct('a, b', id))", "array<struct<`a, b`:int>>", [(1,)]),
        ("array(named_struct('a, b', id, 'c', 2))", "array<struct<`a, b`:int,c:int>>", [(1, 2)]),
    ):
        shop.redefine({"tables/silver/d.sql": f"SELECT id, {query} AS s FROM bronze.e"}, approve=["silver.d"])
        assert types(shop, "silver.d") == {"s": kind}
        assert shop.rows("silver.d") == [(1, row)]


def test_rows_set_aside_come_back_when_their_fields_are_wide_enough(make_shop: MakeShop) -> None:
    table = source("orders", "parquet", "fail", {"s": "struct<n:int>"})
    shop = make_shop(table)
    land_parquet(shop, "orders/1", [{"id": 1, "s": {"n": BIG}}, {"id": 2, "s": {"n": 2}}])
    shop.must_run()
    assert reasons(shop, "bronze.orders") == {1: [f"s.n: not an int: '{BIG}'"]}
    shop.write(source("orders", "parquet", "fail", {"s": "struct<m:string,n:bigint>"}))
    replay(shop)
    assert reasons(shop, "bronze.orders") == {}
    assert shop.rows("bronze.orders") == [(1, (None, BIG)), (2, (None, 2))]
