"""Landing files without the records of people: which lines go, and that all others stay byte for byte."""

import bz2
import gzip
from pathlib import Path
from typing import Any

import pytest

from lakesmith.errors import Place
from lakesmith.project.definitions import CsvOptions, FileSource
from lakesmith.project.formats import FileFormat
from lakesmith.sources.without_persons import Wanted, names_in_files, stand_in_file, why_not, without_persons

ADA = "ada@b.c"
PLACE = Place(Path("t.yaml"), 1)


def source(kind: FileFormat = FileFormat.CSV, **csv: Any) -> FileSource:
    return FileSource("files", "landing", kind, PLACE, csv=CsvOptions(**csv))


def wanted(
    *values: tuple[str, ...], names: tuple[str, ...] = ("email",), declared: tuple[str, ...] = ()
) -> Wanted:
    return Wanted(tuple(frozenset({name}) for name in names), values or ((ADA,),), declared)


def kept(text: str, of: FileSource, theirs: Wanted | None = None) -> tuple[str, int]:
    content, gone = without_persons(text.encode(of.csv.encoding), "", of, theirs or wanted())
    return content.decode(of.csv.encoding), gone


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_of_csv(end: str) -> None:
    lines = [
        "id,Email,note", "1,ada@b.c,x", "2,bo@b.c,ada@b.c wrote", "", '3,"ada@b.c","a,b"', "4, ada@b.c ,y",
    ]  # fmt: skip
    text, gone = kept(end.join(lines) + end, source())
    assert text == end.join([lines[0], lines[2], lines[3]]) + end
    assert gone == 3


def test_a_line_that_does_not_parse_goes_where_it_mentions_them() -> None:
    text = "id,email\n1,ada@b.c,one too many\n2,xada@b.c,one too many\n3,bo@b.c\n"
    assert kept(text, source()) == ("id,email\n2,xada@b.c,one too many\n3,bo@b.c\n", 1)


def test_a_file_without_a_header_has_the_declared_columns() -> None:
    of = source(header=False)
    assert kept("1,ada@b.c\n2,bo@b.c", of, wanted(declared=("id", "email"))) == ("2,bo@b.c", 1)
    assert kept("ada@b.c,1\n", of, wanted(declared=("id", "email"))) == ("ada@b.c,1\n", 0)


def test_lines_before_the_header_are_no_rows() -> None:
    text = "sep=,\nada@b.c wrote this\n# by hand\nid,email\n1,ada@b.c\n2,bo@b.c\n"
    expected = (text.replace("1,ada@b.c\n", ""), 1)
    assert kept(text, source(skip_lines=2, comment="#")) == expected


def test_all_columns_have_to_have_their_values() -> None:
    theirs = wanted(("1", ADA), ("7", "bo@b.c"), names=("id", "email"))
    text = "id,email\n1,ada@b.c\n2,ada@b.c\n7,bo@b.c\n"
    assert kept(text, source(), theirs) == ("id,email\n2,ada@b.c\n", 2)


def test_another_encoding_and_tabs() -> None:
    of = source(FileFormat.TSV, delimiter="\t", encoding="windows-1252")
    text = "name\temail\nZoë\tada@b.c\nJürgen\tbo@b.c\n"
    assert kept(text, of) == ("name\temail\nJürgen\tbo@b.c\n", 1)
    assert kept(text, of, wanted(("Jürgen",), names=("name",))) == ("name\temail\nZoë\tada@b.c\n", 1)


def test_lines_of_json() -> None:
    lines = [
        '{"email": "ada@b.c", "id": 1}', '{"EMAIL": "bo@b.c", "note": "ada@b.c", "in": {"email": "ada@b.c"}}',
        '{"id": 1, "email": null}', '{"email": "ada@b.c", "cut', "[1, 2]", "",
    ]  # fmt: skip
    text, gone = kept("\n".join(lines), source(FileFormat.JSON))
    assert (text, gone) == ("\n".join([*lines[1:3], *lines[4:]]), 2)
    numbers = '{"id": 1002, "x": 1}\n{"id": 1002.0}\n{"id": true}\n'
    assert kept(numbers, source(FileFormat.JSON), wanted(("1002",), names=("id",)))[1] == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"email":"ada@b.c"}{"email":"bo@b.c"}{"email":"ada@b.c"}', '{"email":"bo@b.c"}'),
        ('{"email":"x"} {"email":"ada@b.c"}\n{"email":"y"}\n', '{"email":"x"}\n{"email":"y"}\n'),
        ('[\n  {"email":"ada@b.c"},\n  {"email":"bo@b.c"}\n]\n', '[\n  {"email":"bo@b.c"}\n]\n'),
        ('[{"email":"x"}, {\n"email":"ada@b.c"}, {"email":"ada@b.c"}]', '[{"email":"x"}]'),
        ('[{"email":"ada@b.c"}][{"email":"ada@b.c"}]{"email":"y"}', '[][]{"email":"y"}'),
        ('[{"email":"x"},{"email":"ada@b.c"},{"email"', '[{"email":"x"},{"email"'),
    ],
)
def test_values_of_json_that_are_no_lines(text: str, expected: str) -> None:
    assert kept(text, source(FileFormat.JSON)) == (expected, text.count("ada@"))


@pytest.mark.parametrize(("suffix", "packed"), [(".gz", gzip), (".bz2", bz2), (".GZ", gzip)])
def test_packed_files_stay_packed(suffix: str, packed: Any) -> None:
    content = packed.compress(b"id,email\n1,ada@b.c\n2,bo@b.c\n")
    new, gone = without_persons(content, suffix, source(), wanted())
    assert (packed.decompress(new), gone) == (b"id,email\n2,bo@b.c\n", 1)


def test_a_file_without_them_is_the_same() -> None:
    content = gzip.compress(b"id,email\n2,bo@b.c\n")
    assert without_persons(content, ".gz", source(), wanted()) == (content, 0)
    assert without_persons(b"", "", source(), wanted()) == (b"", 0)


def test_what_cannot_be_rewritten() -> None:
    assert why_not(source()) is None
    assert why_not(source(FileFormat.JSON)) is None
    assert why_not(source(FileFormat.PARQUET)) == "files of parquet are not rewritten"
    assert why_not(source(multiline=True)) == "its records are not lines"
    assert why_not(source(encoding="UTF-16")) == "its records are not lines"


def test_a_renamed_column_has_both_names() -> None:
    columns = [("email", "Mail"), ("id", None)]
    assert names_in_files(columns, "Email") == {"email", "mail"}
    assert names_in_files(columns, "id") == {"id"}


@pytest.mark.parametrize(
    "content",
    [
        b"id,email\n1,ada@b.c\n", gzip.compress(b"1,ada@b.c"), bz2.compress(b"1,ada@b.c"),
        "1;ada@b.c".encode("utf-16-le"), b"\x1f\x8bcut",
    ],
)  # fmt: skip
def test_a_file_of_any_kind_that_mentions_them(content: bytes) -> None:
    assert stand_in_file(wanted(), content)


def test_a_file_that_mentions_others() -> None:
    assert not stand_in_file(wanted(), b"id,email\n1,xada@b.c\n")
    assert stand_in_file(wanted(("J\u00fcrgen",)), b'{"name": "J\\u00fcrgen"}')
    assert stand_in_file(wanted(("J\u00fcrgen",)), "J\u00fcrgen".encode("latin-1"))
