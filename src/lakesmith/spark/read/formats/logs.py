"""Logs: lines split into the fields that the header or the grammar names, decoded, with one time.

``-`` is NULL. A text that does not decode to UTF-8 stays as it is in the log.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from lakesmith.project.formats import FileFormat
from lakesmith.project.spark_types import parse_type
from lakesmith.quoting import literal
from lakesmith.sources.columns.reading import ReadGroup
from lakesmith.sources.formats.log_lines import Encoding, LogField, grammar_of
from lakesmith.sources.formats.logs import (
    DATE_FIELDS,
    EPOCH_FIELDS,
    EVENT_TIME,
    ISO_TIME,
    LOCAL_TIME,
    LOG_LINE,
    REQUEST,
    REQUEST_PARTS,
    column_of,
    log_fields,
)
from lakesmith.spark.frames.sql_text import case, in_regex
from lakesmith.spark.read.formats.csv import damages, refuse_nested, rows_of_texts
from lakesmith.spark.read.formats.log_split import split_lines
from lakesmith.spark.read.records import VALUE, RecordScan, read_portions, text_records
from lakesmith.spark.read.request import PROVENANCE, SOURCE_FILE, ReadRequest, path_text

_MILLIS_FROM = 100_000_000_000
"""From this number on, a time counts milliseconds, below it seconds."""
_MONTHS = "'---JanFebMarAprMayJunJulAugSepOctNovDec'"
_NUMBERS = "'00-01-02-03-04-05-06-07-08-09-10-11-12'"
_USUAL_LOCAL = "^[0-3][0-9]/[A-Z][a-z]{{2}}/{}[0-9]{{3}}:[0-9:]{{8}} [+-][0-9]{{4}}$"
_OF_S3_ITSELF = ("BATCH.DELETE.OBJECT", "S3.EXPIRE.OBJECT")
"""Operations whose keys are encoded once."""
_HEX = r"\\x([0-9A-Fa-f]{2})"
_AFTER_METHOD = (
    "IF(contains(substr(line, instr(line, ' ') + 1), ' HTTP/'), substr(line, instr(line, ' ') + 1), NULL)"
)
"""SQL of a request line without its method; NULL if the line is no request of HTTP."""
_REQUEST_PARTS = dict(
    zip(
        REQUEST_PARTS,
        (
            "IF(rest IS NULL, NULL, substring_index(line, ' ', 1))",
            "substr(rest, 1, length(rest) - length(substring_index(rest, ' ', -1)) - 1)",
            "substring_index(rest, ' ', -1)",
        ),
        strict=True,
    )
)
"""SQL of the method, the address and the protocol."""


def log_rows(spark: SparkSession, request: ReadRequest) -> DataFrame | None:
    """Returns the rows as ``read_files``, or None. Raises SourceError LS451 for a nested type."""
    refuse_nested(request)
    return read_portions(spark, request, _group_rows)


def _group_rows(scan: RecordScan, group: ReadGroup) -> DataFrame:
    """Fields, decoded fields and texts are projections of their own, lest Spark repeats them."""
    request, fields = scan.request, log_fields(scan.request.source, group.layout.fields)
    records = scan.gathered(text_records(scan, group, 0, request.source.csv.comment), group)
    texts = _texts(request, group, fields)
    made = {i: f"x{i}" for i, text in enumerate(texts) if text and SOURCE_FILE not in text}
    columns = (f"{texts[i]} AS {x}" for i, x in made.items())
    parsed = _decoded_fields(_split(records, request, len(fields)), fields).selectExpr(
        VALUE, *PROVENANCE, "whole", "at", *columns
    )
    found = [made.get(i, text) for i, text in enumerate(texts)]
    times = {
        i: "at"
        for i, (column, type_) in enumerate(request.columns)
        if type_ == "timestamp" and _is_time(group, column)
    }
    return rows_of_texts(parsed, found, _fault(request, len(fields)), request, times)


def _decoded_fields(split: DataFrame, fields: tuple[LogField, ...]) -> DataFrame:
    """The fields (``f0``, …), what is tried in decoding them (``e0``, …) and the usual time (``at``)."""
    names = [field.name for field in fields]
    each = split.selectExpr(
        VALUE, *PROVENANCE, "whole", *(f"{_field(i, it)} AS f{i}" for i, it in enumerate(fields))
    )
    encoded = {i: field for i, field in enumerate(fields) if field.encoding is not Encoding.NONE}
    tried = each.selectExpr("*", *(f"{_tried(i, it, names)} AS e{i}" for i, it in encoded.items()))
    if REQUEST in names:
        index = names.index(REQUEST)
        tried = tried.selectExpr("*", f"{_decoded(index, fields[index])} AS line")
        tried = tried.selectExpr("*", f"{_AFTER_METHOD} AS rest")
    return tried.selectExpr("*", f"{_known_time(names)} AS at")


def _is_time(group: ReadGroup, column: str) -> bool:
    index = group.index(column)
    return index is not None and group.file_columns[index] == EVENT_TIME


def _split(records: DataFrame, request: ReadRequest, count: int) -> DataFrame:
    """The records with their fields, ``g0``, ``g1``, …, and whether each has all of them (``whole``)."""
    source = request.source
    if source.format is not FileFormat.CLOUDFRONT:
        return split_lines(records, grammar_of(source))
    split = records.selectExpr("*", f"split({VALUE}, {literal(in_regex(source.csv.delimiter))}) AS q")
    fields = (f"get(q, {i}) AS g{i}" for i in range(count))
    return split.selectExpr(VALUE, *PROVENANCE, f"size(q) = {count} AS whole", *fields)


def _field(index: int, field: LogField) -> str:
    texts = ("-", "", *field.null)
    nothing, longest = ", ".join(map(literal, texts)), max(len(text.encode()) for text in texts)
    # Most are longer: that is one look instead of several.
    return f"IF(octet_length(g{index}) <= {longest} AND g{index} IN ({nothing}), NULL, g{index})"


def _texts(request: ReadRequest, group: ReadGroup, fields: tuple[LogField, ...]) -> list[str | None]:
    """SQL of each declared column's text, of the log or the file's path; None if neither has it."""
    found: list[str | None] = []
    for column, type_ in request.columns:
        index = group.index(column)
        if index is None:
            found.append(path_text(column) if column in group.path_columns else None)
        else:
            found.append(_text(group.file_columns[index], fields, type_))
    return found


def _text(column: str, fields: tuple[LogField, ...], type_: str) -> str:
    names = [field.name for field in fields]
    if column == LOG_LINE:
        return VALUE
    if column == EVENT_TIME:
        text = _event_time(names)
        return f"IF(at IS NULL, {text}, NULL)" if type_ == "timestamp" else text
    index = next((i for i, name in enumerate(names) if column_of(name) == column), None)
    if index is None:
        return _REQUEST_PARTS[column]
    if column == REQUEST:
        return "line" if parse_type(type_).text == "string" else f"f{index}"
    return _decoded(index, fields[index]) if parse_type(type_).text == "string" else f"f{index}"


def _event_time(names: list[str]) -> str:
    """SQL of a record's time as a text in ISO 8601, by the most exact of its fields."""
    found = [_of_epoch(f"f{names.index(name)}") for name in EPOCH_FIELDS if name in names]
    if ISO_TIME in names:
        found.append(f"f{names.index(ISO_TIME)}")
    if LOCAL_TIME in names:
        found.append(_of_local(f"f{names.index(LOCAL_TIME)}"))
    if set(DATE_FIELDS) <= set(names):
        date, time = (f"f{names.index(name)}" for name in DATE_FIELDS)
        found.append(f"concat({date}, 'T', {time}, 'Z')")
    return f"coalesce({', '.join(found)})"


