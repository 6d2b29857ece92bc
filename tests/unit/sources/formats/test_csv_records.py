"""CSV whose values may hold line ends: where records end, whatever ends the lines."""

import csv
import io
import random

import pytest

from lakesmith.sources.formats.csv_records import csv_records

USUAL = {"delimiter": ",", "quote": '"', "escape": '"', "comment": "", "skip": 0}
CASES: list[tuple[str, str, dict[str, object], list[str]]] = [
    ("all three line ends", 'a,b\r\n1,"x\r\ny"\n2,"x\ny"\r3,z', {}, ["a,b", '1,"x\r\ny"', '2,"x\ny"', "3,z"]),
    ("quotes that are doubled", 'a,"b""\nc",d\n"""\n"""', {}, ['a,"b""\nc",d', '"""\n"""']),
    ("escapes", '"a\\"\nb",c\n"\\\\"\nd', {"escape": "\\"}, ['"a\\"\nb",c', '"\\\\"', "d"]),
    ("a quote in the middle", 'a"b,c\n"x"y"z,"\n"', {}, ['a"b,c', '"x"y"z,"\n"']),
    ("a space before the quote", '1, "a\nb"\n2', {}, ['1, "a\nb"', "2"]),
    ("a delimiter of two characters", '1||"a\n|"||2\n3', {"delimiter": "||"}, ['1||"a\n|"||2', "3"]),
    ("a quote that is not closed", '1,a\n2,"b\n\n3,c', {}, ["1,a", '2,"b\n\n3,c']),
    ("no quotes", '1,"a\n2,b"', {"quote": ""}, ['1,"a', '2,b"']),
    (
        "lines before, comments and blanks",
        'x,"\n\n# "\n1,"\n#"\n  \n#',
        {"skip": 1, "comment": "#"},
        ['1,"\n#"'],
    ),
    ("a byte order mark", '\ufeff"a\nb"', {}, ['"a\nb"']),
]


@pytest.mark.parametrize(
    ("text", "options", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_records(text: str, options: dict[str, object], expected: list[str]) -> None:
    assert list(csv_records(text.split("\n"), **{**USUAL, **options})) == expected  # type: ignore[arg-type]


def test_what_was_written_is_found() -> None:
    some, values = random.Random(3), ["a", '"', "x\ny", "x\r\ny", ",", "", "é", 'q"', '"\n"', " b"]
    for _ in range(3000):
        made = [
            [some.choice(values) for _ in range(some.randrange(2, 5))] for _ in range(some.randrange(1, 6))
        ]
        records = []
        for row in made:
            written = io.StringIO(newline="")
            csv.writer(written).writerow(row)
            records.append(written.getvalue().removesuffix("\r\n"))
        text = "".join(record + some.choice(["\n", "\r\n", "\n\r\n"]) for record in records)
        assert list(csv_records(text.split("\n")[:-1], **USUAL)) == records  # type: ignore[arg-type]
