"""CSV and TSV: lines split at the delimiters or, if something is quoted, by ``from_csv``, and compared with
the header.

All fields are parsed as strings, and converted to their types by lakesmith.spark.read.exact_text. Spark's
typed CSV reader is no faster (measured) and says nothing about a quote that is never closed, bytes that are
not of the declared encoding, or text after a closing quote. To find an open quote, a last field is added to
each line: the quote would swallow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from lakesmith import limits
from lakesmith.errors import Problem, SourceError
from lakesmith.project.definitions import Column, CsvOptions, QuotedEmpty
from lakesmith.quoting import literal, quoted
from lakesmith.sources.columns.reading import ReadGroup
from lakesmith.sources.formats.csv import splitter
from lakesmith.sources.formats.text import needs_stream
from lakesmith.spark.frames.sql_text import any_of, case, not_null, options
from lakesmith.spark.read.exact_text import TextFormats, exact_from_text, inexact_from_text, reason
from lakesmith.spark.read.infer import as_columns, first_files, text_types
from lakesmith.spark.read.records import (
    VALUE,
    RecordScan,
    csv_options,
    read_portions,
    split_records,
    text_records,
    undecoded,
    where_last,
    without_last,
)
from lakesmith.spark.read.request import (
    PROVENANCE,
    RAW,
    REASONS,
    ROUNDED,
    SOURCE_FILE,
    ReadRequest,
    path_text,
    rounded_columns,
)

_NOTHING = "\0"  # a record that has it is bad, so no value is confused with it
_MARK = "\ufdd0"  # Unicode keeps it for use inside programs; the parser gives no NUL beside other characters
_WITH_EMPTY = ("string", "binary")
_NESTED = ("array<", "map<", "struct<", "variant", "interval")
_MAX_FIELDS = 20_000  # Spark's parser fails (and the job with it) at 20,480 fields


def csv_rows(spark: SparkSession, request: ReadRequest) -> DataFrame | None:
    """Returns the rows as ``read_files``, or None. Raises SourceError LS451 for a nested type."""
    refuse_nested(request)
    return read_portions(spark, request, _group_rows)


def refuse_nested(request: ReadRequest) -> None:
    """Raises SourceError LS451 for a column of a nested type."""
    source = request.source
    problems = [
        Problem(
            "LS451",
            f"source {source.name!r}: column {column!r} has a type that {source.format} files cannot hold",
            source.place,
            expected="a type whose values are single texts",
            found=type_,
            hint="declare it as string and take it apart in a silver query (from_json)",
        )
        for column, type_ in request.columns
        if type_.startswith(_NESTED)
    ]
    if problems:
        raise SourceError(problems)


def infer_csv(spark: SparkSession, request: ReadRequest) -> tuple[Column, ...]:
    """By the texts in the first rows of the first files."""
    few = first_files(request)
    named = (column for group in few.groups for column in group.file_columns if column.strip())
    names = tuple(dict.fromkeys(named))
    few = replace(few, columns=tuple((column, "string") for column in names))
    texts = _samples(spark, few)
    if texts is None:
        return as_columns(dict.fromkeys(names, "string"))
    lists = [f"array(s{i})" for i in range(len(names))]
    found = text_types(texts.limit(limits.SAMPLED_ROWS), lists, TextFormats.of(few.source))
    return as_columns(dict(zip(names, found, strict=True)))


def _samples(spark: SparkSession, request: ReadRequest) -> DataFrame | None:
    """The good records with each column as text, ``s0``, ``s1``, …; None if there are no files."""

    def texts(scan: RecordScan, group: ReadGroup) -> DataFrame:
        # No type follows from an empty text: it may be how all values are written that are not there.
        columns = (f"nullif({text or 'NULL'}, '')" for text in _texts(scan.request, group))
        good = where_last(_parsed(scan, group), f"{_fault(group, request.source.csv)} IS NULL")
        return good.selectExpr(*(f"{text} AS s{i}" for i, text in enumerate(columns)))

    return read_portions(spark, request, texts)


def _formats(request: ReadRequest, column: str, text: str) -> TextFormats:
    """How the source writes the ``text`` of a column; paths always have ISO's dates and times."""
    return TextFormats.of_paths(request.source) if SOURCE_FILE in text else request.formats(column)


def _group_rows(scan: RecordScan, group: ReadGroup) -> DataFrame:
    texts, fault = _texts(scan.request, group), _fault(group, scan.request.source.csv)
    return rows_of_texts(_parsed(scan, group), texts, fault, scan.request)


