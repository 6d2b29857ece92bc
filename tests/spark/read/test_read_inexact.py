"""No value changes silently: one with too many digits is refused, or rounded and reported."""

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from landing_files import landed, rows, source
from pyspark.sql import SparkSession

from lakesmith.project.definitions import CsvOptions, OnInexact
from lakesmith.project.formats import FileFormat
from lakesmith.sources.columns.reading import ReadGroup
from lakesmith.sources.model import FileIdentity
from lakesmith.spark.read.files import read_files
from lakesmith.spark.read.request import ReadRequest

pytestmark = pytest.mark.in_turn

Case = tuple[str, str, str, str, str]
EXACT, INEXACT, WRONG = "exact", "inexact", "wrong"
ABBREVIATIONS = [
    "ACT", "AET", "AGT", "ART", "AST", "BET", "BST", "CAT", "CNT", "CST", "CTT", "EAT", "ECT", "IET", "IST",
    "JST", "MIT", "NET", "NST", "PLT", "PNT", "PRT", "PST", "SST", "VST", "EST", "MST", "HST", "CET", "EET",
    "MET", "WET", "EST5EDT", "PRC", "NZ",
]  # fmt: skip
"""Java's oldest names, and names of IANA's that are no regions."""

TEXTS: list[Case] = [
    # type, text, what it is, and what it is then as a text
    ("digits beyond the scale", "decimal(10,2)", "1.239", INEXACT, "1.24"),
    ("half goes up", "decimal(10,2)", "1.235", INEXACT, "1.24"),
    ("half below zero goes away from it", "decimal(10,2)", "-1.235", INEXACT, "-1.24"),
    ("zeros beyond the scale", "decimal(10,2)", "1.23000", EXACT, "1.23"),
    ("next to nothing", "decimal(10,2)", "1e-400", INEXACT, "0.00"),
    ("more digits than any decimal", "decimal(10,2)", f"1.2{'0' * 40}1", INEXACT, "1.20"),
    ("digits beyond the scale of the widest decimal", "decimal(38,2)", "1.239", INEXACT, "1.24"),
    ("with an exponent", "decimal(38,2)", "1239e-3", INEXACT, "1.24"),
    ("an exponent that takes the zeros", "decimal(38,2)", "1230e-3", EXACT, "1.23"),
    ("none beyond it", "decimal(38,2)", "1.230", EXACT, "1.23"),
    ("too large", "decimal(4,2)", "123", WRONG, ""),
    ("far too large", "decimal(4,2)", "1e400", WRONG, ""),
    ("a seventh digit of a second", "timestamp", "2024-01-02 10:00:00.1234567", INEXACT,
        "2024-01-02 10:00:00.123456"),
    ("cut, never carried", "timestamp", "2024-01-02T23:59:59.999999999Z", INEXACT,
        "2024-01-02 23:59:59.999999"),
    ("zeros beyond microseconds", "timestamp", "2024-01-02 10:00:00.123456000", EXACT,
        "2024-01-02 10:00:00.123456"),
    ("microseconds and a zone", "timestamp", "2024-01-02 10:00:00.12+02:00", EXACT, "2024-01-02 08:00:00.12"),
    ("a local seventh digit", "timestamp_ntz", "2024-01-02 10:00:00.1234567", INEXACT,
        "2024-01-02 10:00:00.123456"),
    ("no timestamp", "timestamp", "10:00:00.1234567", WRONG, ""),
    ("UTC by its letter", "timestamp", "2024-07-01T12:00:00Z", EXACT, "2024-07-01 12:00:00"),
    ("UTC by name", "timestamp", "2024-07-01 12:00:00 UTC", EXACT, "2024-07-01 12:00:00"),
    ("an offset from UTC", "timestamp", "2024-07-01 12:00:00 UTC+02:00", EXACT, "2024-07-01 10:00:00"),
    ("Greenwich", "timestamp", "2024-07-01 12:00:00GMT", EXACT, "2024-07-01 12:00:00"),
    ("no region", "timestamp", "2024-07-01 12:00:00 Nowhere/Land", WRONG, ""),
    ("a region", "timestamp", "2024-07-01 12:00:00 Europe/Paris", EXACT, "2024-07-01 10:00:00"),
    ("a region of three parts", "timestamp", "2024-07-01T12:00:00 America/Argentina/Ushuaia", EXACT,
        "2024-07-01 15:00:00"),
    ("an abbreviation", "timestamp", "2024-07-01 12:00:00 BST", WRONG, ""),
    ("an abbreviation without a space", "timestamp", "2024-07-01 12:00:00.123BST", WRONG, ""),
    ("a time that never was", "timestamp", "2024-03-10 02:30:00 America/Los_Angeles", INEXACT,
        "2024-03-10 10:30:00"),
    ("a time that was twice", "timestamp", "2024-11-03 01:30:00 America/Los_Angeles", INEXACT,
        "2024-11-03 08:30:00"),
    ("the instant before the clocks go", "timestamp", "2024-03-10 01:59:59.999999 America/Los_Angeles", EXACT,
        "2024-03-10 09:59:59.999999"),
    ("the instant after it", "timestamp", "2024-03-10 03:00:00 America/Los_Angeles", EXACT,
        "2024-03-10 10:00:00"),
    ("a day that Samoa never had", "timestamp", "2011-12-30 12:00:00 Pacific/Apia", INEXACT,
        "2011-12-30 22:00:00"),
    ("a midnight that never was", "timestamp", "2018-11-04 00:00:00 America/Sao_Paulo", INEXACT,
        "2018-11-04 03:00:00"),
    ("the year 0", "timestamp", "0000-01-01 00:00:00", WRONG, ""),
    ("the last instant", "timestamp", "9999-12-31 23:59:59.999999", EXACT, "9999-12-31 23:59:59.999999"),
    ("a year beyond by its offset", "timestamp", "9999-12-31 23:59:59 -01:00", WRONG, ""),
    ("a year before by its offset", "timestamp", "0001-01-01 00:00:00 +01:00", WRONG, ""),
    ("a local year 0", "timestamp_ntz", "0000-12-31 00:00:00", WRONG, ""),
    ("a date of the year 0", "date", "0000-12-31", WRONG, ""),
    ("the first date", "date", "0001-01-01", EXACT, "0001-01-01"),
    ("a date of five digits", "date", "10000-01-01", WRONG, ""),
    ("a time in a date", "date", "2024-01-02 10:00:00", WRONG, ""),
    ("underflow", "double", "1e-400", INEXACT, "0.0"),
    ("underflow below zero", "double", "-0.5e-400", INEXACT, "-0.0"),
    ("underflow of many zeros", "double", f"0.{'0' * 400}1", INEXACT, "0.0"),
    ("zero, however it is written", "double", "0.0e-400", EXACT, "0.0"),
    ("the smallest double", "double", "4.9e-324", EXACT, "4.9E-324"),
    ("the nearest double", "double", "0.12345678901234567890", EXACT, "0.12345678901234568"),
    ("the nearest double of a whole number", "double", "12345678901234567890", EXACT,
        "1.2345678901234567E19"),
    ("overflow", "double", "1e400", WRONG, ""),
    ("underflow of a float", "float", "1e-60", INEXACT, "0.0"),
    ("overflow of a float", "float", "1e60", WRONG, ""),
    ("the nearest float", "float", "16777217", EXACT, "1.6777216E7"),
    ("a fraction is no whole number", "bigint", "1.5", WRONG, ""),
    ("too large with zeros", "int", "2147483648.0", WRONG, ""),
    ("next to a whole number", "bigint", "7.0000000000000000000000000000001", WRONG, ""),
    ("with an exponent, from a spreadsheet", "bigint", "1.23457E+11", WRONG, ""),
]  # fmt: skip

