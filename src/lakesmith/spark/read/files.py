"""Landing files -> one DataFrame in which every row is accounted for.

A row that does not parse is there too, with its text in ``_raw`` and the reasons in ``_reasons``. Its
declared columns then hold what could be parsed, and are not to be used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakesmith.project.definitions import Column, KafkaSource
from lakesmith.project.formats import LOGS, FileFormat
from lakesmith.project.spark_types import SqlType
from lakesmith.quoting import literal, quoted
from lakesmith.sources.columns.fields import FieldPath
from lakesmith.sources.columns.reading import SourceRead
from lakesmith.sources.kafka.broker import java_connection
from lakesmith.spark.read.formats.columnar import typed_rows
from lakesmith.spark.read.formats.csv import csv_rows, infer_csv
from lakesmith.spark.read.formats.json_fields import json_field_types, json_unknown_fields, read_json
from lakesmith.spark.read.formats.json_lines import json_good_lines, json_key_files, json_keys_together
from lakesmith.spark.read.formats.json_types import infer_json
from lakesmith.spark.read.formats.logs import log_rows
from lakesmith.spark.read.kafka import read_slices
from lakesmith.spark.read.kept_plans import read_again
from lakesmith.spark.read.request import RAW, REASONS, ROUNDED, ReadRequest
from lakesmith.spark.read.sessions import zoned


@dataclass(frozen=True, slots=True)
class FormatReader:
    """How Spark reads one format.

    ``rows``: as ``read_files`` gives them; None if there are no files.
    ``infer``: the columns of files without types, in the order they are first met; None for other files.
    """

    rows: Callable[[SparkSession, ReadRequest], DataFrame | None]
    infer: Callable[[SparkSession, ReadRequest], tuple[Column, ...]] | None = None


_CSV: Final = FormatReader(csv_rows, infer_csv)

READERS: Final[Mapping[FileFormat, FormatReader]] = {
    FileFormat.CSV: _CSV,
    FileFormat.TSV: _CSV,
    FileFormat.JSON: FormatReader(read_json, infer_json),
    FileFormat.PARQUET: FormatReader(partial(typed_rows, has_row_index=True)),
    FileFormat.AVRO: FormatReader(typed_rows),
    **dict.fromkeys(LOGS, FormatReader(log_rows)),
}
"""The readers by the names of their formats in ``source:``."""


def read_files(spark: SparkSession, request: ReadRequest) -> DataFrame:
    """Reads every record of every file of ``request``, lazily.

    Returns:
        The declared columns in order with their types, then ``_source_file`` (``FileIdentity.path``),
        ``_source_position`` (bigint: for CSV and JSON the record's number in its file, from 1, or for a file
        of more than one block the block's first byte + the number in the block; for Parquet and Avro the
        row's number), ``_source_modified_at`` (timestamp), ``_raw`` (string, NULL for good rows),
        ``_reasons`` (array<string>, empty for good rows) and ``_rounded`` (array<string>: the columns that
        were rounded, if the source allows it; else NULL).

    Raises:
        SourceError: LS451 a declared type that the format cannot hold. A file that cannot be read fails the
        job when it runs (:func:`unreadable_file` names it).
    """
    return _or_none_of(read_again(spark, request, READERS[request.source.format].rows), spark, request)


def read_typed(spark: SparkSession, request: ReadRequest) -> DataFrame:
    """As ``read_files``, for ``records`` that have types of their own, whatever the format of the source."""
    return _or_none_of(typed_rows(spark, request), spark, request)


def request_of(
    spark: SparkSession, read: SourceRead, root: Path, records: DataFrame | None = None
) -> ReadRequest:
    """Makes the request for a source's files, its topic's slices, or ``records`` in place of either."""
    groups = read.groups if records is None else read.groups[:1]
    read = replace(read, source=zoned(spark, read.source), groups=groups)
    source, files = read.source, [file for group in groups for file in group.files]
    if records is not None or not isinstance(source, KafkaSource):
        return ReadRequest.of(read, root, records)
    if not files:
        return ReadRequest.of(replace(read, groups=()), root)
    return ReadRequest.of(read, root, read_slices(spark, source, files, java_connection(source)))


@dataclass(frozen=True, slots=True)
class SparkRecords:
    """The records of a source's files, or those in ``frame``, as Spark reads them (``Records``).

    JSON is the one format whose records name their columns.
    """

    spark: SparkSession
    root: Path
    frame: DataFrame | None = None

    def keys(self, read: SourceRead) -> Mapping[str, str]:
        return json_key_files(self.spark, self._request(read))

    def together(self, read: SourceRead, rivals: Sequence[Sequence[str]]) -> Mapping[tuple[str, ...], str]:
        return json_keys_together(self.spark, self._request(read), rivals)

    def good(self, read: SourceRead) -> SparkRecords:
        return replace(self, frame=json_good_lines(self.spark, self._request(read)))

    def unknown_fields(self, read: SourceRead) -> dict[FieldPath, tuple[str, ...]]:
        return json_unknown_fields(self.spark, self._request(read))

    def field_types(self, read: SourceRead, unknown: Sequence[FieldPath]) -> Mapping[str, SqlType]:
        return json_field_types(self.spark, self._request(read), unknown)

    def infer(self, read: SourceRead) -> Sequence[Column]:
        infer = READERS[read.source.format].infer
        return infer(self.spark, self._request(read)) if infer else ()

    def _request(self, read: SourceRead) -> ReadRequest:
        return request_of(self.spark, read, self.root, self.frame)


def _or_none_of(rows: DataFrame | None, spark: SparkSession, request: ReadRequest) -> DataFrame:
    if rows is None:
        return no_rows(spark, request.columns)
    return rows.withColumns(
        {column: F.expr(_as_symbol(column, symbols)) for column, symbols in request.symbols.items()}
    )


def _as_symbol(column: str, symbols: tuple[str, ...]) -> str:
    known = ", ".join(map(literal, symbols))
    return (
        f"IF({quoted(column)} IS NULL OR {quoted(column)} IN ({known}), {quoted(column)},"
        f" {literal(symbols[0])})"
    )


def no_rows(spark: SparkSession, columns: Iterable[tuple[str, str]]) -> DataFrame:
    """Returns no rows, with the columns of ``read_files`` for these names and types."""
    provenance = {"_source_file": "string", "_source_position": "bigint", "_source_modified_at": "timestamp"}
    added = {**provenance, RAW: "string", REASONS: "array<string>", ROUNDED: "array<string>"}
    types = {**dict(columns), **added}
    return spark.range(0).selectExpr(*(f"CAST(NULL AS {of}) AS {quoted(it)}" for it, of in types.items()))
