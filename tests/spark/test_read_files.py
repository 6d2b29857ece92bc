"""Every row of a landing file is accounted for: good with the right values, or bad with its text and the reason."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from lakesmith.errors import Place, SourceError
from lakesmith.project.definitions import CsvOptions, FileFormat, FileSource
from lakesmith.sources.model import FileIdentity
from lakesmith.spark import read_scan
from lakesmith.spark.read_files import (
    ReadGroup,
    ReadRequest,
    infer_columns,
    json_columns,
    read_files,
    unreadable_file,
)

pytestmark = pytest.mark.spark
Columns = tuple[tuple[str, str], ...]


def source(format_: FileFormat = FileFormat.CSV, options: CsvOptions | None = None) -> FileSource:
    return FileSource("landing", "landing", format_, Place("t.yaml", 1), csv=options or CsvOptions())


def landed(root: Path, name: str, content: bytes | str) -> FileIdentity:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    stat = path.stat()
    return FileIdentity(name, stat.st_size, stat.st_mtime_ns)


def one(
    root: Path, content: bytes | str, header: tuple[str, ...], columns: Columns, **more: Any
) -> ReadRequest:
    """A request for one file, landing/a.csv unless ``name`` says otherwise."""
    file = landed(root, more.pop("name", "landing/a.csv"), content)
    return ReadRequest(source(**more), root, (ReadGroup((file,), header),), columns)


def rows(frame: DataFrame) -> list[Row]:
    return sorted(frame.collect(), key=lambda row: (row._source_file, row._source_position))


def reasons(frame: DataFrame) -> list[list[str]]:
    return [list(row._reasons) for row in rows(frame)]


EXACT: list[tuple[str, str, str, object]] = [
    # type, text, what it must become (BAD: the row is refused)
    ("a whole number", "int", "5", 5),
    ("a sign", "int", "+5", 5),
    ("white space around a number is no matter", "int", " 5 ", 5),
    ("a fraction is no int", "int", "5.0", "BAD"),
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
            right = list(row._reasons) == [f"{name}: not {article} {type_}: '{text}'"] and text in row._raw
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
    ("an empty quoted field is null", b'1,""', None),
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


def test_columns_are_matched_by_name_in_every_group(spark: SparkSession, tmp_path: Path) -> None:
    files = [
        landed(tmp_path, "landing/1.csv", "id,note,extra\n1,a,x\n"),
        landed(tmp_path, "landing/2.csv", "NOTE,id\nb,2\n"),
        landed(tmp_path, "landing/3.csv", "id\n3\n"),
        landed(tmp_path, "landing/empty.csv", ""),
        landed(tmp_path, "landing/header.csv", "id,note\n"),
    ]
    headers = [("id", "note", "extra"), ("NOTE", "id"), ("id",), (), ("id", "note")]
    groups = tuple(ReadGroup((file,), header) for file, header in zip(files, headers, strict=True))
    frame = read_files(spark, ReadRequest(source(), tmp_path, groups, (("note", "string"), ("id", "int"))))
    assert [(row.note, row.id) for row in rows(frame)] == [("a", 1), ("b", 2), (None, 3)]
    assert frame.columns == [
        "note",
        "id",
        "_source_file",
        "_source_position",
        "_source_modified_at",
        "_raw",
        "_reasons",
    ]


@pytest.mark.parametrize("format_", list(FileFormat))
def test_nothing_to_read_is_an_empty_frame_of_the_right_schema(
    spark: SparkSession, tmp_path: Path, format_: FileFormat
) -> None:
    frame = read_files(spark, ReadRequest(source(format_), tmp_path, (), (("id", "int"),)))
    assert frame.dtypes[0] == ("id", "int")
    assert dict(frame.dtypes)["_reasons"] == "array<string>"
    assert frame.count() == 0


NAMES = [
    "a b.csv",
    "50%+c.csv",
    "%41.csv",
    "h#s.csv",
    "g[1]{a,b}*.csv",
    "q?x.csv",
    "12:30.csv",
    "a,b.csv",
    "it's.csv",
    "day=1/p.csv",
]


def test_file_names_come_out_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "my project"
    outside = landed(tmp_path, "else where/o+.csv", "id\n9\n")
    files = [landed(root, f"landing/{name}", "id\n1\n") for name in NAMES]
    files.append(FileIdentity(str(tmp_path / outside.path), outside.size, outside.modified_ns))
    frame = read_files(
        spark, ReadRequest(source(), root, (ReadGroup(tuple(files), ("id",)),), (("id", "int"),))
    )
    # Each once: a name that looks like a pattern must not make the others be read again.
    assert sorted(row._source_file for row in frame.collect()) == sorted(file.path for file in files)


def test_positions_do_not_depend_on_how_files_are_cut_and_packed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{i},{'x' * (i % 37)}" if i % 11 else f"bad{i},y" for i in range(3000)]
    small = [landed(tmp_path, f"landing/s{i}.csv", "id,n\n1,a\nx,b\n3,c\n") for i in range(40)]
    big = landed(tmp_path, "landing/big.csv", "id,n\n" + "\n".join(lines) + "\n")
    request = ReadRequest(
        source(), tmp_path, (ReadGroup((big, *small), ("id", "n")),), (("id", "int"), ("n", "string"))
    )
    whole = rows(read_files(spark, request))
    assert [row._source_position for row in whole if row._source_file == big.path] == list(range(1, 3001))
    monkeypatch.setattr(read_scan, "LARGE_BYTES", 1000)
    monkeypatch.setattr(read_scan, "BLOCK_BYTES", 1000)
    cut = rows(read_files(spark, request))
    again = rows(
        read_files(
            spark, ReadRequest(request.source, tmp_path, (ReadGroup((big,), ("id", "n")),), request.columns)
        )
    )
    split = [row for row in cut if row._source_file == big.path]
    assert [(row.id, row.n, row._raw) for row in split] == [
        (row.id, row.n, row._raw) for row in whole if row._source_file == big.path
    ]
    assert len({row._source_position for row in split}) == 3000
    assert split[-1]._source_position > 3000
    assert [row._source_position for row in again] == [row._source_position for row in split]
    for file in small:
        assert [row._source_position for row in cut if row._source_file == file.path] == [1, 2, 3]


def test_a_checksum_of_an_older_version_is_no_matter(spark: SparkSession, tmp_path: Path) -> None:
    request = one(tmp_path, "id\n1\n", ("id",), (("id", "int"),))
    (tmp_path / "landing/.a.csv.crc").write_bytes(b"crc\x00\x00\x00\x02\x00\xff\xff\xff\xff")
    assert [row.id for row in read_files(spark, request).collect()] == [1]


def test_many_small_files_are_few_tasks(spark: SparkSession, tmp_path: Path) -> None:
    files = tuple(landed(tmp_path, f"landing/{i}.csv", f"id\n{i}\n") for i in range(200))
    frame = read_files(spark, ReadRequest(source(), tmp_path, (ReadGroup(files, ("id",)),), (("id", "int"),)))
    assert frame.rdd.getNumPartitions() <= spark.sparkContext.defaultParallelism
    assert {row.id for row in frame.collect()} == set(range(200))


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


def test_gzip_is_read_and_a_cut_one_stops_the_job(spark: SparkSession, tmp_path: Path) -> None:
    whole = gzip.compress(b"id\n" + b"\n".join(str(i * 7919).encode() for i in range(50_000)) + b"\n")
    columns = (("id", "bigint"),)
    good = one(tmp_path, whole, ("id",), columns, name="landing/a.csv.gz")
    assert read_files(spark, good).count() == 50_000
    cut = one(tmp_path, whole[: len(whole) // 2], ("id",), columns, name="landing/c+ut 1.csv.gz")
    with pytest.raises(Exception) as caught:
        read_files(spark, cut).count()
    assert unreadable_file(caught.value) == str(tmp_path / "landing/c+ut 1.csv.gz")


def test_a_file_that_went_away_stops_the_job(spark: SparkSession, tmp_path: Path) -> None:
    request = one(tmp_path, "id\n1\n", ("id",), (("id", "int"),))
    frame = read_files(spark, request)
    (tmp_path / "landing/a.csv").unlink()
    with pytest.raises(Exception, match=r"landing/a\.csv"):
        frame.count()


def test_nested_types_are_refused_in_csv(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="LS451"):
        read_files(spark, one(tmp_path, "a\n1\n", ("a",), (("a", "array<int>"),)))


def test_the_session_s_settings_are_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    before = spark.conf.getAll
    read_files(spark, one(tmp_path, "id\n1\n", ("id",), (("id", "int"),))).collect()
    assert spark.conf.getAll == before


JSON: list[tuple[str, str, dict[str, object] | str]] = [
    ("plain", '{"i": 5, "s": "x", "d": 1.50, "f": 1}', {"i": 5, "s": "x", "d": Decimal("1.50"), "f": 1.0}),
    ("missing keys and nulls", '{"i": null, "zzz": 1}', {"i": None, "s": None}),
    ("a number for a string", '{"s": 5}', {"s": "5"}),
    ("an object for a string", '{"s": {"a": [1]}}', {"s": '{"a":[1]}'}),
    ("a decimal in a string", '{"d": "12.50"}', {"d": Decimal("12.50")}),
    ("a date", '{"day": "2024-02-29"}', {"day": date(2024, 2, 29)}),
    ("nested", '{"n": {"x": 1, "d": 1.5}, "l": [1, 2]}', {"n": Row(x=1, d=Decimal("1.5")), "l": [1, 2]}),
    ("a string for an int", '{"i": "5"}', "i: not an int: '5'"),
    ("a fraction for an int", '{"i": 5.5}', "i: not an int: '5.5'"),
    ("too large", '{"i": 99999999999}', "i: not an int: '99999999999'"),
    ("digits beyond the scale", '{"d": 1.239}', "d: not a decimal(10,2): '1.239'"),
    ("a decimal comma", '{"d": "1,50"}', "d: not a decimal(10,2): '1,50'"),
    ("an overflow", '{"f": 1e999}', "f: not a double: "),
    ("a number for a timestamp", '{"t": 1704067200}', "t: not a timestamp: '1704067200'"),
    ("a time for a timestamp", '{"t": "12:30"}', "t: not a timestamp: '12:30'"),
    ("a day that is not", '{"day": "2024-02-30"}', "day: not a date: '2024-02-30'"),
    ("digits inside a struct", '{"n": {"d": 1.55}}', "n: not a struct"),
    ("a type inside an array", '{"l": [1, "x"]}', "l: not an array"),
    ("digits a double would lose", '{"s": 12345678901234567890.123}', "s: not a string"),
    ("the same digits in quotes", '{"s": "12345678901234567890.123"}', {"s": "12345678901234567890.123"}),
    ("a key twice", '{"i": 1, "i": 2}', "a key is given twice in one object"),
    ("two objects", '{"i": 1} {"i": 2}', "not one JSON object"),
    ("two objects and a comma", '{"i": 1}, {"i": 2}', "not one JSON object"),
    ("an array", '[{"i": 1}]', "not one JSON object"),
    ("something after it", '{"i": 1} x', "not one JSON object"),
    ("null", "null", "not one JSON object"),
    ("cut", '{"i": 1', "not one JSON object"),
    ("single quotes", "{'i': 1}", "not one JSON object"),
]
JSON_COLUMNS: Columns = (
    ("i", "int"), ("s", "string"), ("d", "decimal(10,2)"), ("f", "double"), ("t", "timestamp"), ("day", "date"),
    ("n", "struct<x:int,d:decimal(5,1)>"), ("l", "array<int>"),
)  # fmt: skip


def test_json_lines(spark: SparkSession, tmp_path: Path) -> None:
    content = "\n\n".join(line for _, line, _ in JSON)
    request = one(tmp_path, content, (), JSON_COLUMNS, name="landing/a.jsonl", format_=FileFormat.JSON)
    wrong = []
    for (title, line, expected), row in zip(JSON, rows(read_files(spark, request)), strict=True):
        if isinstance(expected, str):
            right = len(row._reasons) == 1 and row._reasons[0].startswith(expected) and row._raw == line
        else:
            right = all(row[k] == v for k, v in expected.items()) and not row._reasons and row._raw is None
        if not right:
            wrong.append((title, row))
    assert wrong == []
    assert set(json_columns(spark, request)) == {"i", "s", "d", "f", "t", "day", "n", "l", "zzz"}


def test_json_keys_matched_under_another_spelling(spark: SparkSession, tmp_path: Path) -> None:
    file = landed(tmp_path, "a.json", '{"Id": 1}\n{"id": 2}\n{"ID": 3}\n')
    groups = (ReadGroup((file,), matches=(("id", "Id"),)),)
    found = rows(read_files(spark, ReadRequest(source(FileFormat.JSON), tmp_path, groups, (("id", "int"),))))
    assert [row.id for row in found] == [1, 2, None]


def parquet(spark: SparkSession, root: Path, sql: str, format_: str = "parquet") -> FileIdentity:
    folder = root / "made"
    spark.sql(sql).coalesce(1).write.format(format_).mode("overwrite").save(str(folder))
    made = next(folder.glob(f"part-*.{format_}"))
    return landed(root, f"landing/a.{format_}", made.read_bytes())


COLUMNAR = """SELECT * FROM VALUES
  (1, 1.5D, 1.25BD, '7', TIMESTAMP '2024-01-02 00:00:00', 1L),
  (2, 2.0D, 1.20BD, 'x', TIMESTAMP '2024-01-02 03:00:00', 99999999999L) AS t(i, f, d, s, t, big)"""
COLUMNAR_COLUMNS: Columns = (
    ("f", "int"), ("i", "bigint"), ("d", "decimal(10,1)"), ("s", "int"), ("t", "date"), ("big", "timestamp"),
    ("gone", "string"),
)  # fmt: skip


def check_columnar(found: list[Row]) -> None:
    assert [list(row._reasons) for row in found] == [
        ["f: not an int: '1.5'", "d: not a decimal(10,1): '1.25'", "big: not a timestamp: '1'"],
        ["s: not an int: 'x'", "t: not a date: '2024-01-02 03:00:00'", "big: not a timestamp: '99999999999'"],
    ]
    assert [(row.i, row.gone) for row in found] == [(1, None), (2, None)]
    assert (found[1].f, found[1].d, found[0].s, found[0].t) == (2, Decimal("1.2"), 7, date(2024, 1, 2))
    assert [row._source_position for row in found] == [1, 2]
    assert json.loads(found[0]._raw)["d"] == 1.25


def test_parquet_is_cast_only_where_nothing_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    file = parquet(spark, tmp_path, COLUMNAR)
    request = ReadRequest(source(FileFormat.PARQUET), tmp_path, (ReadGroup((file,)),), COLUMNAR_COLUMNS)
    check_columnar(rows(read_files(spark, request)))


def test_a_corrupt_parquet_file_stops_the_job(spark: SparkSession, tmp_path: Path) -> None:
    file = parquet(spark, tmp_path, "SELECT id, uuid() u FROM range(20000)")
    path = tmp_path / file.path
    data = bytearray(path.read_bytes())
    data[1000:60000] = b"\xaa" * 59000
    path.write_bytes(data)
    group = ReadGroup((file,), ("id", "u"), ("bigint", "string"))
    request = ReadRequest(source(FileFormat.PARQUET), tmp_path, (group,), (("id", "bigint"), ("u", "string")))
    with pytest.raises(Exception) as caught:
        read_files(spark, request).collect()
    assert unreadable_file(caught.value) == str(path)


@pytest.fixture
def avro(spark: SparkSession) -> SparkSession:
    try:
        spark.read.format("avro").schema("a int").load([])
    except Exception as error:
        if "AVRO" in str(error).upper():
            pytest.skip("this session has no spark-avro")
        raise
    return spark


def test_avro(avro: SparkSession, tmp_path: Path) -> None:
    file = parquet(avro, tmp_path, COLUMNAR, "avro")
    request = ReadRequest(source(FileFormat.AVRO), tmp_path, (ReadGroup((file,)),), COLUMNAR_COLUMNS)
    check_columnar(rows(read_files(avro, request)))


INFERRED: list[tuple[str, Callable[[SparkSession, Path], ReadRequest], dict[str, str]]] = [
    (
        "csv",
        lambda spark, root: one(
            root,
            "n,x,zip,b,day,at,mixed,none\n1,1.5,007,true,2024-01-01,2024-01-01 10:00,1,\n-2,2,123,false,2024-02-01,2024-01-02T10:00:00Z,a,\n",
            ("n", "x", "zip", "b", "day", "at", "mixed", "none"),
            (),
        ),
        {"n": "bigint", "x": "double", "zip": "string", "b": "boolean", "day": "date", "at": "timestamp", "mixed": "string", "none": "string"},
    ),
    (
        "json",
        lambda spark, root: one(
            root, '{"n":1,"day":"2024-01-01","o":{"a":1.5,"e":null}}\n{"n":2,"s":"x"}\n', (), (), name="a.json", format_=FileFormat.JSON
        ),
        {"n": "bigint", "day": "date", "o": "struct<a:double,e:string>", "s": "string"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "expected"), [case[1:] for case in INFERRED], ids=[case[0] for case in INFERRED]
)
def test_inference(
    spark: SparkSession,
    tmp_path: Path,
    make: Callable[[SparkSession, Path], ReadRequest],
    expected: dict[str, str],
) -> None:
    request = make(spark, tmp_path)
    found = infer_columns(spark, request.source, request.groups, tmp_path)
    assert {column.name: column.type for column in found} == expected
