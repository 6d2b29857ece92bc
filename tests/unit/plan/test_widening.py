from __future__ import annotations

import pytest

from lakesmith.plan.widening import TypeChange, type_changes

IN_METADATA: list[tuple[str, str, list[TypeChange]]] = [
    ("int", "int", []),
    ("decimal(4,2)", "DECIMAL(4, 2)", []),
    ("struct<`a`:int>", "struct< a: int >", []),
    ("int", "bigint", [TypeChange(("c",), "int", "bigint")]),
    ("float", "double", [TypeChange(("c",), "float", "double")]),
    ("decimal(4,2)", "decimal(9,2)", [TypeChange(("c",), "decimal(4,2)", "decimal(9,2)")]),
    ("struct<a:int>", "struct<a:int,b:date>", [TypeChange(("c", "b"), None, "date", "a")]),
    (
        "struct<b:float>",
        "struct<a:string,a2:struct<x y:int>,b:double,`ü.c`:array<int>>",
        [
            TypeChange(("c", "a"), None, "string"),
            TypeChange(("c", "a2"), None, "struct<x y:int>", "a"),
            TypeChange(("c", "b"), "float", "double"),
            TypeChange(("c", "ü.c"), None, "array<int>", "b"),
        ],
    ),
    ("array<int>", "array<bigint>", [TypeChange(("c", "element"), "int", "bigint")]),
    (
        "array<struct<m:map<string,struct<x:int>>>>",
        "array<struct<m:map<string,struct<x:bigint,y:int>>>>",
        [
            TypeChange(("c", "element", "m", "value", "x"), "int", "bigint"),
            TypeChange(("c", "element", "m", "value", "y"), None, "int", "x"),
        ],
    ),
]


@pytest.mark.parametrize(("old", "new", "changes"), IN_METADATA)
def test_what_metadata_alone_can_change(old: str, new: str, changes: list[TypeChange]) -> None:
    assert type_changes(old, new, "c") == tuple(changes)


NEEDS_NEW_DATA = [
    ("bigint", "int"),
    ("double", "float"),
    ("int", "string"),
    ("int", "double"),
    ("decimal(4,2)", "decimal(3,2)"),
    ("decimal(4,2)", "decimal(9,3)"),
    ("decimal(4,0)", "bigint"),
    ("date", "timestamp"),
    ("int", "struct<a:int>"),
    ("struct<a:int>", "int"),
    ("array<int>", "map<string,int>"),
    ("array<int>", "array<string>"),
    ("struct<a:int,b:int>", "struct<a:int>"),
    ("struct<a:int,b:int>", "struct<b:int,a:int>"),
    ("struct<a:int>", "struct<A:int>"),
    ("struct<a:int>", "struct<a:int,A:int>"),
    ("struct<a:int,b:int>", "struct<a:bigint,c:int>"),
    ("map<int,string>", "map<bigint,string>"),
    ("map<struct<a:int>,string>", "map<struct<a:int,b:int>,string>"),
]


@pytest.mark.parametrize(("old", "new"), NEEDS_NEW_DATA)
def test_what_needs_new_data(old: str, new: str) -> None:
    assert type_changes(old, new) is None


def test_changes_in_words() -> None:
    changes = type_changes("struct<a b:int>", "struct<a b:bigint,b:array<int>>", "c") or ()
    assert list(map(str, changes)) == [
        "field c.`a b` was widened from int to bigint",
        "field c.b array<int> was added",
    ]
    assert list(map(str, type_changes("int", "bigint", "c") or ())) == [
        "column c was widened from int to bigint"
    ]