WHOLE: list[Case] = [
    ("a whole number with zeros", "bigint", "7.0", EXACT, "7"),
    ("a negative one", "int", "-12.000", EXACT, "-12"),
    ("the largest", "bigint", "9223372036854775807.0", EXACT, "9223372036854775807"),
    ("signed, with blanks", "smallint", " +7. ", EXACT, "7"),
]
"""Of texts; JSON's numbers have tests of their own."""

TYPED: list[Case] = [
    ("a double as a float", "float", "0.1D", INEXACT, "0.1"),
    ("a double that is a float", "float", "0.5D", EXACT, "0.5"),
    ("a double too large for a float", "float", "1e300D", WRONG, ""),
    ("a double too small for a float", "float", "1e-60D", INEXACT, "0.0"),
    ("infinity as a float", "float", "double('-Infinity')", EXACT, "-Infinity"),
    ("a whole number beyond 2^53", "double", "9007199254740993L", INEXACT, "9.007199254740992E15"),
    ("2^53", "double", "9007199254740992L", EXACT, "9.007199254740992E15"),
    ("a whole number beyond 2^24", "float", "16777217", INEXACT, "1.6777216E7"),
    ("a decimal of smaller scale", "decimal(10,2)", "1.235BD", INEXACT, "1.24"),
    ("a decimal too large", "decimal(4,2)", "123.0BD", WRONG, ""),
    ("a decimal as a double", "double", "0.1BD", EXACT, "0.1"),
    ("a decimal of more digits", "double", "0.12345678901234567890BD", INEXACT, "0.12345678901234568"),
    ("a double as a decimal", "decimal(10,2)", "1.005D", INEXACT, "1.01"),
    ("a double as a whole number", "int", "1.5D", WRONG, ""),
    ("a timestamp of the year 0", "timestamp", "timestamp_micros(-62135596800000001)", WRONG, ""),
    ("a timestamp of a far year", "timestamp", "timestamp_micros(253402300800000000)", WRONG, ""),
    ("a date of the year 0", "date", "date_add(DATE '0001-01-01', -1)", WRONG, ""),
    ("a text with a seventh digit", "timestamp", "'2024-01-02 10:00:00.1234567'", INEXACT,
        "2024-01-02 10:00:00.123456"),
    ("infinity by name", "float", "'inf'", EXACT, "Infinity"),
]  # fmt: skip


