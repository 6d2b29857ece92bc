"""JSON lines: each line one object, compared with the declared columns by key.

Spark's reader takes the first of several values on a line, the last of a key given twice, a number as a
timestamp, ``12:30`` as today, and rounds decimals. So each line is wrapped as the one element of an array
(anything after it is then an error), and decimals, dates and times are read without loss and converted by the
rules for text. Accepted are a number or an object for a string column (its text), a string for a decimal,
date or timestamp, an integer for a floating-point number, ``7.0`` for an integer. A string for an integer, a
floating-point number or a boolean is refused. Unknown keys do not matter here: ``json_key_files`` and
``json_unknown_fields`` find them. Of keys that differ in case only (``ReadRequest.keys``) each line uses its
own; two equally good ones make it a bad line.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakesmith.project.definitions import KafkaSource, OnInexact
from lakesmith.project.spark_types import SqlType, parse_type
from lakesmith.quoting import literal, quoted
from lakesmith.sources.columns.fields import FieldPath, dotted
from lakesmith.sources.columns.reading import ReadGroup
from lakesmith.sources.formats.json_values import json_values
from lakesmith.sources.formats.text import is_wide
from lakesmith.spark.frames.sql_text import any_of, case, not_null, options
from lakesmith.spark.read.exact_nested import (
    UNUSUAL,
    anywhere,
    exact,
    inexact,
    lost,
    reading_type,
    unusual,
    wrong,
)
from lakesmith.spark.read.exact_text import TextFormats, exact_from_text, inexact_from_text, reason
from lakesmith.spark.read.formats.json_parse import (
    BAD,
    KEYS,
    STRICT,
    column_types,
    found_under,
    in_one,
    is_far,
    parse_line,
    place_of,
    reading_fields,
    rivals,
    string_fields,
    text_of_decimal,
    with_whole_numbers,
)
from lakesmith.spark.read.kafka import odd_value
from lakesmith.spark.read.records import (
    VALUE,
    RecordScan,
    owned_by,
    read_portions,
    scan_session,
    split_records,
    text_records,
    undecoded,
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

_FAULT = "_fault"
_FAR = "_far"
_UNKNOWN = "_unknown"
_ODD_WHOLE = f"_first.{BAD} IS NOT NULL AND _value RLIKE '[0-9][.]0'"
_NONE = "CAST(array() AS array<string>)"
_NUMBER = r"(-?[0-9][0-9.eE+-]*)"
_ESCAPE = r"\u"
_BLANK = " \t"
_GLUED = r"[}][,\s]*[{]"
_NO_LINE = "not one JSON object; objects over several lines, or several in one, need `multiline: true`"
_HALF = r"\\u[dD][89a-fA-F]"
_PAIR = r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
"""An escaped backslash, which may stand before a letter u, or one character of two escapes."""


def json_rows(spark: SparkSession, request: ReadRequest, unknown: str = _NONE) -> DataFrame | None:
    """Returns the rows as ``read_files`` gives them; None if there are no files.

    ``unknown``: SQL of an array of reasons for keys that no row may have.
    """
    typed = _typed(spark, request)
    if typed is None:
        return None
    return owned_by(spark, _checked(typed.selectExpr("*", f"{unknown} AS {_UNKNOWN}"), request))


def json_good_lines(spark: SparkSession, request: ReadRequest) -> DataFrame | None:
    """Returns the lines of valid rows, as ``json_lines``; None if there are no files."""
    typed = _typed(spark, request)
    if typed is None:
        return None
    good = typed.where(f"NOT coalesce({_bad(_all_odd(request), request)}, false)")
    return owned_by(spark, good.select(VALUE, *PROVENANCE))


def _typed(spark: SparkSession, request: ReadRequest) -> DataFrame | None:
    """Each line with its fault, and the columns as read (``s0``, ...) and as they are (``t0``, ...)."""
    lines = json_lines(spark, request)
    if lines is None:
        return None
    formats = TextFormats.of(request.source)
    numbers = f"({unusual(kind for _, kind in column_types(request))}) AS {UNUSUAL}"
    session = scan_session(spark)  # keys that differ only in case are different keys
    asks_keys = request.keys or request.absent or _path_columns(request)
    keys = f"{f'json_object_keys({VALUE})' if asks_keys else _NONE} AS {KEYS}"
    fields = reading_fields(request)
    far = owned_by(session, lines).selectExpr("*", f"{is_far(request)} AS {_FAR}", keys)
    first = far.selectExpr("*", f"{parse_line(fields, f'IF({_FAR}, NULL, {VALUE})')} AS _first")
    whole = first.selectExpr(
        "*", f"IF({_ODD_WHOLE}, {parse_line(fields, with_whole_numbers(VALUE))}, NULL) AS _whole"
    )
    parsed = whole.selectExpr("*", f"{_of_whole_numbers(request)} AS j")
    return parsed.selectExpr(
        VALUE, *PROVENANCE, "j", KEYS, f"{_fault(request)} AS {_FAULT}", numbers, *_read_columns(request)
    ).selectExpr(
        "*",
        *(f"{exact(f's{i}', kind, formats)} AS t{i}" for i, kind in column_types(request)),
        *(f"{_from_path(i, request)} AS p{i}" for i in _path_columns(request)),
    )


def _path_columns(request: ReadRequest) -> list[int]:
    """The columns that records may get from their paths."""
    some = {column for group in request.groups for column in group.path_columns}
    return [i for i, (column, _) in enumerate(request.columns) if column in some]


def _from_path(index: int, request: ReadRequest) -> str:
    column, type_ = request.columns[index]
    return exact_from_text(path_text(column), type_, TextFormats.of_paths(request.source))


def _has_no_key(index: int, request: ReadRequest) -> str:
    """SQL that is true if a record has no key for the column, so that its path counts, or a default."""
    keys = ", ".join(map(literal, request.spelt(request.columns[index][0])))
    return f"NOT arrays_overlap({KEYS}, array({keys}))"


def _misfit_in_path(index: int, request: ReadRequest) -> str:
    column = request.columns[index][0]
    return f"{_has_no_key(index, request)} AND p{index} IS NULL AND {path_text(column)} IS NOT NULL"


def _of_whole_numbers(request: ReadRequest) -> str:
    """SQL of what was read of a line. If integers are written as ``7.0``, texts must keep such numbers:
    then integers are read as decimals, once ``_whole`` has shown that each is a whole number."""
    exactly = f"{parse_line(reading_fields(request, wide=True))}.r"
    integers = f"try_cast({exactly} AS array<struct<{reading_fields(request)}>>)"
    read = f"named_struct('r', {integers}, '{BAD}', CAST(NULL AS string))"
    return f"IF(_whole IS NULL, _first, IF(_whole.{BAD} IS NULL, {read}, _whole))"


def json_key_files(spark: SparkSession, request: ReadRequest) -> dict[str, str]:
    """Returns the top-level keys, each with one of the files that have it, in words: ``a.json``, or ``a.json
    and others``.

    Reads every line, but only its keys.
    """
    lines = json_lines(spark, request)
    if lines is None:
        return {}
    keys = lines.selectExpr(SOURCE_FILE, f"explode(json_object_keys({VALUE})) AS key").groupBy("key")
    return {row.key: row.file for row in keys.agg(one_file()).collect()}


def json_keys_together(
    spark: SparkSession, request: ReadRequest, rivals: Sequence[Sequence[str]]
) -> dict[tuple[str, ...], str]:
    """Returns the sets of keys ``rivals`` that are in one line, each with a file that has it."""
    lines = json_lines(spark, request) if rivals else None
    if lines is None:
        return {}
    families = ", ".join(f"array({', '.join(map(literal, family))})" for family in rivals)
    there = f"transform(array({families}), family -> array_intersect(json_object_keys({VALUE}), family))"
    several = f"explode(filter({there}, keys -> size(keys) > 1)) AS keys"
    found = lines.selectExpr(SOURCE_FILE, several).groupBy(F.sort_array("keys").alias("keys"))
    return {tuple(row.keys): row.file for row in found.agg(one_file()).collect()}


def one_file() -> Column:
    """Returns a group's ``file`` in words: one of the files of its rows, and whether there are others."""
    first, last = F.min(SOURCE_FILE), F.max(SOURCE_FILE)
    return F.concat(first, F.when(first == last, "").otherwise(" and others")).alias("file")


