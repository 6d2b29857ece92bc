"""Nothing, an empty text in quotes and the text for NULL, as other programs write them apart."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from landing_files import one, rows
from pyspark.sql import SparkSession

from lakesmith.project.definitions import CsvOptions, QuotedEmpty
from lakesmith.sources.columns.reading import SourceRead
from lakesmith.spark.read.files import SparkRecords, read_files

FIELDS = [
    '""',
    "",
    '"\\N"',
    "\\N",
    "NULL",
    '"NULL"',
    "a",
    '"a,b"',
    '"x""y"',
    '"\\N "',
    '" "',
    '"a,""\\N"",b"',
]
COLUMNS = ("id", "a", "b", "c")
TEXTS = (("id", "int"), ("a", "string"), ("b", "string"), ("c", "string"))


def _values(line: str, options: CsvOptions) -> Iterator[str | None]:
    """Parses a line of doubled quotes by itself: the csv module does not say what was in quotes."""
    rest = line
    while True:
        if rest.startswith('"'):
            end = 1
            while rest[end] != '"' or rest[end + 1 : end + 2] == '"':
                end += 2 if rest[end] == '"' else 1
            text = rest[1:end].replace('""', '"')
            is_none = not text and options.quoted_empty is QuotedEmpty.NULL
            rest = rest[end + 1 :].lstrip(" ")
        else:
            text, delimiter, left = rest.partition(options.delimiter)
            is_none, rest = text in ("", options.null_value), delimiter + left
        yield None if is_none else text
        if not rest:
            return
        rest = rest.removeprefix(options.delimiter)


@pytest.mark.parametrize("quoted_empty", list(QuotedEmpty))
@pytest.mark.parametrize("null_value", [None, "\\N", "NULL"])
@pytest.mark.parametrize("delimiter", [",", "\t", "||"])
def test_a_text_in_quotes_is_never_null_unless_it_is_empty_and_declared_so(
    delimiter: str, null_value: str | None, quoted_empty: QuotedEmpty, spark: SparkSession, tmp_path: Path
) -> None:
    options = CsvOptions(delimiter=delimiter, null_value=null_value, quoted_empty=quoted_empty)
    fields = [field.replace(",", delimiter) for field in FIELDS]
    triples = [(a, fields[(at + 1) % len(fields)], a) for at, a in enumerate(fields)]
    triples += [(a, b, "z") for a in fields for b in fields[:6]]
    lines = [delimiter.join((str(at), *triple)) for at, triple in enumerate(triples)]
    content = "\n".join([delimiter.join(COLUMNS), *lines, ""])
    found = rows(read_files(spark, one(tmp_path, content, COLUMNS, TEXTS, options=options)))
    assert [row._reasons for row in found] == [[]] * len(lines)
    expected = [list(_values(line, options)) for line in lines]
    assert [[str(row.id), row.a, row.b, row.c] for row in found] == expected


def test_an_escaped_text_for_null_is_a_text_and_so_is_one_over_several_lines(
    spark: SparkSession, tmp_path: Path
) -> None:
    options = CsvOptions(escape="\\", null_value="\\N", multiline=True)
    content = 'id,a,b,c\n1,"\\\\N","\\N",\\N\n2,"x\n,\\N,","",\n3,"\\"\\N\\"","\\N" ,""\n'
    found = rows(read_files(spark, one(tmp_path, content, COLUMNS, TEXTS, options=options)))
    assert [(row.a, row.b, row.c) for row in found] == [
        ("\\N", "\\N", None), ("x\n,\\N,", "", None), ('"\\N"', "\\N", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("quoted_empty", list(QuotedEmpty))
def test_a_type_without_an_empty_value_has_null_and_none_is_inferred_of_it(
    quoted_empty: QuotedEmpty, spark: SparkSession, tmp_path: Path
) -> None:
    columns = (("id", "int"), ("a", "date"), ("b", "double"), ("c", "boolean"))
    options = CsvOptions(quoted_empty=quoted_empty, null_value="NA")
    content = 'id,a,b,c\n1,"","",""\n2,NA,NA,NA\n"",2024-01-01,"1.5","true"\n4,,,"NA"\n'
    request = one(tmp_path, content, COLUMNS, columns, options=options)
    found = rows(read_files(spark, request))
    assert [(row.id, row.a, row.b, row.c) for row in found][:2] == [
        (1, None, None, None),
        (2, None, None, None),
    ]
    assert [row._reasons for row in found] == [[], [], [], ["c: not a boolean: 'NA'"]]
    request = one(tmp_path, content.replace(',"NA"', ',""'), COLUMNS, columns, options=options)
    inferred = SparkRecords(spark, tmp_path).infer(SourceRead(request.source, request.groups))
    assert [column.type for column in inferred] == ["bigint", "date", "double", "boolean"]


def test_without_quotes_two_quotes_are_a_text(spark: SparkSession, tmp_path: Path) -> None:
    options = CsvOptions(quote="", null_value="\\N")
    content = 'id,a,b,c\n1,"",\\N,"\\N"\n'
    (row,) = rows(read_files(spark, one(tmp_path, content, COLUMNS, TEXTS, options=options)))
    assert (row.a, row.b, row.c) == ('""', None, '"\\N"')


def test_what_duckdb_and_spark_write_is_read_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    values = [(1, "", "x", None), (2, None, "", "NULL"), (3, "NULL", None, ""), (4, '"', " ", "a,b")]
    shown = ", ".join(f"({', '.join('NULL' if v is None else repr(v) for v in row)})" for row in values)
    written = tmp_path / "duckdb.csv"
    duckdb.sql(f"COPY (SELECT * FROM (VALUES {shown}) t(id, a, b, c)) TO '{written}' (HEADER)")
    options = CsvOptions()
    request = one(tmp_path, written.read_bytes(), COLUMNS, TEXTS, options=options)
    assert [(row.id, row.a, row.b, row.c) for row in rows(read_files(spark, request))] == values
    frame = spark.createDataFrame(values, "id int, a string, b string, c string").coalesce(1)
    frame.write.csv(str(tmp_path / "spark"), header=True, escape='"', ignoreLeadingWhiteSpace=False,
                    ignoreTrailingWhiteSpace=False)  # fmt: skip
    (part,) = (tmp_path / "spark").glob("*.csv")
    request = one(tmp_path, part.read_bytes(), COLUMNS, TEXTS, options=options)
    assert [(row.id, row.a, row.b, row.c) for row in rows(read_files(spark, request))] == values
