"""Landing files -> one DataFrame in which every row is accounted for.

A row that does not parse is there too, with its text in ``_raw`` and what is wrong with it in ``_reasons``. What it holds in
the declared columns is then what could be made of it, and not to be used.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakesmith.project.definitions import Column, Source
from lakesmith.quoting import literal, quoted
from lakesmith.spark.jvm.read_failure import unreadable_file
from lakesmith.spark.read.formats.columnar import typed_rows
from lakesmith.spark.read.formats.registry import reader_of
from lakesmith.spark.read.request import RAW, REASONS, ROUNDED, ReadGroup, ReadRequest
from lakesmith.spark.read.sessions import zoned

__all__ = [
    "ReadGroup",
    "ReadRequest",
    "infer_columns",
    "read_files",
    "read_typed",
    "result_schema",
    "unreadable_file",
]


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
    return _or_none_of(reader_of(request.source).rows(spark, request), spark, request)


def read_typed(spark: SparkSession, request: ReadRequest) -> DataFrame:
    """As ``read_files``, of ``records`` that have types of their own, whatever the format of the source."""
    return _or_none_of(typed_rows(spark, request), spark, request)


def infer_columns(
    spark: SparkSession,
    source: Source,
    groups: tuple[ReadGroup, ...],
    root: Path,
    records: DataFrame | None = None,
) -> tuple[Column, ...]:
    """The columns of the files in ``groups``, in the order they are first met; none when there are no files.

    ``records``: those of the files that count, where not all do.
    """
    return reader_of(source).infer(spark, ReadRequest(zoned(spark, source), root, groups, (), records))


def _or_none_of(rows: DataFrame | None, spark: SparkSession, request: ReadRequest) -> DataFrame:
    if rows is None:
        return spark.createDataFrame([], result_schema(request))
    return rows.withColumns(
        {column: F.expr(_as_symbol(column, symbols)) for column, symbols in request.symbols.items()}
    )


def _as_symbol(column: str, symbols: tuple[str, ...]) -> str:
    known = ", ".join(map(literal, symbols))
    return f"IF({quoted(column)} IS NULL OR {quoted(column)} IN ({known}), {quoted(column)}, {literal(symbols[0])})"


def result_schema(request: ReadRequest) -> str:
    """The DDL of what ``read_files`` returns."""
    declared = [f"{quoted(column)} {type_}" for column, type_ in request.columns]
    provenance = ("_source_file string", "_source_position bigint", "_source_modified_at timestamp")
    return ", ".join(
        (*declared, *provenance, f"{RAW} string", *(f"{it} array<string>" for it in (REASONS, ROUNDED)))
    )
