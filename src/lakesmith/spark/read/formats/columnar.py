"""Typed formats, Parquet and Avro: read as the files are typed, then cast to the declared types where nothing
is lost by it.

A bad row's ``_raw`` is a JSON of the whole row as it was in the file.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from lakesmith.project.definitions import OnInexact
from lakesmith.project.spark_types import SqlType, parse_type
from lakesmith.quoting import literal, quoted
from lakesmith.sources.columns.fields import dotted
from lakesmith.sources.columns.reading import ReadGroup
from lakesmith.sources.file_types import has_file_type, loaded_as, needs_row_reader, read_as
from lakesmith.spark.frames.exact_json import exact_json
from lakesmith.spark.frames.sql_text import any_of, case, sql_type
from lakesmith.spark.read.exact_cast import Casts, Misfit
from lakesmith.spark.read.exact_text import reason
from lakesmith.spark.read.records import (
    METADATA,
    RecordScan,
    absolute_paths,
    owned_by,
    read_portions,
    record_number,
    row_by_row,
)
from lakesmith.spark.read.request import (
    PROVENANCE,
    RAW,
    REASONS,
    ROUNDED,
    SOURCE_POSITION,
    ReadRequest,
    path_text,
    rounded_columns,
)

_FACTS: Final = "_lakesmith_metadata"
"""Spark's hidden column where the file has a column of that name."""


def typed_rows(spark: SparkSession, request: ReadRequest, has_row_index: bool = False) -> DataFrame | None:
    """Returns the rows as ``read_files``, or None. ``has_row_index``: Spark knows the rows' numbers."""
    return read_portions(spark, request, partial(_group_rows, has_row_index=has_row_index))


def _group_rows(scan: RecordScan, group: ReadGroup, has_row_index: bool) -> DataFrame:
    request = scan.request
    loaded = _load(scan.by_rows() if group.by_rows else scan, group)
    names = loaded.columns if request.records is None else loaded.columns[: -len(PROVENANCE)]
    has_rival = request.records is None and METADATA in names
    loaded, facts = _with_facts(loaded) if has_rival else (loaded, METADATA)
    number = f"{facts}.row_index" if has_row_index else record_number()
    casts = Casts(request.source.csv.time_zone)
    kinds = [_type_in_file(group, i) for i in range(len(names))]
    pairs = enumerate(zip(names, kinds, strict=True))
    inner = [f"{casts.as_loaded(quoted(column), kind)} AS f{i}" for i, (column, kind) in pairs]
    rows = loaded.selectExpr(*inner, *_provenance(scan, group, facts, number))
    types = [field.dataType for field in rows.schema]
    found = ReadGroup(group.files, tuple(names), matches=group.matches)
    rounds = request.source.on_inexact is OnInexact.ROUND
    typed, wrong, reasons, inexact = [], [], [], []
    for i, (column, type_) in enumerate(request.columns):
        index, ours = found.index(column), parse_type(type_)
        if index is not None:
            field, kind = f"f{index}", kinds[index]
            theirs = loaded_as(kind) if kind else sql_type(types[index])
        elif column in group.path_columns:
            field, theirs = path_text(column), SqlType(text="string")
        else:
            typed.append(f"{request.without(column, type_)} AS t{i}")
            continue
        typed.append(f"{casts.as_declared(field, theirs, ours)} AS t{i}")
        for misfit in casts.misfits(field, f"t{i}", theirs, ours, (column,)):
            test = misfit.wrong if rounds else misfit.either
            wrong.append(test)
            reasons.append(case([(test, f"array({_reason(misfit)})")], "array()"))
            inexact.append((column, misfit.inexact))
    whole = exact_json([(column, f"f{i}", types[i]) for i, column in enumerate(names)])
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


def _with_facts(loaded: DataFrame) -> tuple[DataFrame, str]:
    """Returns rows of files that have a column ``METADATA``, and the name that Spark's has beside it."""
    return loaded.select("*", loaded.metadataColumn(METADATA).alias(_FACTS)), _FACTS


def _type_in_file(group: ReadGroup, index: int) -> SqlType | None:
    """The column's type if it is none of Spark's."""
    kind = parse_type(group.file_types[index]) if group.file_types else None
    return kind if kind and has_file_type(kind) else None


def _provenance(scan: RecordScan, group: ReadGroup, facts: str, number: str) -> tuple[str, ...]:
    if scan.request.records is not None:
        return PROVENANCE
    return (*scan.provenance(group.files, facts), f"{number} + 1 AS {SOURCE_POSITION}")


def _load(scan: RecordScan, group: ReadGroup) -> DataFrame:
    if scan.request.records is not None:
        return owned_by(scan.session, scan.request.records)
    if any(needs_row_reader(parse_type(kind)) for kind in group.file_types if kind):
        return owned_by(scan.session, _load_by(row_by_row(scan), group))
    return _load_by(scan, group)


def _load_by(scan: RecordScan, group: ReadGroup) -> DataFrame:
    reader = scan.reader(str(scan.request.source.format), group.files)
    if group.file_types:
        pairs = zip(group.file_columns, group.file_types, strict=True)
        reader = reader.schema(
            ", ".join(f"{quoted(column)} {read_as(parse_type(of)).text}" for column, of in pairs)
        )
    if group.reader:
        reader = reader.option("avroSchema", group.reader)
    return reader.load(absolute_paths(group.files, scan.request))


def _reason(misfit: Misfit) -> str:
    place = misfit.path[0] if len(misfit.path) == 1 else dotted(misfit.path)
    if not misfit.found:
        return literal(f"{place}: not valid UTF-8")
    said = reason(place, misfit.type, misfit.found, misfit.inexact)
    return f"concat({said}, {literal(f' ({misfit.why})')})" if misfit.why else said