def json_sample(spark: SparkSession, request: ReadRequest, rows: int) -> DataFrame | None:
    """Returns the first ``rows`` lines, as ``_value``; None if there are no files."""
    lines = json_lines(spark, request)
    return lines.select(VALUE).limit(rows) if lines is not None else None


def json_lines(spark: SparkSession, request: ReadRequest) -> DataFrame | None:
    """Returns every line, or value of a stream, as ``_value`` and the provenance; or None."""
    return read_portions(spark, request, _lines)


def _lines(scan: RecordScan, group: ReadGroup) -> DataFrame:
    if group.layout.is_stream or is_wide(scan.request.source.csv):
        return split_records(scan, group, json_values)
    return text_records(scan, group, 0)


def _read_columns(request: ReadRequest) -> list[str]:
    found = []
    for i, (column, type_) in enumerate(request.columns):
        read = found_under(request, column, "get(j.r, 0)")
        found.append(f"{in_one(read, reading_type(parse_type(type_)), request, (column,))} AS s{i}")
    return found


def _not_one(request: ReadRequest) -> str:
    """Why a record is not an object; for a part of one, or several, also what would read it."""
    plain, text = literal("not one JSON object"), f"trim(BOTH {literal(_BLANK)} FROM {VALUE})"
    if isinstance(request.source, KafkaSource):
        return odd_value(request.source, plain)
    if any(group.layout.is_stream for group in request.groups) or not request.source.has_foreign_files:
        return plain
    is_part = f"startswith({text}, {literal('{')}) <> endswith({text}, {literal('}')})"
    return f"IF({is_part} OR {text} RLIKE {literal(_GLUED)}, {literal(_NO_LINE)}, {plain})"


