"""Parquet and Avro: read as the files are typed, then cast to the declared types where nothing is lost by it.

Widening is fine; a number that does not fit or would be rounded, a time where a date is declared, a text that is not exactly
a value, are bad. Spark casts structs by position, whatever the fields are called; here they are put into the declared order by
name first. A bad row's ``_raw`` is a JSON of the whole row as it was in the file.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from lakesmith.project.definitions import FileFormat
from lakesmith.sources.fields import parse_type
from lakesmith.spark.read_nested import by_name, sql_type
from lakesmith.spark.read_request import PROVENANCE, RAW, REASONS, SOURCE_POSITION, ReadGroup, ReadRequest
from lakesmith.spark.read_scan import Scan, absolute_paths, owned_by, read_portions, record_number
from lakesmith.spark.read_sql import any_of, case, name
from lakesmith.spark.read_types import (
    TextFormats,
    exact_from_text,
    plain,
    precision_and_scale,
    reason,
)
from lakesmith.spark.replay_json import exact_json

_ISO = TextFormats()
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")
_TIMES = ("date", "timestamp", "timestamp_ntz")


def columnar_rows(spark: SparkSession, request: ReadRequest) -> DataFrame | None:
    """The rows as ``read_files`` gives them; None when there are no files."""
    return read_portions(spark, request, _group_rows)


def _group_rows(scan: Scan, group: ReadGroup) -> DataFrame:
    request = scan.request
    loaded = _load(scan, group)
    names = loaded.columns if request.records is None else loaded.columns[: -len(PROVENANCE)]
    schema = loaded.schema
    kinds = [schema[column].dataType for column in names]
    types = [plain(kind.simpleString()) for kind in kinds]
    inner = [f"{name(column)} AS f{i}" for i, column in enumerate(names)]
    rows = loaded.selectExpr(*inner, *_provenance(scan, group))
    found = ReadGroup(group.files, tuple(names), matches=group.matches)
    typed, wrong, reasons = [], [], []
    for i, (column, type_) in enumerate(request.columns):
        index = found.index(column)
        if index is None:
            typed.append(f"CAST(NULL AS {type_}) AS t{i}")
            continue
        field = f"f{index}"
        named = by_name(field, sql_type(kinds[index]), parse_type(type_))
        typed.append(f"{_value(named, types[index], type_)} AS t{i}")
        if bad := _bad(field, f"t{i}", types[index], plain(type_)):
            wrong.append(bad)
            reasons.append(
                case(
                    [(bad, f"array({reason(column, plain(type_), _shown(field, types[index]))})")], "array()"
                )
            )
    whole = exact_json([(column, f"f{i}", schema[column].dataType) for i, column in enumerate(names)])
    none = "CAST(array() AS array<string>)"
    is_bad = f"({any_of(wrong)})"
    columns = [f"t{i} AS {name(column)}" for i, (column, _) in enumerate(request.columns)]
    return (
        scan.gathered(rows, group)
        .selectExpr("*", *typed)
        .selectExpr(
            *columns,
            *PROVENANCE,
            f"IF({is_bad}, {whole}, NULL) AS {RAW}",
            f"IF({is_bad}, concat({', '.join((none, *reasons))}), {none}) AS {REASONS}",
        )
    )


def _provenance(scan: Scan, group: ReadGroup) -> tuple[str, ...]:
    if scan.request.records is not None:
        return PROVENANCE
    is_parquet = scan.request.source.format is FileFormat.PARQUET
    position = "_metadata.row_index" if is_parquet else record_number()
    return (*scan.provenance(group.files), f"{position} + 1 AS {SOURCE_POSITION}")


def _load(scan: Scan, group: ReadGroup) -> DataFrame:
    if scan.request.records is not None:
        return owned_by(scan.session, scan.request.records)
    reader = scan.reader(str(scan.request.source.format), group.files)
    if group.file_types:
        pairs = zip(group.file_columns, group.file_types, strict=True)
        reader = reader.schema(", ".join(f"{name(column)} {type_}" for column, type_ in pairs))
    return reader.load(absolute_paths(group.files, scan.request))


def _value(field: str, from_type: str, type_: str) -> str:
    kind = plain(type_)
    if from_type == kind:
        return field
    if from_type == "string":
        return exact_from_text(field, kind, _ISO)
    return f"try_cast({field} AS {kind})" if _related(from_type, kind) else f"CAST(NULL AS {type_})"


def _bad(field: str, value: str, from_type: str, kind: str) -> str | None:
    """SQL that is true when the declared column does not say what the file's does; None: it always does."""
    if from_type == kind:
        return None
    lost = f"{value} IS NULL"
    if (_is_number(from_type) and _is_number(kind)) or (from_type in _TIMES and kind in _TIMES):
        lost = f"{lost} OR NOT (try_cast({value} AS {from_type}) <=> {field})"
    return f"{field} IS NOT NULL AND ({lost})"


def _shown(field: str, from_type: str) -> str:
    nested = from_type.startswith(("array<", "map<", "struct<"))
    return f"to_json({field})" if nested else f"CAST({field} AS STRING)"


def _related(from_type: str, kind: str) -> bool:
    """Whether a cast is a conversion at all; a number is no timestamp: nobody knows in which unit."""
    if kind == "string" or from_type.split("<")[0] == kind.split("<")[0]:
        return True
    return (_is_number(from_type) and _is_number(kind)) or (from_type in _TIMES and kind in _TIMES)


def _is_number(kind: str) -> bool:
    return kind in _NUMBERS or precision_and_scale(kind) is not None
