from dataclasses import dataclass, field

import pytest

from lakesmith.errors import Place
from lakesmith.project.definitions import Column, OnNewColumn
from lakesmith.sources.columns.names import (
    NewColumn,
    match_columns,
    no_header_problem,
    path_columns,
    rival_names,
)
from lakesmith.sources.shape import FileShape, path_keys


@dataclass
class Case:
    title: str
    declared: str
    file: str
    present: dict[str, str]
    missing: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    policy: OnNewColumn = OnNewColumn.FAIL


EVOLVE, IGNORE = OnNewColumn.EVOLVE, OnNewColumn.IGNORE
CASES = [
    Case("the same", "a b", "a,b", {"a": "a", "b": "b"}),
    Case("another order", "a b", "b,a", {"a": "a", "b": "b"}),
    Case("one is missing", "a b c", "c,a", {"a": "a", "c": "c"}, ["b"],
        notes=["not in the files, null in their rows: b"]),
    Case("all are missing", "a", "", {}, ["a"], notes=["not in the files, null in their rows: a"]),
    Case("another case", "a city", "A,City", {"a": "A", "city": "City"},
        notes=["column a is read from 'A'", "column city is read from 'City'"]),
    Case("spaces around", "a b", "a, b ", {"a": "a", "b": " b "}, notes=["column b is read from ' b '"]),
    Case("the exact spelling goes first", "id ID2", "ID,id,ID2", {"id": "id", "ID2": "ID2"}, codes=["LS431"]),
    Case("two declared, one spelling each", "Id", "ID,Id", {"Id": "Id"}, ignored=["ID"], policy=IGNORE,
        notes=["left out (on_new_column: ignore): ID"]),
    Case("two spellings, none its own", "id", "ID,Id,b", {}, ignored=["b"], codes=["LS432"], policy=IGNORE,
        notes=["left out (on_new_column: ignore): b"]),
    Case("the earlier name", "b<a", "A", {"b": "A"}, notes=["column b is read from 'A'"]),
    Case("the earlier name beside the new one", "b<a", "a,B", {"b": "B"}, codes=["LS431"],
        notes=["column b is read from 'B'"]),
    Case("the earlier name is a column", "b<a a", "a", {"a": "a"}, ["b"],
        notes=["not in the files, null in their rows: b"]),
    Case("a new one: fail", "a", "a,b", {"a": "a"}, codes=["LS431"]),
    Case("a new one: ignore", "a", "a,b", {"a": "a"}, ignored=["b"], policy=IGNORE,
        notes=["left out (on_new_column: ignore): b"]),
    Case("a new one: evolve", "a", "b,a", {"a": "a"}, new=["b"], policy=EVOLVE,
        notes=["new (on_new_column: evolve): b"]),
    Case("new ones keep the file's order", "a", "z,a,y", {"a": "a"}, new=["z", "y"], policy=EVOLVE,
        notes=["new (on_new_column: evolve): z, y"]),
    Case("a new one that is an old one in another case", "a", "a,A", {"a": "a"}, codes=["LS432"],
        policy=EVOLVE, notes=["new (on_new_column: evolve): A"]),
    Case("two new ones that differ in case", "a", "a,b,B", {"a": "a"}, new=["b"], codes=["LS432"],
        policy=EVOLVE, notes=["new (on_new_column: evolve): b, B"]),
    Case("a required one is missing", "a b!", "a", {"a": "a"}, ["b"], codes=["LS433"],
        notes=["not in the files, null in their rows: b"]),
]  # fmt: skip


