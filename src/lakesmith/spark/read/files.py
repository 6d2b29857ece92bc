"""Landing files -> one DataFrame in which every row is accounted for.

A row that does not parse is there too, with its text in ``_raw`` and what is wrong with it in ``_reasons``. What it holds in
the declared columns is then what could be made of it, and not to be used.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from lakesmith.errors import Problem, SourceError
from lakesmith.project.definitions import FileFormat
from lakesmith.quoting import quoted
from lakesmith.spark.jvm.read_failure import unreadable_file
from lakesmith.spark.read.columnar import columnar_rows
from lakesmith.spark.read.csv import csv_rows
from lakesmith.spark.read.exact_text import plain
from lakesmith.spark.read.infer import infer_columns
from lakesmith.spark.read.json_lines import json_columns, json_good_lines, json_key_files, json_rows
from lakesmith.spark.read.request import RAW, REASONS, ROUNDED, ReadGroup, ReadRequest

__all__ = [
    "ReadGroup",
    "ReadRequest",
    "infer_columns",
    "json_columns",
    "json_good_lines",
    "json_key_files",
    "read_files",
    "result_schema",
    "unreadable_file",
]

_NESTED = ("array<", "map<", "struct<", "variant", "interval")


def read_files(spark: SparkSession, request: ReadRequest) -> DataFrame:
    """Reads every record of every file of ``request``, lazily.

    Returns:
        The declared columns in order with their types, then ``_source_file`` (``FileIdentity.path``), ``_source_position``
        (bigint: for CSV and JSON the record's number in its file, from 1, or for a file of more than one block the
        block's first byte + the number in the block; for Parquet and Avro the row's number), ``_source_modified_at``
        (timestamp), ``_raw`` (string, NULL for good rows), ``_reasons`` (array<string>, empty for good rows) and
        ``_rounded`` (array<string>: the columns that were rounded, where the source lets them be; else NULL).

    Raises:
        SourceError: LS451 a declared type that the format cannot hold. A file that cannot be read fails the job when it runs
        (:func:`unreadable_file` names it).
    """
    if request.source.format in (FileFormat.CSV, FileFormat.TSV):
        _refuse_nested(request)
        rows = csv_rows(spark, request)
    elif request.source.format is FileFormat.JSON:
        rows = json_rows(spark, request)
    else:
        rows = columnar_rows(spark, request)
    return rows if rows is not None else spark.createDataFrame([], result_schema(request))


def result_schema(request: ReadRequest) -> str:
    """The DDL of what ``read_files`` returns."""
    declared = [f"{quoted(column)} {type_}" for column, type_ in request.columns]
    provenance = ("_source_file string", "_source_position bigint", "_source_modified_at timestamp")
    return ", ".join(
        (*declared, *provenance, f"{RAW} string", *(f"{it} array<string>" for it in (REASONS, ROUNDED)))
    )


def _refuse_nested(request: ReadRequest) -> None:
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
        if plain(type_).startswith(_NESTED)
    ]
    if problems:
        raise SourceError(problems)