def rows_of_texts(
    parsed: DataFrame,
    texts: list[str | None],
    fault: str,
    request: ReadRequest,
    known: Mapping[int, str] | None = None,
) -> DataFrame:
    """Returns rows as ``read_files``, made of records that were split.

    ``texts``: SQL of each column's text, None if a record has none. ``fault``: SQL of the reason that a
    record has no values. ``known``: SQL of the values that columns are known to have, NULL in rows in which
    the text has to be asked. Values are made in one projection and validated in the next, lest Spark repeats
    them.
    """
    values = [_value(text, request, i, (known or {}).get(i)) for i, text in enumerate(texts)]
    valued = parsed.selectExpr(
        "*", f"{fault} AS _fault", *(f"{value} AS v{i}" for i, value in enumerate(values))
    )
    wrong = {i: odd for i, text in enumerate(texts) if text and (odd := _wrong(text, request, i))}
    bad = f"({any_of(('_fault IS NOT NULL', *wrong.values()))})"
    if known is None:  # else of few columns, and each row would be copied once more
        valued, bad = valued.selectExpr("*", f"{bad} AS _bad"), "_bad"
    reasons = (case([(odd, _reason(texts[i] or "", request, i))]) for i, odd in wrong.items())
    why = f"IF(_fault IS NOT NULL, array(_fault), {not_null(reasons)})"
    return valued.selectExpr(
        *(f"v{i} AS {quoted(column)}" for i, (column, _) in enumerate(request.columns)),
        *PROVENANCE,
        f"IF({bad}, make_valid_utf8({VALUE}), NULL) AS {RAW}",
        f"IF({bad}, {why}, CAST(array() AS array<string>)) AS {REASONS}",
        f"{_rounded(texts, request)} AS {ROUNDED}",
    )


def _parsed(scan: RecordScan, group: ReadGroup) -> DataFrame:
    """Each record, its provenance and its fields ``c0``, ``c1``, … as texts. ``z`` and ``bad`` say whether it
    fitted, and ``parsed`` whether Spark's parser parsed it.


    A record without quotes is split at the delimiters, in half the time of Spark's parser.
    """
    csv = scan.request.source.csv
    records = scan.gathered(_records(scan, group), group)
    split = records.selectExpr(
        "*", f"IF({_is_plain(csv)}, split({VALUE}, {literal(_pattern(csv.delimiter))}), NULL) AS q"
    )
    taken_apart = split.selectExpr("*", f"IF(q IS NULL, {_parse(group, csv)}, NULL) AS r")
    count = len(group.file_columns)
    return taken_apart.selectExpr(
        VALUE,
        *PROVENANCE,
        *(f"IF(q IS NULL, r.c{i}, nullif(get(q, {i}), '')) AS c{i}" for i in range(count)),
        f"IF(q IS NULL, r.z, IF(size(q) = {count}, '!', NULL)) AS z",
        "r.bad AS bad",
        "q IS NULL AS parsed",
    )


def _records(scan: RecordScan, group: ReadGroup) -> DataFrame:
    csv = scan.request.source.csv
    if needs_stream(csv):
        records = split_records(scan, group, splitter(csv, group.layout))
    else:
        records = text_records(scan, group, group.layout.first_record(csv), csv.comment)
    return without_last(records, csv.skip_last) if csv.skip_last and scan.request.records is None else records


def _is_plain(csv: CsvOptions) -> str:
    """SQL that is true for a record of fields and delimiters: no quotes, and nothing escaped."""
    marks = {mark for mark in (csv.quote, csv.escape) if mark}
    return " AND ".join(f"NOT contains({VALUE}, {literal(mark)})" for mark in sorted(marks)) or "true"


def _pattern(text: str) -> str:
    return "".join(map(_in_regex, text))


def _texts(request: ReadRequest, group: ReadGroup) -> list[str | None]:
    """SQL of each declared column's text, of the files or their paths; None if neither has it."""
    found: list[str | None] = []
    for column, type_ in request.columns:
        index = group.index(column)
        if index is None:
            found.append(path_text(column) if column in group.path_columns else None)
        else:
            found.append(_text(f"c{index}", type_, request.source.csv))
    return found


def _text(field: str, type_: str, csv: CsvOptions) -> str:
    """SQL of a field's text: NULL if it is the text for NULL without quotes, or empty in a type without an
    empty value."""
    text, null = field, csv.null_value
    if null:
        unmarked = f"IF({field} = {literal(_MARK + null)}, {literal(null)}, nullif({field}, {literal(null)}))"
        text = unmarked if csv.quote else f"nullif({field}, {literal(null)})"
    keeps_empty = csv.quoted_empty is QuotedEmpty.NULL or type_ in _WITH_EMPTY
    return text if keeps_empty else f"nullif({text}, '')"


def _value(text: str | None, request: ReadRequest, index: int, known: str | None) -> str:
    column, type_ = request.columns[index]
    if text is None:
        return request.without(column, type_)
    asked = exact_from_text(text, type_, _formats(request, column, text))
    return asked if known is None else f"coalesce({known}, {asked})"


def _wrong(text: str, request: ReadRequest, index: int) -> str | None:
    """SQL that is true if ``v…`` could not be made of its text; None for texts, which always can."""
    is_text = request.columns[index][1] == "string"
    return None if is_text else f"v{index} IS NULL AND {text} IS NOT NULL"


def _reason(text: str, request: ReadRequest, index: int) -> str:
    column, type_ = request.columns[index]
    return reason(column, type_, text, inexact_from_text(text, type_, _formats(request, column, text)))


