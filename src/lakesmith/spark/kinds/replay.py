"""The ways out of quarantine: back into the table by the present definition, or dropped for good, on record.

Both are batches as any other. A replay takes the rows out of the quarantine's pinned version, validates them,
appends the good ones to the table and returns the others to quarantine with their present reasons; the record
that pins the quarantine's new version is published with the rows. So a row is in one of the two, whenever and
however often it is tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith.catalog.family import sidecar_of
from lakesmith.catalog.record import Account, Pin
from lakesmith.errors import UsageError
from lakesmith.execute.lake import Lake
from lakesmith.plan.steps import BadRows
from lakesmith.project.definitions import Column
from lakesmith.quoting import literal, own
from lakesmith.sources.columns.types import known_columns
from lakesmith.spark.batch.context import Batch, Draft
from lakesmith.spark.batch.quarantine import COLUMNS, REASONS, miscounted
from lakesmith.spark.batch.sidecar import SidecarKind, SidecarWriter
from lakesmith.spark.frames.row_counts import RowCounts, counts_of
from lakesmith.spark.iceberg.commits import physical
from lakesmith.spark.kinds.derive import prepare_table
from lakesmith.spark.kinds.ingest_files import SYSTEM_COLUMNS, good_rows, validate_rows
from lakesmith.spark.kinds.reread import ID, ReadAgain, read_again
from lakesmith.spark.kinds.value_notes import rounded_counts, rounded_note
from lakesmith.spark.read.request import SOURCE_POSITION
from lakesmith.spark.validation.rules import checks_of, rule_counts

_POSITION: Final = own("position")
_AT: Final = own("arrived_at")
_NUMBER: Final = own("arrived_by")


def replay(batch: Batch, lake: Lake) -> tuple[str, Draft]:
    """Replays the step's bad rows: afterwards each is in the table or in quarantine, once.

    Raises UsageError LS225 if no row matches, SourceError LS433 if the rows lack a required column.
    """
    there = batch.there()
    columns = known_columns(batch.step.table, there)
    said = prepare_table(batch, there, (*columns, *SYSTEM_COLUMNS))
    table_uuid = batch.open_branch()
    writer = _open(batch)
    stored = _stored(batch).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        taken = _take_out(batch, writer)
        batch.say(f"validating {taken} rows of the quarantine again")
        draft = _write(batch, writer, stored, read_again(batch, lake, stored, columns), columns)
    finally:
        stored.unpersist()
    account = replace(draft.account, read=taken)
    return table_uuid, replace(draft, account=account, warnings=(*said, *draft.warnings))


def drop(batch: Batch, _lake: Lake) -> tuple[str, Draft]:
    """Drops the step's bad rows; notes say which. Raises UsageError LS225 if there are none."""
    table_uuid = batch.open_branch()
    writer = _open(batch)
    taken = _take_out(batch, writer)
    note = f"{taken} row{'s were' if taken > 1 else ' was'} dropped from quarantine ({batch.step.bad_rows})"
    return table_uuid, Draft(Account(), sidecars=_pins(writer), warnings=(note,))


def condition(rows: BadRows) -> str:
    """Returns SQL that is true for the selected rows of a quarantine."""
    parts = ["true"]
    if rows.batch is not None:
        parts.append(f"batch = {rows.batch}")
    if rows.reason is not None:
        parts.append(f"contains(lower(array_join(reasons, chr(10))), lower({literal(rows.reason)}))")
    if rows.file is not None:
        ends = f"endswith(source_file, {literal('/' + rows.file)})"
        parts.append(f"(source_file = {literal(rows.file)} OR {ends})")
    return " AND ".join(parts)


def _open(batch: Batch) -> SidecarWriter:
    pin = batch.step.base.pin(SidecarKind.QUARANTINE)
    if pin is None or pin.snapshot is None:
        raise _none_meant(batch)
    writer = SidecarWriter(batch, SidecarKind.QUARANTINE, COLUMNS)
    writer.open()
    return writer