def _fault(request: ReadRequest) -> str:
    csv = request.source.csv
    return case(
        [
            (undecoded(csv), literal(f"not valid {csv.encoding}")),
            (_FAR, literal("a number out of all range")),
            (
                f"{VALUE} = '['",
                literal("an array that is not closed: the file was cut off, and what came after is missing"),
            ),
            ("j.r IS NULL OR size(j.r) <> 1 OR get(j.r, 0) IS NULL", _not_one(request)),
            (_half_pair(), literal("half of a surrogate pair, such as \\ud83d alone: no text has it")),
            (f"try_parse_json({VALUE}) IS NULL", literal("a key is given twice in one object")),
            *rivals(request),
        ]
    )


def _half_pair() -> str:
    """SQL that is true when an escape stands for half a character: Spark makes a question mark of it."""
    whole = f"regexp_replace({VALUE}, {literal(_PAIR)}, ' ')"
    return f"contains({VALUE}, {literal(_ESCAPE)}) AND {whole} RLIKE {literal(_HALF)}"


def _checked(typed: DataFrame, request: ReadRequest) -> DataFrame:
    odd = _all_odd(request)
    marked = typed.selectExpr("*", f"({_bad(odd, request)} OR size({_UNKNOWN}) > 0) AS _bad")
    of_paths = _path_columns(request)
    values = []
    for i, (column, type_) in enumerate(request.columns):
        instead = f"p{i}" if i in of_paths else request.without(column, type_)
        is_asked = i in of_paths or column in request.absent
        values.append(f"IF({_has_no_key(i, request)}, {instead}, t{i})" if is_asked else f"t{i}")
    columns = [
        f"{value} AS {quoted(column)}" for value, (column, _) in zip(values, request.columns, strict=True)
    ]
    inexact_ones = ((column, _inexact(i, request)) for i, (column, _) in enumerate(request.columns))
    return marked.selectExpr(
        *columns,
        *PROVENANCE,
        f"IF(_bad, make_valid_utf8({VALUE}), NULL) AS {RAW}",
        f"IF(_bad, {_reasons(request, odd)}, {_NONE}) AS {REASONS}",
        f"{rounded_columns(request, inexact_ones)} AS {ROUNDED}",
    )


def _bad(odd: dict[int, str | None], request: ReadRequest) -> str:
    in_path = (f"coalesce({_misfit_in_path(i, request)}, false)" for i in _path_columns(request))
    doubts = (
        f"{_FAULT} IS NOT NULL",
        f"j.{BAD} IS NOT NULL",
        *(doubt for doubt in odd.values() if doubt),
        *in_path,
    )
    return f"({any_of(doubts)})"


def _all_odd(request: ReadRequest) -> dict[int, str | None]:
    return {i: _odd(i, request) for i, _ in column_types(request)}


def _reasons(request: ReadRequest, odd: dict[int, str | None]) -> str:
    """The reasons of a bad row; ``f`` is the row parsed again, with every value as text."""
    each = (_column_reasons(i, request, odd[i]) for i in odd)
    texts = ", ".join(
        f"{found_under(request, column, 'row')} AS {_one(i)}" for i, (column, _) in enumerate(request.columns)
    )
    row = f"transform(array(get({parse_line(string_fields(request))}.r, 0)), row -> struct({texts}))"
    found = f"transform({row}, f -> concat({', '.join((_UNKNOWN, *each))}))[0]"
    if of_paths := _path_columns(request):
        found = f"concat({found}, {not_null(_path_reason(i, request) for i in of_paths)})"
    some = f"IF(size({found}) > 0, {found}, array('does not parse'))"
    return f"IF({_FAULT} IS NOT NULL, array({_FAULT}), {some})"


