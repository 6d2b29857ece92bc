"""Changes of types in metadata alone, and how types grow with what files bring."""

import pytest

from lakesmith.project.spark_types import parse_type
from lakesmith.sources.columns.types import (
    TypeChange,
    common_type,
    grown,
    remembered,
    table_type,
    type_changes,
    widened,
)

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
    ("bigint", "int"), ("double", "float"), ("int", "string"), ("int", "double"),
    ("decimal(4,2)", "decimal(3,2)"), ("decimal(4,2)", "decimal(9,3)"), ("decimal(4,0)", "bigint"),
    ("date", "timestamp"), ("int", "struct<a:int>"), ("struct<a:int>", "int"),
    ("array<int>", "map<string,int>"), ("array<int>", "array<string>"),
    ("struct<a:int,b:int>", "struct<a:int>"), ("struct<a:int,b:int>", "struct<b:int,a:int>"),
    ("struct<a:int>", "struct<A:int>"), ("struct<a:int>", "struct<a:int,A:int>"),
    ("struct<a:int,b:int>", "struct<a:bigint,c:int>"), ("map<int,string>", "map<bigint,string>"),
    ("map<struct<a:int>,string>", "map<struct<a:int,b:int>,string>"),
]  # fmt: skip


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


GROWN = [
    # title, the column's type, the file's, what becomes of it
    ("nothing new is left as it was written", "STRUCT< a : INT >", "struct<A:bigint>", "STRUCT< a : INT >"),
    ("behind the others", "struct<b:int>", "struct<a:string,b:int>", "struct<b:int,a:string>"),
    ("what is declared keeps its type", "struct<b:int>", "struct<b:bigint,c:int>", "struct<b:int,c:int>"),
    ("a whole struct", "struct<b:int>", "struct<c:struct<x:int>>", "struct<b:int,c:struct<x:int>>"),
    ("in a struct", "struct<s:struct<x:int>>", "struct<S:struct<x:int,y:int>>",
     "struct<s:struct<x:int,y:int>>"),
    ("in an array", "array<struct<x:int>>", "array<struct<y:int>>", "array<struct<x:int,y:int>>"),
    ("in the values of a map", "map<int,struct<x:int>>", "map<bigint,struct<y:int>>",
     "map<int,struct<x:int,y:int>>"),
    ("not in the keys of a map", "map<struct<x:int>,int>", "map<struct<x:int,y:int>,int>",
     "map<struct<x:int>,int>"),
    ("into an empty struct", "struct<>", "struct<x:int>", "struct<x:int>"),
    ("odd names are quoted", "struct<a:int>", "struct<`b c`:int,`d``e`:int>",
     "struct<a:int,`b c`:int,`d``e`:int>"),
    ("another kind is a matter of values", "struct<a:string>", "struct<a:struct<x:int>>", "struct<a:string>"),
    ("not beside one of another case", "struct<a:int>", "struct<a:int,A:int,b:int>", "struct<a:int,b:int>"),
    ("two of another case: the first", "struct<a:int>", "struct<b:int,B:int>", "struct<a:int,b:int>"),
    ("not with two of one name inside", "struct<a:int>", "struct<b:struct<x:int,X:int>>", "struct<a:int>"),
    ("not without a name", "struct<a:int>", "struct<` `:int,c:struct<` `:int>>", "struct<a:int>"),
    ("not without a type", "struct<a:int>",
     "struct<a:int,b:void,c:array<void>,d:struct<e:void,f:map<string,void>>>", "struct<a:int>"),
    ("only with the fields that have one", "struct<>", "struct<a:struct<b:void,c:int>>",
     "struct<a:struct<c:int>>"),
    ("types that no table has", "struct<>", "struct<a:tinyint,b:array<smallint>,c:void,d:struct<>>",
     "struct<a:int,b:array<int>,d:string>"),
]  # fmt: skip


@pytest.mark.parametrize(("ours", "theirs", "expected"), [c[1:] for c in GROWN], ids=[c[0] for c in GROWN])
def test_a_type_grows_by_the_fields_of_a_file(ours: str, theirs: str, expected: str) -> None:
    before = parse_type(ours)
    assert grown(before, parse_type(theirs), before).text == expected


def test_what_came_with_one_file_widens_with_the_next_and_what_was_there_does_not() -> None:
    base = parse_type("struct<a:int>")
    first = grown(base, parse_type("struct<a:int,b:int,c:struct<d:float>>"), base)
    second = grown(first, parse_type("struct<a:bigint,B:bigint,c:struct<d:double,e:int>>"), base)
    assert second.text == "struct<a:int,b:bigint,c:struct<d:double,e:int>>"
    assert grown(second, parse_type("struct<b:int,c:struct<d:float>>"), base) == second


