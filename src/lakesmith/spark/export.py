"""Writes the files of an export: rows of a table at a snapshot, as Parquet, CSV or JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructType

from lakesmith.execute.engine import NotIncremental
from lakesmith.exports.due import ExportStep
from lakesmith.exports.publishing import NULL_FOLDER, Written
from lakesmith.project.definitions import ExportFormat
from lakesmith.quoting import own, quoted
from lakesmith.spark.frames.row_counts import RowCounts, counts_of
from lakesmith.spark.iceberg.change_feed import changed_rows
from lakesmith.spark.iceberg.snapshots import read_version

_TIMES: Final = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_OPTIONS: Final[dict[ExportFormat, dict[str, Any]]] = {
    ExportFormat.PARQUET: {},
    # As RFC 4180 has it: a quote inside quotes is doubled, and blanks belong to the values.
    ExportFormat.CSV: {
        **_TIMES,
        "header": True,
        "quote": '"',
        "escape": '"',
        "ignoreLeadingWhiteSpace": False,
        "ignoreTrailingWhiteSpace": False,
    },
    ExportFormat.JSON: {**_TIMES, "ignoreNullFields": False},
}
_LARGER: Final = {ExportFormat.PARQUET: 1, ExportFormat.CSV: 5, ExportFormat.JSON: 10}
"""About how many bytes of uncompressed text a byte of the table's files becomes."""
_MOST_PARTITIONS: Final = 10_000
"""If more partitions changed, all are written: their values are collected here."""


def write_export(spark: SparkSession, step: ExportStep, folder: str) -> Written:
    """Writes the rows of a step below the URI ``folder``, which does not exist yet."""
    rows = read_version(spark, step.name, step.snapshot)
    changed, why_all = _changed_partitions(spark, step)
    if changed is not None:
        rows = _only(rows, step.export.partition_by, changed)
    seen = RowCounts()
    counted = seen.observe(_columns(rows, step), F.count(F.lit(1)).alias("rows"))
    _write(_arranged(counted, step), step, folder)
    return Written(counts_of(seen)["rows"], None if changed is None else frozenset(changed), why_all)


_Values = tuple[str | None, ...]


def _changed_partitions(spark: SparkSession, step: ExportStep) -> tuple[list[_Values] | None, str]:
    """Returns the partitions whose rows changed; None for all, and why if they are not known."""
    if step.changed_since is None:
        return None, ""
    columns = [_text(name).alias(name) for name in step.export.partition_by]
    try:
        with changed_rows(spark, step.name, step.changed_since, step.snapshot) as changes:
            both = changes.went.select(*columns).union(changes.came.select(*columns)).distinct()
            found = [tuple(row) for row in both.limit(_MOST_PARTITIONS + 1).collect()]
    except NotIncremental as error:
        return None, f"all partitions were exported: {error.reason}"
    return (found, "") if len(found) <= _MOST_PARTITIONS else (None, "")


def _text(name: str) -> SparkColumn:
    """Returns a column as folders name it. An empty text has the folder of NULL, as in Hive, and so has the
    text that is its name."""
    return F.nullif(F.nullif(F.col(quoted(name)).cast("string"), F.lit("")), F.lit(NULL_FOLDER))


def _only(rows: DataFrame, names: Sequence[str], wanted: Sequence[_Values]) -> DataFrame:
    """Returns the rows of these partitions."""
    if len(names) == 1:
        values = [value for (value,) in wanted if value is not None]
        chosen = _text(names[0]).isin(values)
        has_null = len(values) < len(wanted)
        return rows.where(chosen | _text(names[0]).isNull() if has_null else chosen)
    keys = [own(f"{number}") for number in range(len(names))]
    schema = ", ".join(f"{key} string" for key in keys)
    partitions = F.broadcast(rows.sparkSession.createDataFrame(list(wanted), schema))
    same = [_text(name).eqNullSafe(F.col(key)) for name, key in zip(names, keys, strict=True)]
    return rows.join(partitions, same, "left_semi")


def _columns(rows: DataFrame, step: ExportStep) -> DataFrame:
    types = {field.name: field.dataType for field in rows.schema.fields}
    as_text = step.export.format is ExportFormat.CSV
    return rows.select(
        *(
            _in_text(each.name, types[each.name]) if as_text else F.col(quoted(each.name))
            for each in step.columns
        )
    )


def _in_text(name: str, kind: DataType) -> SparkColumn:
    """Returns a column as CSV can have it: nested values as JSON, bytes in base64."""
    column = F.col(quoted(name))
    if isinstance(kind, ArrayType | MapType | StructType):
        column = F.to_json(column, {**_TIMES, "ignoreNullFields": "false"})
    elif isinstance(kind, BinaryType):
        column = F.base64(column)
    return column.alias(name)


def _arranged(rows: DataFrame, step: ExportStep) -> DataFrame:
    """The rows in about as many files as their target size asks for, each sorted."""
    export = step.export
    order = [F.col(quoted(name)) for name in export.order_by]
    # Spark writes the text that names the folder of NULL beside NULL, into the same file, and fails.
    texts = [field.name for field in rows.schema.fields if isinstance(field.dataType, StringType)]
    named = {name.lower() for name in export.partition_by}
    rows = rows.withColumns({name: _text(name) for name in texts if name.lower() in named})
    partitions = [F.col(quoted(name)) for name in export.partition_by]
    number = max(1, math.ceil(_bytes(step) / export.target_file_size))
    if export.single_file or (number == 1 and not partitions):
        rows = rows.coalesce(1)
    elif partitions:
        rows = rows.repartition(*partitions)
    else:
        rows = rows.repartitionByRange(number, *order) if order else rows.repartition(number)
    return rows.sortWithinPartitions(*partitions, *order) if order else rows


def _bytes(step: ExportStep) -> int:
    """Returns an estimate of the export's size."""
    return step.bytes * (1 if step.export.codec != "none" else _LARGER[step.export.format])


def _write(rows: DataFrame, step: ExportStep, folder: str) -> None:
    codec = {"compression": step.export.codec, "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}
    writer = rows.write.format(step.export.format.value).options(**_OPTIONS[step.export.format], **codec)
    if step.export.partition_by:
        # Each partition is written by one task.
        a_file = (step.rows or 0) * step.export.target_file_size // max(1, _bytes(step))
        writer = writer.option("maxRecordsPerFile", max(1, a_file)).partitionBy(*step.export.partition_by)
    writer.save(folder)