def _rounded(texts: list[str | None], request: ReadRequest) -> str:
    pairs = zip(request.columns, texts, strict=True)
    return rounded_columns(
        request,
        (
            (column, inexact_from_text(text, type_, _formats(request, column, text)))
            for (column, type_), text in pairs
            if text
        ),
    )


def _parse(group: ReadGroup, csv: CsvOptions, *more: tuple[str, str]) -> str:
    fields = ", ".join(f"c{i} STRING" for i in range(len(group.file_columns)))
    settings = (*csv_options(csv), ("mode", "PERMISSIVE"), ("columnNameOfCorruptRecord", "bad"), *more)
    if csv.quoted_empty is QuotedEmpty.EMPTY:
        # The parser gives this text for nothing, which Spark then takes for NULL, and an empty one for "".
        settings = (*settings, ("nullValue", _NOTHING))
    ended = f"concat({_with_marks(csv)}, {literal(csv.delimiter + '!')})"
    few = f"octet_length({VALUE}) < {_MAX_FIELDS} OR {_count(VALUE, csv.delimiter)} < {_MAX_FIELDS}"
    return (
        f"from_csv(IF({few}, {ended}, NULL), {literal(f'{fields}, z STRING, bad STRING')},"
        f" {options(settings)})"
    )


def _with_marks(csv: CsvOptions) -> str:
    """SQL of a record with a mark before each text for NULL in quotes, which does not mean NULL."""
    if not csv.null_value or not csv.quote:
        return VALUE
    quote, end = _in_regex(csv.quote), _pattern(csv.delimiter)
    inside = "".join(_in_quotes(character, csv) for character in csv.null_value)
    pattern = f"(?<=^|{end})({quote})({inside}{quote})(?=[ \\t]*(?:{end}|\\z))"
    return f"regexp_replace({VALUE}, {literal(pattern)}, {literal(f'$1{_MARK}$2')})"


def _in_quotes(character: str, csv: CsvOptions) -> str:
    """A pattern of a character as writers put it in quotes."""
    itself = _in_regex(character)
    if character == csv.quote:
        return _in_regex(csv.escape or csv.quote) + itself
    return f"{itself}{{1,2}}" if character == csv.escape else itself


def _field_names(group: ReadGroup) -> list[str]:
    """The names that ``_parse`` gives: the fields, the added last one, and the line if it is odd."""
    return [*(f"c{i}" for i in range(len(group.file_columns))), "z", "bad"]


def _count(text: str, part: str) -> str:
    gone = f"octet_length({text}) - octet_length(replace({text}, {literal(part)}, ''))"
    return f"(({gone}) div {len(part.encode())})"


def _fault(group: ReadGroup, csv: CsvOptions) -> str:
    branches = [
        *damages(csv),
        ("bad IS NOT NULL OR z IS NULL", _misfit(group, csv)),
        *_misquoted(group, csv),
        *_repeated_header(group, csv),
    ]
    return case(branches)


def damages(csv: CsvOptions) -> list[tuple[str, str]]:
    """Returns branches: whether a record's bytes are not a text of the encoding, and the reason."""
    return [
        (undecoded(csv), literal(f"not valid {csv.encoding}")),
        (f"contains({VALUE}, '\\u0000')", literal("a NUL byte in the row")),
    ]


def _misfit(group: ReadGroup, csv: CsvOptions) -> str:
    """Why the number of fields is not the header's: a quote that stays open, or simply more or fewer."""
    expected = len(group.file_columns)
    has = f"the header has {expected}" if csv.header else f"{expected} are declared"
    unquoted = _without_quoted(csv)
    found = f"CAST({_count(unquoted, csv.delimiter)} + 1 AS STRING)"
    few = " (if other lines come before it, set `skip_lines`)" if csv.header and expected == 1 else ""
    counted = f"concat('row has ', {found}, {literal(' fields, ' + has + few)})"
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
    """Text after a closing quote: Spark then keeps the field unchanged, quotes and all, so it begins with a
    quote.

    A proper field may begin with one too, if its first character is an escaped quote. The parser, asked to
    skip values that are not quoted properly, skips only the first kind.
    """
    if not csv.quote:
        return []
    begins = any_of(f"startswith(c{i}, {literal(csv.quote)})" for i in range(len(group.file_columns)))
    strict = _parse(group, csv, ("unescapedQuoteHandling", "SKIP_VALUE"))
    as_it_is = ", ".join(f"'{field}', {field}" for field in _field_names(group))
    differs = f"NOT (named_struct({as_it_is}) <=> {strict})"
    return [(f"parsed AND ({begins}) AND {differs}", literal("text after a closing quote"))]


def _repeated_header(group: ReadGroup, csv: CsvOptions) -> list[tuple[str, str]]:
    """A header in the middle: files were concatenated. A row of one column may hold the column's name."""
    if not csv.header or len(group.file_columns) < 2:
        return []
    same = " AND ".join(
        f"coalesce(c{i}, '') = {literal(column)}" for i, column in enumerate(group.file_columns)
    )
    return [(same, literal("the header again"))]
