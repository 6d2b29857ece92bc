"""Every row of a CSV file is accounted for: good with the right values, or bad with text and reason."""

import csv
import io
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from landing_files import one, rows
from pyspark.sql import SparkSession

from lakesmith.errors import SourceError
from lakesmith.project.definitions import CsvOptions
from lakesmith.sources.columns.reading import SourceRead
from lakesmith.spark.read.files import SparkRecords, read_files

EXACT: list[tuple[str, str, str, object]] = [
    # type, text, what it must become (BAD: the row is refused)
    ("a whole number", "int", "5", 5),
    ("a sign", "int", "+5", 5),
    ("white space around a number is no matter", "int", " 5 ", 5),
    ("a fraction is no int", "int", "5.5", "BAD"),
    ("too large for an int", "int", "99999999999", "BAD"),
    ("thousands separators", "int", "1,234", "BAD"),
    ("hexadecimal", "int", "0x5", "BAD"),
    ("the largest bigint", "bigint", "9223372036854775807", 2**63 - 1),
    ("one more", "bigint", "9223372036854775808", "BAD"),
    ("scale kept", "decimal(10,2)", "1.23", Decimal("1.23")),
    ("fewer digits", "decimal(10,2)", "1.2", Decimal("1.20")),
    ("zeros beyond the scale", "decimal(10,2)", "1.2300", Decimal("1.23")),
    ("digits beyond the scale", "decimal(10,2)", "1.239", "BAD"),
    ("an exponent that fits", "decimal(10,2)", "1.5e3", Decimal("1500.00")),
    ("an exponent that does not", "decimal(10,2)", "1e-3", "BAD"),
    ("an exponent behind the point", "decimal(10,3)", "1.e-5", "BAD"),
    ("a decimal comma", "decimal(10,2)", "1,50", "BAD"),
    ("too large for the precision", "decimal(4,2)", "123.00", "BAD"),
    ("a double", "double", "1.5e3", 1500.0),
    ("a double of Java", "double", "5d", "BAD"),
    ("a float of Java", "double", "5f ", "BAD"),
    ("a hexadecimal double", "double", "0x1p3", "BAD"),
    ("an overflow is not infinite", "double", "1e999", "BAD"),
    ("infinity by name", "double", "-Infinity", float("-inf")),
    ("white space around a double", "double", "1.5 ", 1.5),
    ("true", "boolean", "TRUE", True),
    ("no", "boolean", "no", False),
    ("2 is no boolean", "boolean", "2", "BAD"),
    ("a date", "date", "2024-02-29", date(2024, 2, 29)),
    ("short month and day", "date", "2024-1-5", date(2024, 1, 5)),
    ("midnight is no loss", "date", "2024-01-05 00:00:00", date(2024, 1, 5)),
    ("a day that is not", "date", "2024-02-30", "BAD"),
    ("a time in a date", "date", "2024-01-02 23:00", "BAD"),
    ("garbage after a date", "date", "2024-01-02Tgarbage", "BAD"),
    ("a short date and garbage", "date", "2024-1-2 1", "BAD"),
    ("a year alone", "date", "2024", "BAD"),
    ("a date as a timestamp", "timestamp", "2024-01-05", datetime(2024, 1, 5, tzinfo=UTC)),
    ("a zone", "timestamp", "2024-01-05T12:00:00+02:00", datetime(2024, 1, 5, 10, tzinfo=UTC)),
    ("UTC", "timestamp", "2024-01-05 12:00:00.25Z", datetime(2024, 1, 5, 12, 0, 0, 250000, tzinfo=UTC)),
    ("a time alone is not today", "timestamp", "12:30:00", "BAD"),
    ("six digits are no year", "timestamp", "202401", "BAD"),
    ("seconds since 1970", "timestamp", "1704067200", "BAD"),
    ("garbage after a timestamp", "timestamp", "2024-01-01 00:00:00 x", "BAD"),
    ("a zone in a local timestamp", "timestamp_ntz", "2024-01-05T12:00:00Z", "BAD"),
    ("a local timestamp", "timestamp_ntz", "2024-01-05T12:00:00", datetime(2024, 1, 5, 12)),
    ("text as it is", "string", "  5 ", "  5 "),
]


def test_values_are_exactly_the_texts_or_the_row_is_bad(spark: SparkSession, tmp_path: Path) -> None:
    types = sorted({case[1] for case in EXACT})
    columns = tuple((f"c{i}", type_) for i, type_ in enumerate(types))
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([name for name, _ in columns])
    for _, type_, text, _ in EXACT:
        writer.writerow([text if type_ == of else "" for of in types])
    request = one(tmp_path, out.getvalue(), tuple(name for name, _ in columns), columns)
    frame = read_files(spark, request).selectExpr(
        "*", *(f"unix_micros({n}) AS u_{n}" for n, t in columns if t == "timestamp")
    )
    wrong = []
    for (title, type_, text, expected), row in zip(EXACT, rows(frame), strict=True):
        name = f"c{types.index(type_)}"
        if expected == "BAD":
            article = "an" if type_[0] in "aeiou" else "a"
            reason = f"{name}: not {article} {type_}: '{text}'"
            right = [text.partition(" (it has")[0] for text in row._reasons] == [reason] and text in row._raw
        else:
            found = row[name]
            if isinstance(expected, datetime) and expected.tzinfo:
                found, expected = row[f"u_{name}"], int(expected.timestamp() * 1_000_000)
            right = found == expected and list(row._reasons) == [] and row._raw is None
        if not right:
            wrong.append((title, type_, text, expected, row[name], list(row._reasons)))
    assert wrong == []