def _stored(batch: Batch) -> DataFrame:
    """The selected rows of the last published batch, each with an ``ID``. Cache it: IDs change."""
    pin = batch.step.base.pin(SidecarKind.QUARANTINE)
    name = physical(sidecar_of(batch.name, SidecarKind.QUARANTINE))
    version = f"VERSION AS OF {pin.snapshot if pin else None}"
    rows = batch.spark.sql(f"SELECT * FROM {name} {version} WHERE {condition(batch.step.bad_rows)}")
    return rows.select(F.monotonically_increasing_id().alias(ID), "*")


def _take_out(batch: Batch, writer: SidecarWriter) -> int:
    """Deletes the selected rows from the quarantine's working branch; returns their number."""
    batch.say("taking rows out of quarantine")
    before = writer.live_rows()
    writer.clear(condition(batch.step.bad_rows))
    batch.pass_point("after-delete")
    taken = before - writer.live_rows()
    if not taken:
        raise _none_meant(batch)
    return taken


def _write(
    batch: Batch, writer: SidecarWriter, stored: DataFrame, again: ReadAgain, columns: Sequence[Column]
) -> Draft:
    rules = batch.step.table.checks
    rows, seen = validate_rows(batch, again.rows), RowCounts()
    names = [column.name for column in columns]
    bad_count, rounded = F.count_if(F.size(REASONS) > 0).alias("bad"), rounded_counts(batch.step.table, names)
    measured = seen.observe(rows, bad_count, *rule_counts(rules), *rounded)
    batch.say("writing")
    arrived = F.col(_AT), F.col(_NUMBER)
    good_rows(batch, _placed(measured, stored), columns, arrived).writeTo(batch.target).append()
    batch.pass_point("after-data")
    found, stuck = counts_of(seen), again.stuck.count()
    bad = found["bad"] + stuck
    if bad:
        writer.append(_still_bad(rows, again.stuck, stored))
    if writer.count_added() != bad:
        raise miscounted(batch, bad, writer.count_added())
    batch.pass_point("after-quarantine")
    written = sum(snapshot.count("added-records") for snapshot in batch.written())
    account = Account(inserted=written, quarantined=bad, rounded=found.get("rounded", 0))
    notes = (*again.notes, *rounded_note(names, found), *_stuck_note(stuck))
    return Draft(account, sidecars=_pins(writer), checks=checks_of(rules, found), warnings=notes)


def _placed(rows: DataFrame, stored: DataFrame) -> DataFrame:
    """Returns the rows with their positions in their files instead of their IDs, and with their arrival.

    A row arrived with the batch that found it bad: ties of ``latest_by`` are settled as if it had been good.
    """
    places = stored.select(
        ID,
        F.col("source_position").alias(_POSITION),
        F.col("quarantined_at").alias(_AT),
        F.col("batch").alias(_NUMBER),
    )
    found = rows.withColumnRenamed(SOURCE_POSITION, ID).join(places, ID)
    return found.withColumnRenamed(_POSITION, SOURCE_POSITION)


def _still_bad(rows: DataFrame, stuck: DataFrame, stored: DataFrame) -> DataFrame:
    """The rows as in quarantine, with their present reasons; unreadable ones keep the old."""
    checked = rows.where(F.size(REASONS) > 0).select(F.col(SOURCE_POSITION).alias(ID), REASONS)
    verdicts = checked.unionByName(stuck.withColumn(REASONS, F.lit(None).cast("array<string>")))
    found = stored.join(verdicts, ID).withColumn("reasons", F.coalesce(REASONS, "reasons"))
    return found.select(*(column.name for column in COLUMNS))


def _stuck_note(stuck: int) -> tuple[str, ...]:
    if not stuck:
        return ()
    rows, their = (
        ("1 row stays, because it", "its") if stuck == 1 else (f"{stuck} rows stay, because they", "their")
    )
    why = f"{their} bytes were no valid text, or {their} source is gone"
    return (f"{rows} cannot be read from quarantine: {why}",)


def _pins(writer: SidecarWriter) -> dict[str, Pin]:
    return {writer.kind.value: writer.pin()}


def _none_meant(batch: Batch) -> UsageError:
    return UsageError.of(
        "LS225",
        f"no quarantined row of {batch.name} matches",
        expected="--batch, --reason and --file that quarantined rows have",
        found=str(batch.step.bad_rows),
        hint=f"lakesmith quarantine show {batch.name} shows the rows that are there",
    )