def declared_columns(text: str) -> list[Column]:
    """Columns by their names; ``a!`` is required, ``a<b`` was called b."""
    parts = (name.rstrip("!").partition("<") for name in text.split())
    return [
        Column(
            name, "string", required=f"{name}!" in text, place=Place("t.yaml", 3), renamed_from=was or None
        )
        for name, _, was in parts
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_columns_are_matched_by_name(case: Case) -> None:
    declared = declared_columns(case.declared)
    names = tuple(case.file.split(",")) if case.file else ()
    match = match_columns(declared, FileShape(names, (None,) * len(names)), case.policy)
    assert dict(match.present) == case.present
    assert list(match.missing) == case.missing
    assert [column.name for column in match.new] == case.new
    assert list(match.ignored) == case.ignored
    assert [problem.code for problem in match.problems] == case.codes
    assert list(match.notes) == case.notes


RECORDS = [
    ("id", "ID Id id", "", EVOLVE, "id<-id,ID,Id", "", ""),
    ("id", "ID Id id", "ID+id", IGNORE, "id<-id,ID,Id", "ID", ""),
    ("id", "ID Id", "ID+Id", OnNewColumn.FAIL, "id<-ID,Id", "", ""),
    ("b<a", "B a b", "a+b", OnNewColumn.FAIL, "b<-b,B,a", "a", "LS431"),
    ("id", "id New NEW", "", EVOLVE, "id<-id", "New", ""),
    ("id", "id New NEW", "New+NEW", EVOLVE, "id<-id", "New", "LS432"),
]


@pytest.mark.parametrize(("declared", "keys", "together", "policy", "present", "extra", "code"), RECORDS)
def test_keys_of_records_are_matched_as_if_each_record_were_alone(
    declared: str, keys: str, together: str, policy: OnNewColumn, present: str, extra: str, code: str
) -> None:
    names = tuple(keys.split())
    rivals = tuple(tuple(some.split("+")) for some in together.split())
    columns = declared_columns(declared)
    assert all(any(set(some) <= set(family) for family in rival_names(columns, names)) for some in rivals)
    match = match_columns(columns, FileShape(names, (None,) * len(names), together=rivals), policy)
    column, _, spelt = present.partition("<-")
    assert match.present == tuple((column, name) for name in spelt.split(","))
    found = (*match.ignored, *(new.name for new in match.new))
    problems = " ".join(problem.code for problem in match.problems)
    told = found or tuple((match.problems[0].found or "").split(", ")) if match.problems else found
    assert (" ".join(told), problems) == (extra, code)


@pytest.mark.parametrize(
    ("path", "in_path", "missing", "note"),
    [
        (
            "in/dt=1/Station=2/a.csv",
            ("dt", "station"),
            "",
            "in the files and in their paths; the files count: dt",
        ),
        ("in/dt=1/a.csv", ("dt",), "station", "not in the files, null in their rows: station"),
        ("in/station%20=x/s=1/a.csv", ("station",), "", ""),
        ("in/dt/=1/station=2.csv", (), "station", "not in the files, null in their rows: station"),
    ],
)
def test_the_path_gives_columns_that_the_file_has_not(
    path: str, in_path: tuple[str, ...], missing: str, note: str
) -> None:
    columns = [Column("dt", "date"), Column("station", "int", required=True), Column("s", "struct<a:int>")]
    shape = FileShape(("dt", "s"), (None, None), path_keys=path_keys(path))
    match = match_columns(columns, shape, OnNewColumn.FAIL)
    assert path_columns(columns, shape) == in_path
    assert match.missing == ((missing,) if missing else ())
    assert [problem.code for problem in match.problems] == (["LS433"] if missing else [])
    assert note in (*match.notes, "")


def test_a_column_with_a_default_is_not_missed() -> None:
    columns = [Column("a", "int"), Column("b", "int", required=True, default="5"), Column("c", "int")]
    match = match_columns(columns, FileShape(("a",), (None,)), OnNewColumn.FAIL)
    assert (match.missing, match.problems) == (("b", "c"), ())
    assert match.notes == (
        "not in the files, null in their rows: c",
        "not in the files, their defaults in their rows: b",
    )


def test_a_new_column_keeps_the_type_its_file_gives() -> None:
    shape = FileShape(("a", "b"), ("int", "array<string>"))
    assert match_columns([Column("a", "int")], shape, EVOLVE).new == (NewColumn("b", "array<string>"),)


def test_the_problem_of_a_new_column_names_it_and_the_choices() -> None:
    shape = FileShape(("a", "b", "c"), (None, None, None))
    (problem,) = match_columns([Column("a", "int")], shape, OnNewColumn.FAIL).problems
    assert problem.found == "b, c"
    assert "on_new_column: evolve" in (problem.hint or "")
    assert "on_new_column: ignore" in (problem.hint or "")


@pytest.mark.parametrize(
    ("declared", "file", "policy", "refused"),
    [
        ("id name", "11,a", EVOLVE, True), ("id name", "11,a", IGNORE, True),
        ("id name", "ID,a", EVOLVE, False), ("id name", "", EVOLVE, False), ("", "11,a", EVOLVE, False),
        ("id name", "11,a", OnNewColumn.FAIL, False),
    ],
)  # fmt: skip
def test_a_file_that_seems_to_have_no_header_is_refused_whatever_is_let_in(
    declared: str, file: str, policy: OnNewColumn, refused: bool
) -> None:
    names = tuple(file.split(",")) if file else ()
    columns = [Column(name, "string") for name in declared.split()]
    match = match_columns(columns, FileShape(names, (None,) * len(names)), policy)
    problems = no_header_problem(match)
    assert [(problem.code, problem.found) for problem in problems] == (
        [("LS435", "11, a")] if refused else []
    )
