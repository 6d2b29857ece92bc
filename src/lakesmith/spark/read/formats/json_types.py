"""Infers the columns of JSON lines by Spark's inference; strings that all are dates or timestamps become
such.

Whole numbers that no bigint holds become decimals as wide as possible. At every depth a double becomes a
string if one of its values has digits that a double would lose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    _parse_datatype_json_string,
)

from lakesmith import limits
from lakesmith.project.definitions import Column
from lakesmith.project.spark_types import MAX_PRECISION, SqlType
from lakesmith.quoting import alike, literal, own, quoted
from lakesmith.sources.columns.fields import FieldPath
from lakesmith.spark.frames.sql_text import sql_type
from lakesmith.spark.read.exact_text import TextFormats
from lakesmith.spark.read.formats.json_lines import json_sample
from lakesmith.spark.read.infer import as_columns, first_files, text_types
from lakesmith.spark.read.records import VALUE, owned_by, scan_session
from lakesmith.spark.read.request import ReadRequest

_ISO: Final = TextFormats()
_ELEMENT: Final = "element"
_CORRUPT: Final = own("corrupt")
_TIMES: Final[Mapping[str, DataType]] = {"date": DateType(), "timestamp": TimestampType()}


def infer_json(spark: SparkSession, request: ReadRequest) -> tuple[Column, ...]:
    """Returns the columns of the first files' first lines, or of the given records, as Spark has them."""
    few = first_files(request)
    if request.records is not None:
        few = replace(few, groups=few.groups[:1])
    sample = json_sample(spark, few, limits.SAMPLED_ROWS)
    if sample is None:
        return ()
    inferred = inferred_json(sample, TextFormats.of(request.source), times=True)
    return as_columns({column: kind.text for column, kind in inferred.parts if column != _CORRUPT})


def inferred_json(lines: DataFrame, formats: TextFormats = _ISO, *, times: bool = False) -> SqlType:
    """Returns what Spark infers of JSON objects (``_value``); a string where it saw only nulls.

    ``times``: whether top-level strings that all are dates or timestamps are such.
    """
    spark = scan_session(lines.sparkSession)  # keys that differ only in case are different keys
    lines = owned_by(spark, lines.select(VALUE))
    found = _spark_type(lines)
    places = dict(_doubles(found, "array(r)"))
    places |= {(field.name,): _values("array(r)", field) for field in found if times and _is_text(field)}
    if places:
        read = literal(sql_type(_all_texts(found)).text)
        parsed = lines.selectExpr(f"from_json({VALUE}, {read}) AS r")
        kinds = text_types(parsed, list(places.values()), formats)
        return sql_type(_settled(_narrowed(found, dict(zip(places, kinds, strict=True)))))
    return sql_type(_settled(found))


def _spark_type(lines: DataFrame) -> StructType:
    spark = lines.sparkSession
    strings = spark._jvm.org.apache.spark.sql.Encoders.STRING()  # type: ignore[union-attr]
    texts = getattr(lines._jdf, "as")(strings)
    reader = spark._jsparkSession.read().option("columnNameOfCorruptRecord", _CORRUPT)
    inferred = _parse_datatype_json_string(reader.json(texts).schema().json())
    assert isinstance(inferred, StructType)
    return inferred


def _doubles(kind: DataType, values: str, path: FieldPath = ()) -> Iterator[tuple[FieldPath, str]]:
    """Yields the places of doubles, each with SQL of an array of what is there; ``values``: of ``kind``."""
    match kind:
        case DoubleType():
            yield path, values
        case ArrayType():
            lists = f"filter({values}, v -> v IS NOT NULL)"
            yield from _doubles(kind.elementType, f"flatten({lists})", (*path, _ELEMENT))
        case StructType():
            for field in kind:
                yield from _doubles(field.dataType, _values(values, field), (*path, field.name))


def _values(structs: str, field: StructField) -> str:
    return f"transform({structs}, v -> v.{quoted(field.name)})"


def _is_text(field: StructField) -> bool:
    return isinstance(field.dataType, StringType)


def _all_texts(kind: DataType) -> DataType:
    match kind:
        case ArrayType():
            return ArrayType(_all_texts(kind.elementType))
        case StructType():
            return StructType([StructField(field.name, _all_texts(field.dataType)) for field in kind])
    return StringType()


def _narrowed(kind: DataType, of_texts: Mapping[FieldPath, str], path: FieldPath = ()) -> DataType:
    """The type with those that its texts have, by their places."""
    match kind:
        case ArrayType():
            return ArrayType(_narrowed(kind.elementType, of_texts, (*path, _ELEMENT)))
        case StructType():
            fields = ((it.name, _narrowed(it.dataType, of_texts, (*path, it.name))) for it in kind)
            return StructType([StructField(*field) for field in fields])
        case DoubleType():
            return kind if of_texts[path] in ("double", "bigint") else StringType()
        case StringType():
            return _TIMES.get(of_texts.get(path, ""), kind)
    return kind


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
