"""CSV and TSV: lines of text, taken apart by ``from_csv`` and held against the header.

All fields are parsed as strings, and made into their types by lakesmith.spark.read_types. Spark's typed CSV reader is no
faster (measured) and says nothing about a quote that is never closed, bytes that are not the declared encoding, or text
after a closing quote. To find an open quote a last field is added to each line: it would be swallowed.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from lakesmith.project.definitions import CsvOptions
from lakesmith.spark.read_request import PROVENANCE, ReadGroup, ReadRequest
from lakesmith.spark.read_scan import (
    VALUE,
    Scan,
    csv_options,
    needs_stream,
    read_portions,
    stream_records,
    text_records,
)
from lakesmith.spark.read_sql import any_of, case, literal, options
from lakesmith.spark.read_types import TextFormats

FAULT = "_fault"
_MAX_FIELDS = 20_000  # Spark's parser gives up (and the job with it) at 20,480 fields


def csv_texts(spark: SparkSession, request: ReadRequest) -> DataFrame | None:
    """Every record: ``_value``, the provenance, ``_fault`` (why the record as a whole is bad, or NULL), and each
    declared column as text, named ``s0``, ``s1``, … None when there are no files."""
    return read_portions(spark, request, _group_texts)


def formats(request: ReadRequest) -> TextFormats:
    """How the source writes dates and times."""
    return TextFormats.of(request.source.csv)


def _group_texts(scan: Scan, group: ReadGroup) -> DataFrame:
    csv = scan.request.source.csv
    scanned = stream_records if needs_stream(csv) else text_records
    records = scanned(scan, group, csv.header)
    parsed = records.selectExpr("*", f"{_parse(group, csv)} AS r")
    texts = [f"{_text(column, group, csv)} AS s{i}" for i, (column, _) in enumerate(scan.request.columns)]
    return parsed.selectExpr(VALUE, *PROVENANCE, f"{_fault(group, csv)} AS {FAULT}", *texts)


def _text(column: str, group: ReadGroup, csv: CsvOptions) -> str:
    index = group.index(column)
    if index is None:
        return "CAST(NULL AS STRING)"
    field = f"r.c{index}"
    return field if csv.null_value is None else f"nullif({field}, {literal(csv.null_value)})"


def _parse(group: ReadGroup, csv: CsvOptions, *more: tuple[str, str]) -> str:
    fields = ", ".join(f"c{i} STRING" for i in range(len(group.file_columns)))
    settings = (*csv_options(csv), ("mode", "PERMISSIVE"), ("columnNameOfCorruptRecord", "bad"), *more)
    ended = f"concat({VALUE}, {literal(csv.delimiter + '!')})"
    few = f"octet_length({VALUE}) < {_MAX_FIELDS} OR {_count(VALUE, csv.delimiter)} < {_MAX_FIELDS}"
    return f"from_csv(IF({few}, {ended}, NULL), {literal(f'{fields}, z STRING, bad STRING')}, {options(settings)})"


def _count(text: str, part: str) -> str:
    gone = f"octet_length({text}) - octet_length(replace({text}, {literal(part)}, ''))"
    return f"(({gone}) div {len(part.encode())})"


def _fault(group: ReadGroup, csv: CsvOptions) -> str:
    utf8 = f"not valid {csv.encoding}"
    strange = f"instr({VALUE}, '\\uFFFD') > 0" if csv.encoding.upper() != "UTF-8" else "false"
    branches = [
        (f"NOT is_valid_utf8({VALUE}) OR {strange}", literal(utf8)),
        (f"instr({VALUE}, '\\u0000') > 0", literal("a NUL byte in the row")),
        ("r IS NULL OR r.bad IS NOT NULL", _misfit(group, csv)),
        *_misquoted(group, csv),
        *_repeated_header(group, csv),
    ]
    return case(branches)


def _misfit(group: ReadGroup, csv: CsvOptions) -> str:
    """Why the number of fields is not the header's: a quote that stays open, or simply more or fewer."""
    expected = len(group.file_columns)
    has = f"the header has {expected}" if csv.header else f"{expected} are declared"
    unquoted = _without_quoted(csv)
    found = f"CAST({_count(unquoted, csv.delimiter)} + 1 AS STRING)"
    counted = f"concat('row has ', {found}, {literal(' fields, ' + has)})"
    if not csv.quote:
        return counted
    left_open = f"instr({unquoted}, {literal(csv.quote)}) > 0"
    hint = "" if csv.multiline else " (fields with line breaks need `multiline: true`)"
    return case([(left_open, literal("a quote is not closed" + hint))], counted)


def _without_quoted(csv: CsvOptions) -> str:
    if not csv.quote:
        return VALUE
    quote = _in_regex(csv.quote)
    escaped = f"{_in_regex(csv.escape)}.|" if csv.escape not in ("", csv.quote) else ""
    pattern = f"{quote}(?:{escaped}[^{quote}])*{quote}"
    return f"regexp_replace({VALUE}, {literal(pattern)}, '')"


def _in_regex(character: str) -> str:
    return "\\" + character if not character.isalnum() else character


def _misquoted(group: ReadGroup, csv: CsvOptions) -> list[tuple[str, str]]:
    """Text after a closing quote: Spark then keeps the field as it stands, quotes and all, so it begins with a quote.

    A proper field may begin with one too, when its first character is an escaped quote. They differ in that the parser,
    asked to skip values that are not quoted properly, gives up the first only.
    """
    if not csv.quote:
        return []
    begins = any_of(f"startswith(r.c{i}, {literal(csv.quote)})" for i in range(len(group.file_columns)))
    strict = _parse(group, csv, ("unescapedQuoteHandling", "SKIP_VALUE"))
    return [(f"({begins}) AND NOT (r <=> {strict})", literal("text after a closing quote"))]


def _repeated_header(group: ReadGroup, csv: CsvOptions) -> list[tuple[str, str]]:
    """A header in the middle: files were put together. A row of one column may well hold the column's name."""
    if not csv.header or len(group.file_columns) < 2:
        return []
    same = " AND ".join(
        f"lower(r.c{i}) <=> {literal(column.lower())}" for i, column in enumerate(group.file_columns)
    )
    return [(same, literal("the header again"))]