RECORDS: list[tuple[str, bytes, str | None]] = [
    ("a good row", b"1,a", None),
    ("an empty field is null", b",", None),
    ("an empty quoted field", b'1,""', None),
    ("a delimiter in quotes", b'1,"a,b"', None),
    ("an escaped quote", b'1,"say ""hi"""', None),
    ("a field that begins with a quote", b'1,"""hi"" she said"', None),
    ("quotes inside an unquoted field", b'1,5" pipe', None),
    ("unicode", "1,日本 ünï".encode(), None),
    ("a very long field", b"1," + b"x" * 300_000, None),
    ("a comment sign is a character", b"1,#a", None),
    ("too few fields", b"1", "row has 1 fields, the header has 2"),
    ("too many fields", b'1,"a,b",3', "row has 3 fields, the header has 2"),
    (
        "more fields than Spark's parser takes",
        b",".join([b"x"] * 30_000),
        "row has 30000 fields, the header has 2",
    ),
    ("an open quote", b'1,"abc', "a quote is not closed (fields with line breaks need `multiline: true`)"),
    ("an open quote that ends in an escaped one", b'1,"abc""', None),
    ("text after a closing quote", b'1,"abc"def', "text after a closing quote"),
    ("not UTF-8", b"1,a\xff", "not valid UTF-8"),
    ("a NUL byte", b"1,a\x00b", "a NUL byte in the row"),
    ("the header again", b"id,note", "the header again"),
]


def test_each_record_is_read_or_refused_as_a_whole(spark: SparkSession, tmp_path: Path) -> None:
    csv.field_size_limit(1_000_000)
    content = b"id,note\n" + b"\n\n".join(record for _, record, _ in RECORDS) + b"\n"
    request = one(tmp_path, content, ("id", "note"), (("note", "string"), ("id", "string")))
    found = rows(read_files(spark, request))
    assert [row._source_position for row in found] == list(range(1, len(RECORDS) + 1))
    wrong = []
    for (title, record, reason), row in zip(RECORDS, found, strict=True):
        if title.startswith("an open quote"):
            reason = RECORDS[[r[0] for r in RECORDS].index("an open quote")][2]
        if reason is None:
            id_, note = next(csv.reader([record.decode()]))
            right = (
                (row.id or "", row.note or "") == (id_, note)
                and list(row._reasons) == []
                and row._raw is None
            )
        else:
            right = list(row._reasons) == [reason] and row._raw == record.decode(errors="replace")
        if not right:
            wrong.append((title, row.id, (row.note or "")[:50], list(row._reasons), (row._raw or "")[:50]))
    assert wrong == []


def test_records_over_several_lines(spark: SparkSession, tmp_path: Path) -> None:
    content = 'id,note\r\n1,"a\r\nb, c"\r\n2,"say ""x"""\r\n3\r\n4,x,y\r\nfive,"p\r\nq"\r\n'
    request = one(
        tmp_path,
        content,
        ("id", "note"),
        (("id", "int"), ("note", "string")),
        options=CsvOptions(multiline=True),
    )
    found = rows(read_files(spark, request))
    assert [(row.id, row.note) for row in found[:2]] == [(1, "a\r\nb, c"), (2, 'say "x"')]
    assert [list(row._reasons) for row in found[2:]] == [
        ["row has 1 fields, the header has 2"],
        ["row has 3 fields, the header has 2"],
        ["id: not an int: 'five'"],
    ]
    assert [row._raw for row in found[2:]] == ["3", "4,x,y", 'five,"p\r\nq"']
    assert [row._source_position for row in found] == [1, 2, 3, 4, 5]


def test_bytes_that_are_no_text_in_records_over_several_lines(spark: SparkSession, tmp_path: Path) -> None:
    content, columns = b'id,note\n1,"a\xff\n"\n2,"\xc3\xa9\n"\n3,\xc3\n', (("id", "int"), ("note", "string"))
    request = one(tmp_path, content, ("id", "note"), columns, options=CsvOptions(multiline=True))
    found = rows(read_files(spark, request))
    assert [list(row._reasons) for row in found] == [["not valid UTF-8"], [], ["not valid UTF-8"]]
    assert found[1].note == "é\n"


