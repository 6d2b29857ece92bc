"""JSON lines: ``json_lines`` reads them, ``json_types`` infers their columns, ``json_fields`` finds what
only they have."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, SparkSession

from lakesmith.errors import Problem, SourceError
from lakesmith.project.spark_types import parse_type
from lakesmith.spark.read.formats.interface import FormatReader, RecordKeys
from lakesmith.spark.read.formats.json_fields import (
    json_field_types,
    json_unknown_fields,
    json_unknown_names,
)
from lakesmith.spark.read.formats.json_lines import (
    json_good_lines,
    json_key_files,
    json_keys_together,
    json_rows,
)
from lakesmith.spark.read.formats.json_types import infer_json
from lakesmith.spark.read.request import ReadRequest


def _rows(spark: SparkSession, request: ReadRequest) -> DataFrame | None:
    """The rows. Each event is compared with the columns by itself: an acknowledged one must not stop a batch.

    Raises SourceError LS451 for a map whose keys are not texts.
    """
    _refuse_odd_keys(request)
    if not request.source.has_events:
        return json_rows(spark, request)
    return json_rows(spark, request, json_unknown_names(request))


def _refuse_odd_keys(request: ReadRequest) -> None:
    problems = [
        Problem(
            "LS451",
            f"source {request.source.name!r}: column {column!r} has a map whose keys are not texts, which"
            " JSON lacks",
            request.source.place,
            expected="map<string,...>",
            found=type_,
            hint="declare its keys as string and cast them in a silver query (transform_keys)",
        )
        for column, type_ in request.columns
        if "map<" in type_ and parse_type(type_).has_odd_keys
    ]
    if problems:
        raise SourceError(problems)


JSON: Final = FormatReader(
    _rows,
    infer_json,
    keys=RecordKeys(
        json_key_files, json_keys_together, json_good_lines, json_unknown_fields, json_field_types
    ),
)
