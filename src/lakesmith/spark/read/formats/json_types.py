"""Infers the columns of JSON lines by Spark's inference; strings that all are dates or timestamps become
such.

Whole numbers that no bigint holds become decimals as wide as possible.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
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

from lakesmith import limits
from lakesmith.project.definitions import Column
from lakesmith.project.spark_types import MAX_PRECISION, SqlType
from lakesmith.quoting import alike, literal, quoted
from lakesmith.spark.frames.sql_text import sql_type
from lakesmith.spark.read.exact_text import TextFormats
from lakesmith.spark.read.formats.json_lines import json_sample
from lakesmith.spark.read.infer import as_columns, first_files, text_types
from lakesmith.spark.read.records import VALUE
from lakesmith.spark.read.request import ReadRequest


def infer_json(spark: SparkSession, request: ReadRequest) -> tuple[Column, ...]:
    """Returns the columns of the first files' first lines, or of the given records, as Spark has them."""
    few = first_files(request)
    if request.records is not None:
        few = replace(few, groups=few.groups[:1])
    sample = json_sample(spark, few, limits.SAMPLED_ROWS)
    if sample is None:
        return ()
    inferred = inferred_json(sample)
    types = {column: kind.text for column, kind in inferred.parts if column != "_corrupt_record"}
    # A double would lose digits of such a number.
    texts = [column for column, kind in types.items() if kind in ("string", "double")]
    fields = ", ".join(f"{quoted(column)} string" for column in texts)
    if texts:
        parsed = sample.selectExpr(f"from_json({VALUE}, {literal(fields)}) AS r")
        found = text_types(
            parsed, [f"r.{quoted(column)}" for column in texts], TextFormats.of(request.source)
        )
        types.update({c: _narrowed(types[c], kind) for c, kind in zip(texts, found, strict=True)})
    return as_columns(types)


def _narrowed(inferred: str, of_texts: str) -> str:
    if inferred == "double":
        return "double" if of_texts in ("double", "bigint") else "string"
    return of_texts if of_texts in ("date", "timestamp") else "string"


def inferred_json(lines: DataFrame) -> SqlType:
    """Returns what Spark infers of JSON objects (``_value``); a string where it saw only nulls."""
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
            return StructType([StructField(name, _settled(kind)) for name, kind in _unlike(type_).items()])
    return type_


def _unlike(struct: StructType) -> dict[str, DataType]:
    """A struct's fields; alike ones are the first of them, a text if their types differ."""
    found: dict[str, DataType] = {}
    names: dict[str, str] = {}
    for field in struct:
        name = names.setdefault(alike(field.name), field.name)
        both = {found.get(name, field.dataType), field.dataType} - {NullType()}
        found[name] = both.pop() if len(both) == 1 else StringType() if both else NullType()
    return found
