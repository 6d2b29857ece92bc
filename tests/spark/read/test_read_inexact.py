"""No value changes silently: one with too many digits is refused, or rounded and reported."""

import csv
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
from lakesmith.project.formats import FORMATS, FileFormat
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


def cases_of(where: str) -> list[Case]:
    """Returns the cases of ``inexact.csv`` for text files, for those without numbers, or for typed files."""
    with Path(__file__).with_name("inexact.csv").open(newline="") as file:
        return [
            (row["title"], row["type"], row["text"], row["what"], row["becomes"])
            for row in csv.DictReader(file)
            if row["where"] == where
        ]


TEXTS, TYPED = cases_of("texts"), cases_of("typed")
WHOLE = cases_of("whole")
"""Of texts; JSON's numbers have tests of their own."""


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


@pytest.mark.parametrize("format_", [each for each in FileFormat if not FORMATS[each].is_log])
def test_a_value_of_more_digits_is_refused_or_rounded_and_told(
    spark: SparkSession, tmp_path: Path, format_: FileFormat
) -> None:
    """The same table for every format but logs, whose columns are known (``spark/logs/test_cloudfront``).
    Parquet and Avro have the texts as strings, and types of their own."""
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