COMMON = [
    ("int", "bigint", "bigint"), ("double", "float", "double"),
    ("decimal(4,2)", "decimal(9,2)", "decimal(9,2)"), ("smallint", "int", "int"), ("int", "string", "int"),
    ("decimal(4,2)", "decimal(9,3)", "decimal(9,3)"), ("decimal(9,3)", "decimal(4,2)", "decimal(9,3)"),
    ("decimal(8,0)", "decimal(4,3)", "decimal(11,3)"), ("decimal(38,0)", "decimal(4,3)", "decimal(38,0)"),
    ("struct<a:decimal(10,2)>", "struct<a:decimal(12,4)>", "struct<a:decimal(12,4)>"),
    ("struct<a:int>", "array<int>", "struct<a:int>"), ("array<int>", "array<bigint>", "array<bigint>"),
    ("struct<a:int,b:int>", "struct<b:bigint,c:date>", "struct<a:int,b:bigint,c:date>"),
    ("void", "date", "date"), ("array<void>", "array<struct<a:int>>", "array<struct<a:int>>"),
    ("array<int>", "void", "array<int>"), ("struct<a:void,b:int>", "struct<a:date>", "struct<a:date,b:int>"),
    ("void", "array<void>", "array<void>"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "expected"), COMMON)
def test_a_new_column_is_of_the_wider_type_else_of_the_first(one: str, other: str, expected: str) -> None:
    assert common_type(one, other) == expected


@pytest.mark.parametrize("kind", ["void", "array<void>", "map<string,void>", "struct<a:void,b:array<void>>"])
def test_a_type_of_nothing_but_nulls_is_none(kind: str) -> None:
    assert parse_type(kind).is_typeless
    assert common_type(kind, "decimal(4,2)") == common_type("decimal(4,2)", kind) == "decimal(4,2)"
    assert not parse_type(f"struct<x:{kind},y:int>").is_typeless
    assert table_type(f"struct<x:{kind},y:int>") == "struct<y:int>"
    assert "void" not in table_type(kind)


REMEMBERED = [
    # title, declared, in the table, what the column is
    ("nothing evolved", "struct< a:INT>", "struct<a:int>", "struct< a:INT>"),
    ("evolved behind", "struct<a:int>", "struct<a:int,x:date>", "struct<a:int,x:date>"),
    ("declared since", "struct<a:int,b:int>", "struct<a:int,x:date>", "struct<a:int,x:date,b:int>"),
    ("where it is in the table", "struct<b:int>", "struct<a:int,b:int,c:int>", "struct<a:int,b:int,c:int>"),
    ("a type that is declared counts", "struct<a:bigint>", "struct<a:int,x:int>", "struct<a:bigint,x:int>"),
    ("deep", "array<struct<s:map<string,struct<a:int>>>>", "array<struct<s:map<string,struct<a:int,x:int>>>>",
     "array<struct<s:map<string,struct<a:int,x:int>>>>"),
    ("another kind", "struct<a:int>", "string", "struct<a:int>"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("declared", "there", "expected"), [c[1:] for c in REMEMBERED], ids=[c[0] for c in REMEMBERED]
)
def test_a_declared_type_keeps_what_evolved(declared: str, there: str, expected: str) -> None:
    assert remembered(declared, there) == expected


WIDENED = [
    # title, the column's type, the file's, what becomes of it
    ("a whole number", "int", "bigint", "bigint"),
    ("never narrower", "bigint", "int", "bigint"),
    ("a double holds no bigint", "bigint", "double", "bigint"),
    ("more digits", "decimal(5,2)", "decimal(9,2)", "decimal(9,2)"),
    ("another scale needs new data", "decimal(5,2)", "decimal(9,3)", "decimal(5,2)"),
    ("in a struct, spelt otherwise", "struct<a:int,key:int>", "struct<KEY:bigint,A:bigint,b:int>",
     "struct<a:bigint,key:bigint>"),
    ("a field that the file has not", "struct<a:int,b:int>", "struct<b:bigint>", "struct<a:int,b:bigint>"),
    ("not in the keys of a map", "map<int,array<int>>", "map<bigint,array<bigint>>",
     "map<int,array<bigint>>"),
    ("another kind", "struct<a:int>", "bigint", "struct<a:int>"),
    ("nothing wider is left as it was written", "struct< a : INT >", "struct<a:int>", "struct< a : INT >"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"), [c[1:] for c in WIDENED], ids=[c[0] for c in WIDENED]
)
def test_an_inferred_type_widens_as_metadata_can(ours: str, theirs: str, expected: str) -> None:
    assert widened(parse_type(ours), parse_type(theirs)).text == expected