def _path_reason(index: int, request: ReadRequest) -> str:
    column, type_ = request.columns[index]
    text = path_text(column)
    inexact_one = inexact_from_text(text, type_, TextFormats.of_paths(request.source))
    return case([(_misfit_in_path(index, request), reason(column, type_, text, inexact_one))])


def _column_reasons(index: int, request: ReadRequest, odd: str | None) -> str:
    """What is wrong with one column: an array, mostly empty. Misfits inside it have own reasons."""
    column, type_ = request.columns[index]
    text = f"f.{_one(index)}"
    branches = [
        (f"{text} IS NULL", _NONE),
        (f"t{index} IS NULL OR {odd or 'false'}", f"array({_reason(index, request)})"),
    ]
    kind = parse_type(type_)
    if kind.outer == "struct":
        branches.append((f"j.{BAD} IS NOT NULL", _unparsed(text, kind, (column,), request)))
    elif kind.outer:
        branches.append((_unread(text, kind), f"array({_reason(index, request)})"))
    return case(branches, _NONE)


def _unparsed(text: str, struct: SqlType, path: FieldPath, request: ReadRequest) -> str:
    """The reasons of the fields in a struct, of which ``text`` is the JSON, that do not parse: an array."""
    each = (_unparsed_field(text, field, kind, (*path, field), request) for field, kind in struct.parts)
    return f"concat({', '.join((_NONE, *each))})"


def _unparsed_field(text: str, field: str, kind: SqlType, path: FieldPath, request: ReadRequest) -> str:
    keys, own = request.spelt(*path), reading_type(kind)
    fields = (f"from_json({text}, {literal(f'{quoted(key)} string')}).{quoted(key)}" for key in keys)
    found = f"coalesce({', '.join(fields)})"
    bad = f"array({reason(dotted(path), kind.text, found)})"
    if kind.outer == "struct":
        branches = [(f"{found} IS NULL", _NONE), (f"NOT startswith({found}, '{{')", bad)]
        return case(branches, _unparsed(found, kind, path, request))
    schema = literal(", ".join((*(f"{quoted(key)} {own.text}" for key in keys), f"{BAD} string")))
    return case(
        [(f"from_json({with_whole_numbers(text)}, {schema}, {options(STRICT)}).{BAD} IS NOT NULL", bad)],
        _NONE,
    )


def _unread(text: str, kind: SqlType) -> str:
    schema = literal(f"v {reading_type(kind).text}, {BAD} string")
    return (
        f"from_json(concat('{{\"v\":', {with_whole_numbers(text)}, '}}'), {schema},"
        f" {options(STRICT)}).{BAD} IS NOT NULL"
    )


def _one(index: int) -> str:
    return f"x{index}"


def _reason(index: int, request: ReadRequest) -> str:
    column, type_ = request.columns[index]
    digits = "true" if type_ == "string" else _inexact(index, request)
    return reason(column, type_, _written(index, request), digits)


def _written(index: int, request: ReadRequest) -> str:
    """A value's text as the record has it: a number becomes a double and then a string."""
    numbers = f"regexp_extract_all({VALUE}, {literal(place_of(index, request).before + _NUMBER)}, 1)"
    text = f"f.{_one(index)}"
    same = (
        f"try_cast(n AS double) <=> try_cast(replace({text}, '\"', '') AS double) AND NOT {_in_quotes(text)}"
    )
    return f"coalesce(get(filter({numbers}, n -> {same}), 0), {text})"


def _inexact(index: int, request: ReadRequest) -> str | None:
    """SQL that is true if a column was read except for digits that its type does not hold."""
    kind = parse_type(request.columns[index][1])
    return anywhere(inexact, f"s{index}", f"t{index}", kind, place_of(index, request))


def _odd(index: int, request: ReadRequest) -> str | None:
    """SQL that is true if a column was read, but not as its source wants it."""
    column, type_ = request.columns[index]
    read, value, kind = f"s{index}", f"t{index}", parse_type(type_)
    doubts = [anywhere(test, read, value, kind, place_of(index, request)) for test in (wrong, lost)]
    if request.source.on_inexact is not OnInexact.ROUND:
        doubts.append(_inexact(index, request))
    # Spark drops commas from a decimal in a string: "1,50" would be 150.
    doubts.append(text_of_decimal(column, request, ","))
    some = [doubt for doubt in doubts if doubt]
    return any_of(some) if some else None


def _in_quotes(text: str) -> str:
    return f"instr({VALUE}, concat('\"', {text}, '\"')) > 0"
