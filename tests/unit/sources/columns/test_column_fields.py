import pytest

from lakesmith.errors import Place
from lakesmith.project.definitions import Column, OnNewColumn
from lakesmith.project.spark_types import SqlType, composed, parse_type
from lakesmith.sources.columns.fields import compare_fields, dotted, field_notes, field_problem
from lakesmith.sources.shape import FileShape

PLAIN = SqlType()
INNER = SqlType("struct", (("b", PLAIN),))
DEEP = SqlType("struct", (("a", SqlType("map", (("key", PLAIN), ("value", INNER)))),))
FAIL, EVOLVE = OnNewColumn.FAIL, OnNewColumn.EVOLVE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bigint", PLAIN),
        ("decimal(10,2)", PLAIN),
        ("interval day to second", PLAIN),
        ("array<int>", SqlType("array", (("element", PLAIN),))),
        ("map<string,decimal(3, 1)>", SqlType("map", (("key", PLAIN), ("value", PLAIN)))),
        ("struct<a:int,B:string>", SqlType("struct", (("a", PLAIN), ("B", PLAIN)))),
        ("STRUCT < a : int , b: decimal(4,2) >", SqlType("struct", (("a", PLAIN), ("b", PLAIN)))),
        ("struct<>", SqlType("struct")),
        ("struct<`a,b:c<d>`:int,`e``f`:int>", SqlType("struct", (("a,b:c<d>", PLAIN), ("e`f", PLAIN)))),
        ("struct<order id:int,größe:int>", SqlType("struct", (("order id", PLAIN), ("größe", PLAIN)))),
        ("array<struct<a:map<string,struct<b:int>>>>", SqlType("array", (("element", DEEP),))),
    ],
)
def test_a_type_is_taken_apart(text: str, expected: SqlType) -> None:
    assert parse_type(text) == expected


@pytest.mark.parametrize("text", ["", "struct<a>", "array<int", "struct<a:int>>", "map<int>"])
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a type"):
        parse_type(text)


CASES = [
    # title, declared, in the file, unknown, missing
    ("the same", "struct<a:int>", "struct<a:int>", [], []),
    ("no fields at all", "int", "bigint", [], []),
    ("one more", "struct<city:string>", "struct<city:string,zip:string>", ["c.zip"], []),
    ("one less", "struct<city:string,zip:string>", "struct<zip:string>", [], ["c.city"]),
    ("another order", "struct<a:int,b:int>", "struct<b:int,a:int>", [], []),
    ("another case is read", "struct<zip:int>", "struct<ZIP:int>", [], []),
    ("the exact spelling goes first", "struct<zip:int>", "struct<ZIP:int,zip:int>", ["c.ZIP"], []),
    ("two of another case are none", "struct<zip:int>", "struct<ZIP:int,Zip:int>", ["c.ZIP", "c.Zip"],
     ["c.zip"]),
    ("deep", "struct<a:struct<b:struct<x:int>>>", "struct<a:struct<b:struct<x:int,y:int>>>", ["c.a.b.y"], []),
    ("in what is spelt otherwise", "struct<A:struct<x:int>>", "struct<a:struct<x:int,y:int>>", ["c.A.y"], []),
    ("in an array", "array<struct<n:int>>", "array<struct<sku:string,n:int>>", ["c.element.sku"], []),
    ("in arrays of arrays", "array<array<struct<n:int>>>", "array<array<struct<n:int,m:int>>>",
     ["c.element.element.m"], []),
    ("in a map", "map<string,struct<n:int>>", "map<string,struct<n:int,m:int>>", ["c.value.m"], []),
    ("in the keys of a map", "map<struct<n:int>,int>", "map<struct<n:int,m:int>,int>", ["c.key.m"], []),
    ("a struct that is new as a whole", "struct<a:int>", "struct<a:int,b:struct<x:int,y:int>>", ["c.b"], []),
    ("a whole kept as text loses nothing", "string", "struct<a:int,b:int>", [], []),
    ("a field kept as text loses nothing", "struct<a:string>", "struct<a:struct<x:int>>", [], []),
    ("odd names are quoted", "struct<`a.b`:int>", "struct<`a.b`:int,`c.d`:int,`e``f`:int>",
     ["c.`c.d`", "c.`e``f`"], []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("declared", "found", "unknown", "missing"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_fields_are_matched_by_name(
    declared: str, found: str, unknown: list[str], missing: list[str]
) -> None:
    unknown_paths, missing_paths = compare_fields([Column("c", declared)], FileShape(("C",), (found,)))
    assert [dotted(path) for path in unknown_paths] == unknown
    assert [dotted(path) for path in missing_paths] == missing


def test_columns_without_a_type_or_not_in_the_file_are_left_alone() -> None:
    columns = [Column("a", None), Column("b", "struct<x:int>"), Column("c", "struct<x:int>")]
    shape = FileShape(("a", "b", "z"), ("struct<x:int>", None, "struct<y:int>"))
    assert compare_fields(columns, shape) == ({}, ())


COLUMNS = [
    Column("address", "struct<city:string>", place=Place("t.yaml", 7)),
    Column("parts", "array<struct<n:int>>", place=Place("t.yaml", 8)),
]
UNKNOWN = [("parts", "element", "sku"), ("address", "zip")]


def test_without_fields_there_is_no_note() -> None:
    assert field_notes([], []) == ()


def test_fail_names_the_fields_the_place_and_the_choices() -> None:
    problem = field_problem(COLUMNS, UNKNOWN, FAIL)
    assert (problem.code, problem.place) == ("LS434", Place("t.yaml", 8))
    assert problem.found == "parts.element.sku, address.zip"
    for choice in ("type", "on_new_column: ignore", "on_new_column: evolve"):
        assert choice in (problem.hint or "")


def test_evolve_names_fields_that_cannot_be_added() -> None:
    problem = field_problem(COLUMNS, UNKNOWN[1:], EVOLVE)
    assert (problem.code, problem.found) == ("LS434", "address.zip")
    assert "case" in (problem.expected or "")
    assert "on_new_column: ignore" in (problem.hint or "")


def test_ignored_fields_have_a_note() -> None:
    assert field_notes(UNKNOWN, [("address", "street")]) == (
        "not in the files, null in their rows: address.street",
        "left out (on_new_column: ignore): parts.element.sku, address.zip",
    )


def test_of_very_many_fields_the_first_are_named() -> None:
    many = [("address", f"f{number}") for number in range(1000)]
    problem = field_problem(COLUMNS, many, FAIL)
    assert (problem.found or "").startswith("address.f0, address.f1, ")
    assert (problem.found or "").endswith(" and 980 more")
    assert "1000 fields" in problem.what


def test_each_part_of_a_type_keeps_its_text() -> None:
    whole = parse_type(" struct<a: decimal(3, 1), b:map<string, struct<`c d`:int >> > ")
    (_, a), (_, b) = whole.parts
    (_, key), (_, value) = b.parts
    assert whole.text == "struct<a: decimal(3, 1), b:map<string, struct<`c d`:int >> >"
    assert (a.text, b.text) == ("decimal(3, 1)", "map<string, struct<`c d`:int >>")
    assert (key.text, value.text, value.parts[0][1].text) == ("string", "struct<`c d`:int >", "int")


def test_a_type_is_put_together_of_its_parts() -> None:
    for text in ("struct<a:int,`b c`:array<map<string,struct<d:date>>>>", "struct<>"):
        kind = parse_type(text)
        assert _again(kind).text == text


def _again(kind: SqlType) -> SqlType:
    return composed(kind.outer, [(name, _again(part)) for name, part in kind.parts]) if kind.outer else kind
