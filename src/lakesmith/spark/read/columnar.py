"""Parquet and Avro: read as the files are typed, then cast to the declared types where nothing is lost by it.

A bad row's ``_raw`` is a JSON of the whole row as it was in the file.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from lakesmith.project.definitions import FileFormat, OnInexact
from lakesmith.quoting import literal, quoted
from lakesmith.sources.fields import SqlType, dotted, parse_type
from lakesmith.spark.frames.exact_json import exact_json
from lakesmith.spark.frames.sql_text import any_of, case
from lakesmith.spark.frames.sql_types import sql_type
from lakesmith.spark.read.exact_cast import Misfit, as_declared, misfits
from lakesmith.spark.read.exact_text import reason
from lakesmith.spark.read.nanoseconds import has_nanos, read_as
from lakesmith.spark.read.records import RecordScan, absolute_paths, owned_by, read_portions, record_number
from lakesmith.spark.read.request import (
    PROVENANCE,
    RAW,
    REASONS,
    ROUNDED,
    SOURCE_POSITION,
    ReadGroup,
    ReadRequest,
    rounded_columns,
)


def columnar_rows(spark: SparkSession, request: ReadRequest) -> DataFrame | None:
    """The rows as ``read_files`` gives them; None when there are no files."""
    return read_portions(spark, request, _group_rows)


def _group_rows(scan: RecordScan, group: ReadGroup) -> DataFrame:
    request = scan.request
    loaded = _load(scan, group)
    names = loaded.columns if request.records is None else loaded.columns[: -len(PROVENANCE)]
    schema = loaded.schema
    inner = [f"{quoted(column)} AS f{i}" for i, column in enumerate(names)]
    rows = loaded.selectExpr(*inner, *_provenance(scan, group))
    found = ReadGroup(group.files, tuple(names), matches=group.matches)
    rounds = request.source.on_inexact is OnInexact.ROUND
    typed, wrong, reasons, inexact = [], [], [], []
    for i, (column, type_) in enumerate(request.columns):
        index = found.index(column)
        if index is None:
            typed.append(f"CAST(NULL AS {type_}) AS t{i}")
            continue
        field, ours = f"f{index}", parse_type(type_)
        theirs = _type_in_file(group, index) or sql_type(schema[names[index]].dataType)
        typed.append(f"{as_declared(field, theirs, ours)} AS t{i}")
        for misfit in misfits(field, f"t{i}", theirs, ours, (column,)):
            test = misfit.wrong if rounds else misfit.either
            wrong.append(test)
            reasons.append(case([(test, f"array({_reason(misfit)})")], "array()"))
            inexact.append((column, misfit.inexact))
    whole = exact_json([(column, f"f{i}", schema[column].dataType) for i, column in enumerate(names)])
    none = "CAST(array() AS array<string>)"
    is_bad = f"({any_of(wrong)})"
    columns = [f"t{i} AS {quoted(column)}" for i, (column, _) in enumerate(request.columns)]
    return (
        scan.gathered(rows, group)
        .selectExpr("*", *typed)
        .selectExpr(
            *columns,
            *PROVENANCE,
            f"IF({is_bad}, {whole}, NULL) AS {RAW}",
            f"IF({is_bad}, concat({', '.join((none, *reasons))}), {none}) AS {REASONS}",
            f"{rounded_columns(request, inexact)} AS {ROUNDED}",
        )
    )


def _type_in_file(group: ReadGroup, index: int) -> SqlType | None:
    """The column's type where that is another than Spark reads it as."""
    kind = parse_type(group.file_types[index]) if group.file_types else None
    return kind if kind and has_nanos(kind) else None


def _provenance(scan: RecordScan, group: ReadGroup) -> tuple[str, ...]:
    if scan.request.records is not None:
        return PROVENANCE
    is_parquet = scan.request.source.format is FileFormat.PARQUET
    position = "_metadata.row_index" if is_parquet else record_number()
    return (*scan.provenance(group.files), f"{position} + 1 AS {SOURCE_POSITION}")


def _load(scan: RecordScan, group: ReadGroup) -> DataFrame:
    if scan.request.records is not None:
        return owned_by(scan.session, scan.request.records)
    reader = scan.reader(str(scan.request.source.format), group.files)
    if group.file_types:
        pairs = zip(group.file_columns, group.file_types, strict=True)
        reader = reader.schema(
            ", ".join(f"{quoted(column)} {read_as(parse_type(of)).text}" for column, of in pairs)
        )
    return reader.load(absolute_paths(group.files, scan.request))


def _reason(misfit: Misfit) -> str:
    place = misfit.path[0] if len(misfit.path) == 1 else dotted(misfit.path)
    if not misfit.found:
        return literal(f"{place}: not valid UTF-8")
    return reason(place, misfit.type, misfit.found, misfit.inexact)