DIALECTS: list[tuple[str, CsvOptions, bytes]] = [
    ("tabs", CsvOptions(delimiter="\t"), b"id\tnote\n1\ta,b\n\t\n"),
    ("semicolons, single quotes", CsvOptions(delimiter=";", quote="'"), b"id;note\n1;'a,b'\n;\n"),
    ("backslash escapes", CsvOptions(escape="\\"), b'id,note\n1,"a,b"\n,\n'),
    ("no header", CsvOptions(header=False), b'1,"a,b"\n,\n'),
    ("a text for null", CsvOptions(null_value="NULL"), b'id,note\n1,"a,b"\nNULL,NULL\n'),
    ("byte order mark, CRLF", CsvOptions(), b'\xef\xbb\xbfid,note\r\n1,"a,b"\r\n,\r\n'),
    ("byte order mark without header", CsvOptions(header=False), b'\xef\xbb\xbf1,"a,b"\r\n,\r\n'),
    ("UTF-16", CsvOptions(encoding="UTF-16"), 'id,note\n1,"a,b"\n,\n'.encode("utf-16")),
]


@pytest.mark.parametrize(
    ("options", "content"), [case[1:] for case in DIALECTS], ids=[case[0] for case in DIALECTS]
)
def test_dialects(spark: SparkSession, tmp_path: Path, options: CsvOptions, content: bytes) -> None:
    request = one(tmp_path, content, ("id", "note"), (("id", "int"), ("note", "string")), options=options)
    assert [(row.id, row.note, list(row._reasons)) for row in rows(read_files(spark, request))] == [
        (1, "a,b", []),
        (None, None, []),
    ]


def test_other_encodings_and_date_formats(spark: SparkSession, tmp_path: Path) -> None:
    options = CsvOptions(
        encoding="windows-1252", date_format="dd.MM.yyyy", timestamp_format="dd/MM/yyyy HH:mm"
    )
    content = "city,day,at\nKöln €,05.01.2024,05/01/2024 12:30\nx,2024-01-05,05/01/2024 12:30\n".encode(
        "windows-1252"
    )
    columns = (("city", "string"), ("day", "date"), ("at", "timestamp"))
    found = rows(read_files(spark, one(tmp_path, content, ("city", "day", "at"), columns, options=options)))
    assert (found[0].city, found[0].day) == ("Köln €", date(2024, 1, 5))
    assert [list(row._reasons) for row in found] == [[], ["day: not a date: '2024-01-05'"]]


def test_patterns_that_say_more_than_the_type_holds(spark: SparkSession, tmp_path: Path) -> None:
    options = CsvOptions(date_format="yyyy-MM-dd'T'HH:mm", timestamp_format="yyyy-MM-dd HH:mm XXX")
    content = (
        "day,at,local\n2026-01-05T00:00,2026-01-05 10:00 +01:00,\n2026-01-05T10:11,,2026-01-05 10:00 +01:00\n"
    )
    columns = (("day", "date"), ("at", "timestamp"), ("local", "timestamp_ntz"))
    request = one(tmp_path, content, ("day", "at", "local"), columns, options=options)
    found = rows(read_files(spark, request))
    assert (found[0].day, list(found[0]._reasons)) == (date(2026, 1, 5), [])
    assert list(found[1]._reasons) == [
        "day: not a date: '2026-01-05T10:11'",
        "local: not a timestamp_ntz: '2026-01-05 10:00 +01:00'",
    ]


def test_nested_types_are_refused_in_csv(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="LS451"):
        read_files(spark, one(tmp_path, "a\n1\n", ("a",), (("a", "array<int>"),)))


def test_numbers_with_a_comma(spark: SparkSession, tmp_path: Path) -> None:
    """`decimal: ","` accepts points and spaces between groups of three digits, and nothing ambiguous."""
    cases = [
        # text, decimal(12,2), bigint, double
        ("1.234,50", "1234.50", None, 1234.5),
        ("1234,5", "1234.50", None, 1234.5),
        ("-1.234.567,00", "-1234567.00", -1234567, -1234567.0),
        ("1 234,5", "1234.50", None, 1234.5),
        ("1\u00a0234", "1234.00", 1234, 1234.0),
        ("1\u202f234,0", "1234.00", 1234, 1234.0),
        (",5", "0.50", None, 0.5),
        ("1,5E1", "15.00", None, 15.0),
        ("1.23", None, None, None),
        ("1234.5", None, None, None),
        ("1,234.50", None, None, None),
        ("1.2345,0", None, None, None),
        ("1,239", None, None, 1.239),
        ("inf", None, None, float("inf")),
        ("abc", None, None, None),
    ]
    types = (("d", "decimal(12,2)"), ("n", "bigint"), ("f", "double"))
    for position, (column, type_) in enumerate(types):
        content = f"{column}\n" + "\n".join(case[0] for case in cases)
        request = one(
            tmp_path, content, (column,), ((column, type_),), options=CsvOptions(delimiter=";", decimal=",")
        )
        found = [(row[column] if not row._reasons else None) for row in rows(read_files(spark, request))]
        want = [case[position + 1] for case in cases]
        assert [None if it is None else str(it) for it in found] == [
            None if it is None else str(it) for it in want
        ]
    request = one(
        tmp_path,
        "a;b;c\n1.234,50;1.234;1,239",
        ("a", "b", "c"),
        (),
        options=CsvOptions(delimiter=";", decimal=","),
    )
    inferred = SparkRecords(spark, tmp_path).infer(SourceRead(request.source, request.groups))
    assert [column.type for column in inferred] == ["double", "bigint", "double"]
