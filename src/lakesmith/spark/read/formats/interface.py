"""What Spark needs of a landing format to read its files, with every record in them accounted for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from lakesmith.project.definitions import Column
from lakesmith.project.spark_types import SqlType
from lakesmith.sources.columns.fields import FieldPath
from lakesmith.spark.read.request import ReadRequest


@dataclass(frozen=True, slots=True)
class RecordKeys:
    """For a format whose records name their own columns (JSON): what they name. Each function reads every
    record.

    ``files``: the top-level keys, each with one of the files that have it, in words. ``together``: the sets
    of alike keys that are in one record, each with one of the files that have it. ``good_records``: the
    records of valid rows, as ``ReadRequest.records``; None if there are no files. ``unknown_fields``: the
    fields in structs of the request's columns that their types do not name, each with a file that has it, in
    words. ``field_types``: the types of the request's columns as far as they lead to these unknown fields,
    with those.
    """

    files: Callable[[SparkSession, ReadRequest], dict[str, str]]
    together: Callable[[SparkSession, ReadRequest, Sequence[Sequence[str]]], dict[tuple[str, ...], str]]
    good_records: Callable[[SparkSession, ReadRequest], DataFrame | None]
    unknown_fields: Callable[[SparkSession, ReadRequest], dict[FieldPath, tuple[str, ...]]]
    field_types: Callable[[SparkSession, ReadRequest, Sequence[FieldPath]], dict[str, SqlType]]


@dataclass(frozen=True, slots=True)
class FormatReader:
    """How Spark reads one format.

    ``rows``: as ``read_files`` gives them; None if there are no files. ``infer``: the columns of files
    without types, in the order they are first met; None where files have types. ``keys``: for records that
    name their own columns; None where the file names them.
    """

    rows: Callable[[SparkSession, ReadRequest], DataFrame | None]
    infer: Callable[[SparkSession, ReadRequest], tuple[Column, ...]] | None = None
    keys: RecordKeys | None = None
