"""The columns of a source that declares none, from a look at its first rows.

A column gets a type only when every text of the sample is exactly that; what is unclear is a string. Stricter than Spark's
inference on purpose: ``007`` or ``+49`` stay text, because as numbers they could not be had back, and so do numbers of more
digits than a double gives back. Whole numbers of JSON that no bigint holds are as wide as a decimal can be.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    NullType,
    StringType,
    StructField,
    StructType,
    _parse_datatype_json_string,
)

from lakesmith.plan.grown_types import common_type, table_type
from lakesmith.project.definitions import Column, FileFormat, FileSource
from lakesmith.quoting import literal, quoted
from lakesmith.sources.fields import SqlType
from lakesmith.spark.frames.sql_types import sql_type
from lakesmith.spark.read.csv import csv_texts, formats
from lakesmith.spark.read.exact_text import MAX_PRECISION, TextFormats, exact_from_text
from lakesmith.spark.read.json_lines import json_sample
from lakesmith.spark.read.records import VALUE
from lakesmith.spark.read.request import ReadGroup, ReadRequest

SAMPLE_ROWS = 10_000
SAMPLE_FILES = 20
_MOST_DIGITS = 17  # what programs write of a double, so that it can be had back
_LOOKS = {
    "boolean": r"(?i)^(true|false)$",
    "bigint": r"^-?(0|[1-9]\\d*)$",
    "double": r"^-?(0|[1-9]\\d*)([.]\\d+)?([eE][+-]?\\d+)?$",
    "date": r"^\\d{4}-\\d{2}-\\d{2}$",
    "timestamp": r"^\\d{4}-\\d{2}-\\d{2}[ T]\\d{2}:\\d{2}.*$",
}
_FIRST_TO_LAST = ("boolean", "bigint", "double", "date", "timestamp")


def infer_columns(
    spark: SparkSession,
    source: FileSource,
    groups: tuple[ReadGroup, ...],
    root: Path,
    lines: DataFrame | None = None,
) -> tuple[Column, ...]:
    """The columns of the files in ``groups``, in the order they are first met; none when there are no files.

    ``lines``: those of JSON files that count, where not all do.

    CSV: by the first rows of the first files. JSON: by Spark's inference over such rows; strings that all are dates or
    timestamps become that. Parquet and Avro: by the groups' ``file_types``, the wider where they differ.
    """
    if source.format in (FileFormat.PARQUET, FileFormat.AVRO):
        return _columns({column: table_type(kind) for column, kind in _common_types(groups).items()})
    few = tuple(replace(group, files=group.files[:SAMPLE_FILES]) for group in groups[:SAMPLE_FILES])
    if source.format is FileFormat.JSON:
        return _json_columns(
            spark, ReadRequest(source, root, few[:1] if lines is not None else few, (), lines)
        )
    names = list(_common_types(few))
    request = ReadRequest(source, root, few, tuple((column, "string") for column in names))
    texts = csv_texts(spark, request)
    if texts is None:
        return _columns(dict.fromkeys(names, "string"))
    sample = texts.limit(SAMPLE_ROWS)
    found = _text_types(sample, [f"s{i}" for i in range(len(names))], formats(request))
    return _columns(dict(zip(names, found, strict=True)))


def _common_types(groups: Iterable[ReadGroup]) -> dict[str, str]:
    types: dict[str, str] = {}
    for group in groups:
        kinds = group.file_types or ("string",) * len(group.file_columns)
        for column, kind in zip(group.file_columns, kinds, strict=True):
            known = types.setdefault(column, kind)
            types[column] = known if known == kind else common_type(known, kind)
    return types


def _text_types(sample: DataFrame, texts: list[str], dates: TextFormats) -> list[str]:
    """The narrowest type that every text of a column is; in one pass over the sample.

    The texts of all columns are put below each other, so that the plan does not grow with the columns.
    """
    if not texts:
        return []
    below = sample.selectExpr(f"posexplode(array({', '.join(texts)})) AS (place, text)")
    checks = [f"coalesce(bool_and({_is('text', kind, dates)}), false) AS {kind}" for kind in _FIRST_TO_LAST]
    found = {row.place: row for row in below.groupBy("place").agg(*map(F.expr, checks)).collect()}
    fits = (found[i].asDict() if i in found else {} for i in range(len(texts)))
    return [next((kind for kind in _FIRST_TO_LAST if of.get(kind)), "string") for of in fits]


def _is(text: str, kind: str, dates: TextFormats) -> str:
    declared = (kind == "date" and dates.date) or (kind == "timestamp" and dates.timestamp)
    looks = "true" if declared else f"{text} RLIKE '{_LOOKS[kind]}'"
    if kind == "double":
        looks = f"{looks} AND (octet_length({text}) <= {_MOST_DIGITS} OR {_few_digits(text)})"
    fits = f"{looks} AND {exact_from_text(text, kind, dates)} IS NOT NULL"
    return f"IF({text} IS NULL, NULL, {fits})"


def _few_digits(text: str) -> str:
    digits = f"regexp_replace({text}, '[eE].*$|[-.]', '')"
    return f"octet_length(trim(LEADING '0' FROM {digits})) <= {_MOST_DIGITS}"


def _json_columns(spark: SparkSession, request: ReadRequest) -> tuple[Column, ...]:
    sample = json_sample(spark, request, SAMPLE_ROWS)
    if sample is None:
        return ()
    inferred = inferred_json(sample)
    types = {column: kind.text for column, kind in inferred.parts if column != "_corrupt_record"}
    texts = [column for column, kind in types.items() if kind == "string"]
    fields = ", ".join(f"{quoted(column)} string" for column in texts)
    if texts:
        parsed = sample.selectExpr(f"from_json({VALUE}, {literal(fields)}) AS r")
        found = _text_types(
            parsed, [f"r.{quoted(column)}" for column in texts], TextFormats.of(request.source)
        )
        times = {c: k for c, k in zip(texts, found, strict=True) if k in ("date", "timestamp")}
        types.update(times)
    return _columns(types)


def inferred_json(lines: DataFrame) -> SqlType:
    """What Spark infers of JSON objects, a line each (as ``_value``); where it saw only nulls, a string."""
    spark = lines.sparkSession
    strings = spark._jvm.org.apache.spark.sql.Encoders.STRING()  # type: ignore[union-attr]
    texts = getattr(lines.select(VALUE)._jdf, "as")(strings)
    inferred = _parse_datatype_json_string(spark._jsparkSession.read().json(texts).schema().json())
    return sql_type(_settled(inferred))


def _settled(type_: DataType) -> DataType:
    match type_:
        case NullType():
            return StringType()
        case DecimalType():
            return DecimalType(MAX_PRECISION, type_.scale)
        case ArrayType():
            return ArrayType(_settled(type_.elementType))
        case StructType():
            return StructType([StructField(field.name, _settled(field.dataType)) for field in type_])
    return type_


def _columns(types: dict[str, str]) -> tuple[Column, ...]:
    return tuple(Column(column, kind) for column, kind in types.items())
