"""No value is changed in silence: one of more digits than its type holds is refused, or rounded and told, in every format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from landing_files import landed, rows, source
from pyspark.sql import SparkSession

from lakesmith.project.definitions import CsvOptions, OnInexact
from lakesmith.project.formats import FileFormat
from lakesmith.sources.model import FileIdentity
from lakesmith.spark.read.files import ReadGroup, ReadRequest, read_files

pytestmark = [pytest.mark.spark, pytest.mark.in_turn]

Case = tuple[str, str, str, str, str]
EXACT, INEXACT, WRONG = "exact", "inexact", "wrong"

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
    ("a seventh digit of a second", "timestamp", "2024-01-02 10:00:00.1234567", INEXACT, "2024-01-02 10:00:00.123456"),
    ("cut, never carried", "timestamp", "2024-01-02T23:59:59.999999999Z", INEXACT, "2024-01-02 23:59:59.999999"),
    ("zeros beyond microseconds", "timestamp", "2024-01-02 10:00:00.123456000", EXACT, "2024-01-02 10:00:00.123456"),
    ("microseconds and a zone", "timestamp", "2024-01-02 10:00:00.12+02:00", EXACT, "2024-01-02 08:00:00.12"),
    ("a local seventh digit", "timestamp_ntz", "2024-01-02 10:00:00.1234567", INEXACT, "2024-01-02 10:00:00.123456"),
    ("no timestamp", "timestamp", "10:00:00.1234567", WRONG, ""),
    ("a time in a date", "date", "2024-01-02 10:00:00", WRONG, ""),
    ("underflow", "double", "1e-400", INEXACT, "0.0"),
    ("underflow below zero", "double", "-0.5e-400", INEXACT, "-0.0"),
    ("underflow of many zeros", "double", f"0.{'0' * 400}1", INEXACT, "0.0"),
    ("zero, however it is written", "double", "0.0e-400", EXACT, "0.0"),
    ("the smallest double", "double", "4.9e-324", EXACT, "4.9E-324"),
    ("the nearest double", "double", "0.12345678901234567890", EXACT, "0.12345678901234568"),
    ("the nearest double of a whole number", "double", "12345678901234567890", EXACT, "1.2345678901234567E19"),
    ("overflow", "double", "1e400", WRONG, ""),
    ("underflow of a float", "float", "1e-60", INEXACT, "0.0"),
    ("overflow of a float", "float", "1e60", WRONG, ""),
    ("the nearest float", "float", "16777217", EXACT, "1.6777216E7"),
    ("a fraction is no whole number", "bigint", "1.5", WRONG, ""),
]  # fmt: skip

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
    ("a text with a seventh digit", "timestamp", "'2024-01-02 10:00:00.1234567'", INEXACT, "2024-01-02 10:00:00.123456"),
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
    cases = [*TEXTS, *typed]
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
    """One reason, which tells of digits where there are too many, and of none where it is something else."""
    return len(reasons) == 1 and ("digits" in reasons[0]) == (kind == INEXACT)