def json_value(case: Case) -> str:
    return f'"{case[2]}"' if case[1].startswith(("date", "time")) else case[2]


def written(root: Path, spark: SparkSession, format_: FileFormat, cases: list[Case]) -> FileIdentity:
    """A file in whose row i only column ci has a value, that of case i."""
    if format_ in (FileFormat.CSV, FileFormat.TSV):
        by = "," if format_ is FileFormat.CSV else "\t"
        lines = [by * i + case[2] + by * (len(cases) - i - 1) for i, case in enumerate(cases)]
        return landed(root, f"landing/a.{format_}", "\n".join([by.join(names(cases)), *lines]))
    if format_ is FileFormat.JSON:
        lines = [f'{{"c{i}": {json_value(case)}}}' for i, case in enumerate(cases)]
        return landed(root, "landing/a.json", "\n".join(lines))
    values = [case[2] if case in TYPED else f"'{case[2]}'" for case in cases]
    each = ", ".join(f"IF(id = {i}, {value}, NULL) AS c{i}" for i, value in enumerate(values))
    folder = root / f"made-{format_}"
    spark.sql(f"SELECT {each} FROM range(0, {len(cases)}, 1, 1)").write.format(format_).save(str(folder))
    return landed(root, f"landing/a.{format_}", next(folder.glob(f"part-*.{format_}")).read_bytes())


def names(cases: list[Case]) -> list[str]:
    return [f"c{i}" for i in range(len(cases))]


@pytest.mark.parametrize("format_", list(FileFormat))
def test_a_value_of_more_digits_is_refused_or_rounded_and_told(
    spark: SparkSession, tmp_path: Path, format_: FileFormat
) -> None:
    """The same table for every format; Parquet and Avro have the texts as strings, and types of their own."""
    typed = TYPED if format_ in (FileFormat.PARQUET, FileFormat.AVRO) else []
    cases = [*TEXTS, *typed, *(() if format_ is FileFormat.JSON else WHOLE)]
    file = written(tmp_path, spark, format_, cases)
    header = () if format_ is FileFormat.JSON or typed else tuple(names(cases))
    options = CsvOptions(delimiter="\t") if format_ is FileFormat.TSV else None
    columns = tuple((f"c{i}", case[1]) for i, case in enumerate(cases))
    texts = [f"CAST(c{i} AS STRING) AS c{i}" for i in range(len(cases))]
    wrong = []
    for policy in OnInexact:
        of = replace(source(format_, options), on_inexact=policy)
        request = ReadRequest(of, tmp_path, (ReadGroup((file,), header),), columns)
        frame = read_files(spark, request).selectExpr(
            *texts, "_reasons", "_rounded", "_source_file", "_source_position"
        )
        for (i, (title, _, _, kind, text)), row in zip(enumerate(cases), rows(frame), strict=True):
            taken = kind == EXACT or (kind == INEXACT and policy is OnInexact.ROUND)
            told = [f"c{i}"] if kind == INEXACT and policy is OnInexact.ROUND else None
            right = not row._reasons and row[f"c{i}"] == text if taken else right_reason(row._reasons, kind)
            if not right or (taken and row._rounded != told):
                wrong.append((policy.value, title, row[f"c{i}"], row._reasons, row._rounded))
    assert wrong == []