def _known_time(names: list[str]) -> str:
    """SQL of a record's time if its text is as services write it; NULL if the text has to be looked at."""
    usual, text = "false", "NULL"
    if not set(EPOCH_FIELDS) & set(names):
        if ISO_TIME in names:
            text = f"f{names.index(ISO_TIME)}"
            usual = f"octet_length({text}) = 27 AND instr({text}, '.') = 20 AND endswith({text}, 'Z')"
            usual += f" AND {_is_year(text)} AND substr({text}, 26, 1) BETWEEN '0' AND '9'"
        elif LOCAL_TIME in names:
            local = f"f{names.index(LOCAL_TIME)}"
            usual, text = f"{local} RLIKE {literal(_USUAL_LOCAL.format('[12]'))}", _iso(local, "Z")
        elif set(DATE_FIELDS) <= set(names):
            date, time = (f"f{names.index(name)}" for name in DATE_FIELDS)
            text = f"concat({date}, 'T', {time}, 'Z')"
            usual = f"octet_length({date}) = 10 AND octet_length({time}) = 8 AND {_is_year(date)}"
            usual += f" AND right({time}, 1) BETWEEN '0' AND '9'"
    return f"IF({usual}, try_cast({text} AS timestamp), NULL)"


def _is_year(text: str) -> str:
    """SQL that is true if a text may begin with a year of four digits."""
    return f"(startswith({text}, '2') OR startswith({text}, '1')) AND instr({text}, '-') = 5"


