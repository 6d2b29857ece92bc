"""JSON lines: each line one object, held against the declared columns by key.

Spark's reader takes the first of several values on a line, the last of a key given twice, a number as a timestamp, ``12:30``
as today, and rounds decimals; each line is therefore wrapped as the one element of an array (anything after it is then an
error), and decimals, dates and times are read so that nothing is lost and made into their types by the rules for text.
What is accepted: a number or an object for a string column (its text), a string for a decimal, date or timestamp, an
integer for a floating-point number. A string for an integer, a floating-point number or a boolean is refused.
Unknown keys are no matter here, at whatever depth: ``json_columns`` and ``json_unknown_fields`` find them.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakesmith.spark.read_nested import exact, exact_or_null, reading_type
from lakesmith.spark.read_request import PROVENANCE, RAW, REASONS, SOURCE_FILE, ReadGroup, ReadRequest
from lakesmith.spark.read_scan import VALUE, Scan, owned_by, read_portions, scan_session, text_records
from lakesmith.spark.read_sql import any_of, case, literal, name, options
from lakesmith.spark.read_types import plain, precision_and_scale, reason

_FAULT = "_fault"
_STRICT = (
    ("mode", "PERMISSIVE"),
    ("columnNameOfCorruptRecord", "bad"),
    ("allowSingleQuotes", "false"),
    ("allowNonNumericNumbers", "false"),
)
_LONG_FLOAT = r"^-?\\d+([.]\\d+)?([eE][+-]?\\d+)?$"


def json_rows(spark: SparkSession, request: ReadRequest) -> DataFrame | None:
    """The rows as ``read_files`` gives them; None when there are no files."""
    lines = json_lines(spark, request)
    if lines is None:
        return None
    session = scan_session(spark)  # keys that differ only in case are different keys
    parsed = owned_by(session, lines).selectExpr("*", f"{_parse(_reading_fields(request))} AS j")
    typed = parsed.selectExpr(
        VALUE, *PROVENANCE, "j", f"{_fault()} AS {_FAULT}", *_read_columns(request)
    ).selectExpr("*", *(f"{exact(f's{i}', type_)} AS t{i}" for i, type_ in _types(request)))
    return owned_by(spark, _judged(typed, request))


def json_columns(spark: SparkSession, request: ReadRequest) -> tuple[str, ...]:
    """The top-level keys found in the files, sorted. Reads every line, but no further than to the keys."""
    lines = json_lines(spark, request)
    if lines is None:
        return ()
    keys = lines.selectExpr(f"explode(json_object_keys({VALUE})) AS key").distinct()
    return tuple(sorted(row.key for row in keys.collect()))


def json_key_files(spark: SparkSession, request: ReadRequest) -> dict[str, str]:
    """The top-level keys, each with one of the files that have it, in words: ``a.json``, or ``a.json and others``."""
    lines = json_lines(spark, request)
    if lines is None:
        return {}
    keys = lines.selectExpr(SOURCE_FILE, f"explode(json_object_keys({VALUE})) AS key").groupBy("key")
    return {row.key: row.file for row in keys.agg(one_file()).collect()}


def one_file() -> Column:
    """Of a group of rows, one of the files that they are from, and whether there are others, in words: ``file``."""
    first, last = F.min(SOURCE_FILE), F.max(SOURCE_FILE)
    return F.concat(first, F.when(first == last, "").otherwise(" and others")).alias("file")


def json_sample(spark: SparkSession, request: ReadRequest, rows: int) -> DataFrame | None:
    """The first ``rows`` lines, as ``_value``; None when there are no files."""
    lines = json_lines(spark, request)
    return lines.select(VALUE).limit(rows) if lines is not None else None


def json_lines(spark: SparkSession, request: ReadRequest) -> DataFrame | None:
    """Every line, as ``_value`` and the provenance; None when there are no files."""
    return read_portions(spark, request, _lines)


def _lines(scan: Scan, group: ReadGroup) -> DataFrame:
    return text_records(scan, group, drop_header=False)


def spellings(request: ReadRequest, column: str) -> list[str]:
    """The keys under which a declared column is found: its name, and what the groups matched with it."""
    matched = {
        file_name for group in request.groups for declared, file_name in group.matches if declared == column
    }
    return [column, *sorted(matched - {column})]


def _types(request: ReadRequest) -> list[tuple[int, str]]:
    return [(i, plain(type_)) for i, (_, type_) in enumerate(request.columns)]


def _reading_fields(request: ReadRequest) -> str:
    return ", ".join(
        f"{name(key)}: {reading_type(type_)}"
        for column, type_ in request.columns
        for key in spellings(request, column)
    )


def _string_fields(request: ReadRequest) -> str:
    keys = (key for column, _ in request.columns for key in spellings(request, column))
    return ", ".join(f"{name(key)}: string" for key in keys)


def _parse(fields: str) -> str:
    wrapped = f"concat('{{\"r\":[', {VALUE}, ']}}')"
    schema = f"r array<struct<{fields}>>, bad string"
    return f"from_json({wrapped}, {literal(schema)}, {options(_STRICT)})"


def _found(request: ReadRequest, column: str, row: str) -> str:
    fields = [f"{row}.{name(key)}" for key in spellings(request, column)]
    return fields[0] if len(fields) == 1 else f"coalesce({', '.join(fields)})"


def _read_columns(request: ReadRequest) -> list[str]:
    return [f"{_found(request, column, 'j.r[0]')} AS s{i}" for i, (column, _) in enumerate(request.columns)]


def _fault() -> str:
    return case(
        [
            (f"NOT is_valid_utf8({VALUE})", literal("not valid UTF-8")),
            ("j.r IS NULL OR size(j.r) <> 1 OR j.r[0] IS NULL", literal("not one JSON object")),
            (f"try_parse_json({VALUE}) IS NULL", literal("a key is given twice in one object")),
        ]
    )


def _judged(typed: DataFrame, request: ReadRequest) -> DataFrame:
    odd = {i: _odd(i, request) for i, _ in _types(request)}
    doubts = (f"{_FAULT} IS NOT NULL", "j.bad IS NOT NULL", *(doubt for doubt in odd.values() if doubt))
    marked = typed.selectExpr("*", f"({any_of(doubts)}) AS _bad")
    columns = [f"t{i} AS {name(column)}" for i, (column, _) in enumerate(request.columns)]
    none = "CAST(array() AS array<string>)"
    raw = f"IF(_bad, make_valid_utf8({VALUE}), NULL) AS {RAW}"
    return marked.selectExpr(
        *columns, *PROVENANCE, raw, f"IF(_bad, {_reasons(request, odd)}, {none}) AS {REASONS}"
    )


def _reasons(request: ReadRequest, odd: dict[int, str | None]) -> str:
    """The reasons of a bad row; ``f`` is the row parsed once more, with every value as text."""
    each = [
        case([(f"f.{_one(i)} IS NOT NULL AND (t{i} IS NULL OR {odd[i] or 'false'})", _reason(i, request))])
        for i in odd
    ]
    texts = ", ".join(
        f"{_found(request, column, 'row')} AS {_one(i)}" for i, (column, _) in enumerate(request.columns)
    )
    row = f"transform(array({_parse(_string_fields(request))}.r[0]), row -> struct({texts}))"
    found = f"transform({row}, f -> filter(array({', '.join(each)}), reason -> reason IS NOT NULL))[0]"
    some = f"IF(size({found}) > 0, {found}, array('does not parse'))"
    return f"IF({_FAULT} IS NOT NULL, array({_FAULT}), {some})"


def _one(index: int) -> str:
    return f"x{index}"


def _reason(index: int, request: ReadRequest) -> str:
    column, type_ = request.columns[index]
    return reason(column, plain(type_), f"f.{_one(index)}")


def _odd(index: int, request: ReadRequest) -> str | None:
    """SQL that is true when a column was read, but not exactly."""
    column, type_ = request.columns[index]
    read, value, kind = f"s{index}", f"t{index}", plain(type_)
    if kind == "string":
        return _lost_digits(read)
    doubt = exact_or_null(read, value, kind)
    if precision_and_scale(kind):
        commas = [_with_comma(key) for key in spellings(request, column)]
        return any_of((doubt or "false", *commas))
    return doubt


def _lost_digits(text: str) -> str:
    """A number with a point or exponent goes through a double on its way to a string: 17 digits are left of it."""
    quoted = f"instr({VALUE}, concat('\"', {text}, '\"')) > 0"
    number = f"octet_length({text}) > 15 AND {text} RLIKE '{_LONG_FLOAT}' AND {text} RLIKE '[.eE]'"
    return f"({text} = '\"Infinity\"' OR {text} = '\"-Infinity\"' OR ({number})) AND NOT ({quoted})"


def _with_comma(key: str) -> str:
    """Spark drops commas from a decimal in a string: ``"1,50"`` would be 150."""
    pattern = literal('"' + _in_regex(key) + r'"\s*:\s*"[^"]*,')
    looks = f"instr({VALUE}, ',') > 0 AND {VALUE} RLIKE {pattern}"
    text = f"{_parse(f'{name(key)}: string')}.r[0].{name(key)}"
    return f"{looks} AND instr({text}, ',') > 0"


def _in_regex(text: str) -> str:
    return "".join(character if character.isalnum() else "\\" + character for character in text)