def right_reason(reasons: list[str], kind: str) -> bool:
    """One reason: too many digits, or a local time that is none or two; neither for other errors."""
    told = "digits" in reasons[0] or "a local time" in reasons[0]
    return len(reasons) == 1 and told == (kind == INEXACT)


ZONES = [
    "Europe/Paris", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia",
    "Asia/Kolkata", "Africa/Cairo", "Asia/Tehran", "America/St_Johns", "Europe/Dublin", "Antarctica/Troll",
    "Asia/Gaza", "Pacific/Norfolk",
]  # fmt: skip


def local_times(zone: ZoneInfo, chance: random.Random) -> Iterator[datetime]:
    """Local times of thirty years, most of them near a change of the zone's clocks."""
    last, day = None, datetime(1992, 1, 1)
    while day < datetime(2024, 1, 1):
        day += timedelta(days=1)
        offset = day.replace(tzinfo=zone).utcoffset()
        if last is not None and (offset != last or chance.random() < 0.001):
            for _ in range(6):
                yield day + timedelta(minutes=chance.randrange(-36 * 60, 12 * 60, 15))
        last = offset


def expected(local: datetime, zone: ZoneInfo) -> tuple[str, bool]:
    """The instant of a local time, as text, and whether it is the only one: as Python has it (PEP 495)."""
    first, second = (local.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    instant = (local - (first.utcoffset() or timedelta())).isoformat(" ")
    return instant, first.utcoffset() == second.utcoffset()


def test_local_times_are_instants_where_their_zone_had_them_once(spark: SparkSession, tmp_path: Path) -> None:
    """By a region in the text, in a pattern, and by the source's time_zone; rounded as Python rounds."""
    seed = random.randrange(10**6)
    chance, wrong = random.Random(seed), []
    times = {name: list(dict.fromkeys(local_times(ZoneInfo(name), chance))) for name in ZONES}
    said = [(local, name) for name, found in times.items() for local in found]
    runs = [
        (CsvOptions(), [f"{local.isoformat(' ')} {name}" for local, name in said], said),
        (
            CsvOptions(timestamp_format="dd/MM/yyyy HH:mm:ss VV"),
            [f"{local:%d/%m/%Y %H:%M:%S} {name}" for local, name in said],
            said,
        ),
    ]
    for name in ("Europe/Paris", "Australia/Lord_Howe"):
        of = [(local, name) for local in times[name]]
        runs += [
            (CsvOptions(time_zone=name), [local.isoformat() for local, _ in of], of),
            (
                CsvOptions(time_zone=name, timestamp_format="dd.MM.yyyy HH:mm:ss"),
                [f"{local:%d.%m.%Y %H:%M:%S}" for local, _ in of],
                of,
            ),
        ]
    for number, (options, texts, of) in enumerate(runs):
        file = landed(tmp_path, f"landing/{number}.csv", "at\n" + "\n".join(texts))
        rounding = replace(source(FileFormat.CSV, options), on_inexact=OnInexact.ROUND)
        request = ReadRequest(rounding, tmp_path, (ReadGroup((file,), ("at",)),), (("at", "timestamp"),))
        found = read_files(spark, request).selectExpr(
            "CAST(at AS STRING) AS at", "_reasons", "_rounded", "_source_file", "_source_position"
        )
        for (local, name), row in zip(of, rows(found), strict=True):
            instant, once = expected(local, ZoneInfo(name))
            if (row.at, row._rounded is None, row._reasons) != (instant, once, []):
                wrong.append((options, local, name, row, instant, once))
    assert wrong == [], f"seed {seed}: { {each[2] for each in wrong} }"
    assert len(said) > 1000 and any(not expected(local, ZoneInfo(name))[1] for local, name in said)


def test_times_without_a_zone_are_of_the_source_s(spark: SparkSession, tmp_path: Path) -> None:
    """In every format: texts, and files' local times and dates; what names a zone stays as it is."""
    texts = {
        "2024-07-01 12:00:00": "10:00",
        "2024-01-01": "23:00",
        "2024-07-01T12:00:00Z": "12:00",
        "2024-03-31 02:30:00": None,
    }
    spark.sql(
        "SELECT id, IF(id < 2, TIMESTAMP_NTZ '2024-07-01 12:00:00', TIMESTAMP_NTZ '2024-03-31 02:30:00') AS"
        " at FROM range(1, 3, 1, 1)"
    ).write.parquet(str(tmp_path / "made"))
    local = next((tmp_path / "made").glob("part-*.parquet")).read_bytes()
    contents = {
        FileFormat.CSV: "at\n" + "\n".join(texts),
        FileFormat.JSON: "\n".join(f'{{"at": "{text}"}}' for text in texts),
        FileFormat.PARQUET: local,
    }
    for format_, content in contents.items():
        file = landed(tmp_path, f"landing/b.{format_}", content)
        header = ("at",) if format_ is FileFormat.CSV else ()
        of = source(format_, CsvOptions(time_zone="Europe/Paris"))
        request = ReadRequest(of, tmp_path, (ReadGroup((file,), header),), (("at", "timestamp"),))
        found = read_files(spark, request).selectExpr(
            "IF(size(_reasons) = 0, date_format(at, 'HH:mm'), NULL) AS at",
            "_reasons",
            "_source_file",
            "_source_position",
        )
        want = list(texts.values()) if format_ is not FileFormat.PARQUET else ["10:00", None]
        assert [row.at for row in rows(found)] == want, format_
        assert "a local time that its region never had" in rows(found)[-1]._reasons[0]


def test_abbreviations_are_no_zones(spark: SparkSession, tmp_path: Path) -> None:
    """All of Java's oldest names, whatever they mean to it, and the reason says what to do."""
    texts = [f"2024-07-01 12:00:00{between}{name}" for name in ABBREVIATIONS for between in (" ", ".123")]
    for format_, content in (
        (FileFormat.CSV, "at\n" + "\n".join(texts)),
        (FileFormat.JSON, "\n".join(f'{{"at": "{text}"}}' for text in texts)),
    ):
        file = landed(tmp_path, f"landing/d.{format_}", content)
        header = ("at",) if format_ is FileFormat.CSV else ()
        request = ReadRequest(
            source(format_), tmp_path, (ReadGroup((file,), header),), (("at", "timestamp"),)
        )
        found = rows(read_files(spark, request).selectExpr("_reasons", "_source_file", "_source_position"))
        assert [text for text, row in zip(texts, found, strict=True) if not row._reasons] == []
        assert "time_zone" in found[0]._reasons[0]


def test_an_abbreviation_is_told_what_to_do(spark: SparkSession, tmp_path: Path) -> None:
    patterned = CsvOptions(timestamp_format="dd MMM yyyy HH:mm:ss z")
    for options, texts in (
        (CsvOptions(), ["2024-07-01 12:00:00 BST", "2024-07-01 12:00:00 UTC"]),
        (patterned, ["01 Jul 2024 12:00:00 BST", "01 Jul 2024 12:00:00 GMT"]),
        (
            CsvOptions(timestamp_format="dd/MMM/yyyy:HH:mm:ss z"),
            ["01/Jul/2024:12:00:00 PST", "01/Jul/2024:12:00:00 UTC"],
        ),
    ):
        file = landed(tmp_path, "landing/c.csv", "at\n" + "\n".join(f'"{text}"' for text in texts))
        request = ReadRequest(
            source(FileFormat.CSV, options), tmp_path, (ReadGroup((file,), ("at",)),), (("at", "timestamp"),)
        )
        bad, good = rows(read_files(spark, request).selectExpr("*", "CAST(at AS STRING) AS text"))
        assert "its zone may be several" in bad._reasons[0] and "time_zone" in bad._reasons[0]
        assert (good._reasons, good.text) == ([], "2024-07-01 12:00:00")