def _of_epoch(text: str) -> str:
    """SQL of a number's time in ISO 8601; a text that is not a number, or a negative one, stays."""
    number = f"nullif(greatest(try_cast({text} AS decimal(20,6)), -1), -1)"
    micros = f"CAST({number} * IF({number} < {_MILLIS_FROM}, 1000000, 1000) AS bigint)"
    iso = f"date_format(timestamp_micros({micros}), \"yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX\")"
    return f"coalesce({iso}, {text})"


def _of_local(text: str) -> str:
    """SQL of ``10/Oct/2000:13:55:36 -0700`` in ISO 8601; another text stays."""
    return f"IF({text} RLIKE {literal(_USUAL_LOCAL.format('[0-9]'))}, {_iso(text)}, {text})"


def _iso(text: str, utc: str = "+00:00") -> str:
    """SQL of a usual local time in ISO 8601. In bytes: Spark counts a text's characters for each part."""

    def part(begin: int, length: int) -> str:
        return f"CAST(substr(CAST({text} AS BINARY), {begin}, {length}) AS STRING)"

    month = f"substr({_NUMBERS}, instr({_MONTHS}, {part(4, 3)}), 2)"
    zone = f"IF(endswith({text}, '+0000'), '{utc}', concat({part(22, 3)}, ':', {part(25, 2)}))"
    return f"concat({part(8, 4)}, '-', {month}, '-', {part(1, 2)}, 'T', {part(13, 8)}, {zone})"


def _tried(index: int, field: LogField, names: list[str]) -> str:
    """SQL of a field, decoded; NULL if nothing is encoded, or an escape is not two hexadecimal digits."""
    text, escape = f"f{index}", "%"
    decoded = _url_decoded(text)
    match field.encoding:
        case Encoding.BACKSLASH:
            escape, decoded = "\\\\", _url_decoded(_as_percent(text))
        case Encoding.MAYBE_TWICE:
            encoded = f"{text} RLIKE '%(?!25[0-9A-Fa-f]{{2}})'"
            decoded = _url_decoded(
                f"IF(contains({text}, '%25') AND NOT {encoded}, replace({text}, '%25', '%'), {text})"
            )
        case Encoding.KEY:
            operation = f"f{names.index('operation')} IN ({', '.join(map(literal, _OF_S3_ITSELF))})"
            decoded = f"IF({operation}, {decoded}, {_url_decoded(decoded)})"
    return f"IF(contains({text}, '{escape}'), {decoded}, NULL)"


def _as_percent(text: str) -> str:
    r"""SQL of a text with ``%XX`` in place of ``\xXX`` and other escapes."""
    plain = f"replace({text}, '%', '%25')"
    for escape, code in (("\\\\", "5C"), ('\\"', "22"), ("\\n", "0A"), ("\\t", "09"), ("\\r", "0D")):
        plain = f"replace({plain}, {literal(escape)}, '%{code}')"
    return f"regexp_replace({plain}, {literal(_HEX)}, '%$1')"


def _decoded(index: int, field: LogField) -> str:
    """SQL of a field, decoded as far as that gives a text."""
    text, tried = f"f{index}", f"e{index}"
    if field.encoding is Encoding.NONE:
        return text
    # Java puts U+FFFD where bytes are no text.
    mark = "'\\uFFFD'"
    itself = f"contains({text}, {mark}) OR contains(upper({text}), '%EF%BF%BD')"
    less = text
    if field.encoding is Encoding.MAYBE_TWICE:
        less = f"IF(contains({text}, '%'), coalesce({_url_decoded(text)}, {text}), {text})"
    is_text = f"{tried} IS NOT NULL AND (NOT contains({tried}, {mark}) OR {itself})"
    return f"IF({is_text}, {tried}, {less})"


def _url_decoded(text: str) -> str:
    # url_decode makes a blank of '+'.
    return f"try_url_decode(replace({text}, '+', '%2B'))"


def _fault(request: ReadRequest, count: int) -> str:
    why = literal(f"not a line of {request.source.format}")
    if request.source.format is FileFormat.CLOUDFRONT:
        found = f"size(split({VALUE}, {literal(in_regex(request.source.csv.delimiter))}))"
        why = f"concat('row has ', CAST({found} AS STRING), {literal(f' fields, the header has {count}')})"
    return case([*damages(request.source.csv), ("NOT whole", why)])
