"""Bad rows on their way to quarantine, with reasons, origin and all that brings them back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith.catalog.record import Pin
from lakesmith.errors import RunError
from lakesmith.plan.steps import Strategy
from lakesmith.project.definitions import Column
from lakesmith.quoting import own, quoted
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.batch.earlier_rows import is_of, require_none_of
from lakesmith.spark.batch.sidecar import SidecarKind, SidecarWriter
from lakesmith.spark.frames.exact_json import exact_json, types_of
from lakesmith.spark.read.kafka import kept_apart

REASONS: Final = "_reasons"
"""The column that holds why a row is bad: an array of strings, empty for a good row."""

ROW: Final = own("bad_row")
ROW_TYPES: Final = own("bad_row_types")
"""Columns with the row as JSON and its field types, in frames of bad rows that have them."""

COLUMNS: Final = (
    Column("attempt", "string", "the attempt that found the row"),
    Column("batch", "bigint", "the batch that found the row"),
    Column("reasons", "array<string>", "everything that is wrong with the row"),
    Column("source_file", "string", "the landing file, where known"),
    Column("source_position", "bigint", "the row's position in its file, from 1, where known"),
    Column("source_modified_at", "timestamp", "when the landing file was last written, where known"),
    Column("raw", "string", "a row that did not parse: its text, or a JSON of it where the file has types"),
    Column("raw_columns", "array<string>", "the columns of the raw text, in its file's order"),
    Column(
        "row", "string", "a row that parsed, as JSON; of a record of Kafka that did not, its key and headers"
    ),
    Column("row_types", "string", "the types of the JSON's fields, as DDL"),
    Column("quarantined_at", "timestamp", "when the batch began"),
)


def set_aside(batch: Batch, rows: DataFrame, columns: Sequence[str], bad: int) -> dict[str, Pin]:
    """Writes ``bad`` rows to the table's quarantine, on the batch's branch; gives its new version for the
    record.

    ``rows`` has ``_reasons``, ``columns`` (or what they are kept as, ``ROW``) and, where known,
    ``_source_file``, ``_source_position``, ``_source_modified_at``, ``_raw``, ``_raw_columns`` and
    ``_raw_types``. A full refresh validates everything again, so it starts from an empty quarantine; a file
    that was changed in place is validated again, so its earlier bad rows go. Where there are no bad rows and
    never were, nothing is made and the result is empty.

    Raises RunError LS611 when another number of rows arrived there than were found bad, LS619 when earlier
    ones stay.
    """
    is_full = batch.step.strategy is Strategy.FULL
    replaced = [file.path for intake in batch.step.intakes for file in intake.replace]
    if not bad and not ((is_full or replaced) and batch.step.base.pin(SidecarKind.QUARANTINE)):
        return {}
    batch.say(f"setting {bad} bad rows aside")
    writer = SidecarWriter(batch, SidecarKind.QUARANTINE, COLUMNS)
    writer.open()
    if is_full:
        writer.clear()
    elif replaced:
        writer.clear(is_of("source_file", replaced))
        require_none_of(batch, writer.target, "source_file", replaced)
    if bad:
        writer.append(_quarantine_rows(batch, rows, columns))
    if writer.count_added() != bad:
        raise miscounted(batch, bad, writer.count_added())
    batch.pass_point("after-quarantine")
    return {writer.kind.value: writer.pin()}


def miscounted(batch: Batch, expected: int, found: int) -> RunError:
    """LS611: not as many rows arrived in the quarantine as were sent there."""
    return RunError.of(
        "LS611",
        f"the quarantine of {batch.name} did not take every bad row, so the batch was not published",
        expected=f"{expected} rows",
        found=f"{found} rows",
        hint="nothing was lost: the inputs are as they were. Run it again; if it repeats, please report it",
    )


def content_of(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Returns bad rows of a derived table as quarantine has them: ``reasons``, ``row``, ``row_types``."""
    whole, types = _as_json(rows, columns)
    return rows.select(F.col(REASONS).alias("reasons"), whole.alias("row"), types.alias("row_types"))


def with_batch(batch: Batch, content: DataFrame) -> DataFrame:
    """Rows with some of the quarantine's columns in all of them, as found by the batch."""
    found = {
        "attempt": F.lit(batch.attempt),
        "batch": F.lit(batch.number).cast("bigint"),
        "quarantined_at": F.timestamp_millis(F.lit(batch.started_ms)),
    }
    unknown = {
        column.name: F.lit(None).cast(str(column.type))
        for column in COLUMNS
        if column.name not in found and column.name not in content.columns
    }
    return content.withColumns({**found, **unknown}).select(*(column.name for column in COLUMNS))


def as_json(rows: DataFrame, columns: Sequence[str]) -> str:
    """SQL of a row's ``columns`` as JSON, as it is kept of a row that parsed."""
    schema = rows.schema
    return exact_json([(name, quoted(name), schema[name].dataType) for name in columns])


def _as_json(rows: DataFrame, columns: Sequence[str]) -> tuple[SparkColumn, SparkColumn]:
    if ROW in rows.columns:
        return F.col(ROW), F.col(ROW_TYPES)
    return F.expr(as_json(rows, columns)), F.lit(types_of(rows.schema, columns))


def _quarantine_rows(batch: Batch, rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    present = set(rows.columns)

    def known(name: str, kind: str) -> SparkColumn:
        return (F.col(name) if name in present else F.lit(None)).cast(kind)

    whole, types = _as_json(rows, columns)
    apart = kept_apart("_raw", "_source_file") if {"_raw", "_source_file"} <= present else ("NULL", "NULL")
    raw, besides = (F.expr(text).cast("string") for text in apart)
    content = rows.select(
        F.col(REASONS).alias("reasons"),
        known("_source_file", "string").alias("source_file"),
        known("_source_position", "bigint").alias("source_position"),
        known("_source_modified_at", "timestamp").alias("source_modified_at"),
        raw.alias("raw"),
        known("_raw_columns", "array<string>").alias("raw_columns"),
        F.when(raw.isNull(), whole).otherwise(besides).alias("row"),
        F.when(raw.isNull(), types).otherwise(known("_raw_types", "string")).alias("row_types"),
    )
    return with_batch(batch, content)
