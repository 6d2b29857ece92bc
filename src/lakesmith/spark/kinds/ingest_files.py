"""Ingests the chosen files into a sourced table: read once, with every row accounted for.

The order guarantees exactly once: the ledger says which files the attempt ingests before any is read; the
files are checked again after they were read; and the lines count only when the record that pins them is
published with the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import quote

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith.catalog.record import Account, Pin
from lakesmith.execute.engine import Outdated
from lakesmith.execute.lake import LEDGER_PIN, Lake
from lakesmith.execute.publish import events_there, ledger_notes, unread_entries
from lakesmith.project.definitions import ADDED_COLUMNS, Column, OnBadRow
from lakesmith.project.spark_types import parse_type
from lakesmith.quoting import literal, quoted, quoted_if_odd
from lakesmith.sources.bad_files import BadFiles
from lakesmith.sources.identity import changed_files, with_fingerprints
from lakesmith.sources.inspect import count_records
from lakesmith.sources.kafka.slices import is_slice
from lakesmith.sources.ledger import hash_entries
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry
from lakesmith.sources.names import named, printable
from lakesmith.sources.postgres.position import notes_of
from lakesmith.sources.shape import Layout
from lakesmith.spark.batch.context import Batch, Draft
from lakesmith.spark.batch.earlier_rows import delete_rows_of
from lakesmith.spark.batch.quarantine import REASONS, set_aside
from lakesmith.spark.frames.row_counts import RowCounts, counts_of
from lakesmith.spark.kinds.carried_rows import carried_of, carried_rows, files_with_bad_rows, with_carried
from lakesmith.spark.kinds.derive import prepare_table
from lakesmith.spark.kinds.intake import (
    Intake,
    fewer_note,
    most_records,
    open_intake,
    require_same_topics,
    slice_notes,
)
from lakesmith.spark.kinds.require_names import require_free_names
from lakesmith.spark.kinds.unreadable_files import naming_bad_files, require_all_rows
from lakesmith.spark.kinds.value_notes import check_types, rounded_counts, rounded_note
from lakesmith.spark.read.records import where_last
from lakesmith.spark.read.request import SOURCE_FILE
from lakesmith.spark.validation.erased_rows import LeftOut, left_out, note_of
from lakesmith.spark.validation.rules import add_reasons, checks_of, rule_counts, rule_reasons, stop_if_asked

SYSTEM_COLUMNS = tuple(Column(name, type_, doc) for name, (type_, doc) in ADDED_COLUMNS.items())
"""The columns that every sourced table has besides its own."""


@dataclass(frozen=True)
class _Intent:
    """The lines the attempt wrote to the ledger, and the version of the ledger that has them."""

    pin: Pin
    lines_hash: str


def ingest_files(batch: Batch, lake: Lake) -> tuple[str, Draft]:
    """Writes the rows of the step's files to the working branch. Raises BadFiles where some of them cannot
    be read, and Outdated where some are not what was planned with any more."""
    with _replanned_if_changed(batch), naming_bad_files(batch):
        return _ingest_files(batch, lake)


def _ingest_files(batch: Batch, lake: Lake) -> tuple[str, Draft]:
    batch.say(f"reading {batch.step.reason}")
    intake = open_intake(batch)
    files = _fingerprinted(batch)
    types = [(column.name, parse_type(column.type or "string")) for column in intake.plan.columns]
    require_free_names(batch.step.table, types, tuple(ADDED_COLUMNS))
    # Looked up again: reading the files' columns may have taken long.
    warnings = [
        *intake.plan.notes,
        *prepare_table(batch, batch.there(), (*intake.plan.columns, *SYSTEM_COLUMNS)),
    ]
    intent = _declare(batch, lake, files)
    batch.pass_point("after-intent")
    table_uuid = batch.open_branch()
    replaced = _delete_replaced(batch, lake)
    draft = _write(batch, intake, replaced)
    _require_same(batch, files)
    require_same_topics(batch)
    return table_uuid, Draft(
        account=draft.account,
        sidecars={**draft.sidecars, LEDGER_PIN: intent.pin},
        checks=draft.checks,
        files=sum(not is_slice(file.path) for file in files),
        ledger_hash=intent.lines_hash,
        warnings=(
            *slice_notes(batch),
            *warnings,
            *draft.warnings,
            *_by_rows(intake),
            *ledger_notes(batch.step),
            *_empty_exports(batch),
            *_ahead_in_postgres(batch),
        ),
    )


def _ahead_in_postgres(batch: Batch) -> Iterator[str]:
    for intake in batch.step.intakes:
        if intake.source.is_growing:
            yield from notes_of(batch.project.root / intake.source.path)


def _by_rows(intake: Intake) -> Iterator[str]:
    """A note on files that Spark's vectorised reader cannot read."""
    if paths := [file.path for group in intake.groups if group.by_rows for file in group.files]:
        yield (
            "read row by row, which takes longer: Spark's vectorised reader lacks one of their encodings"
            f" (BYTE_STREAM_SPLIT), or decimals of varying length ({named(paths)})"
        )


def _empty_exports(batch: Batch) -> Iterator[str]:
    """Notes on full exports without a row, which change nothing."""
    exports = [each for each in batch.step.intakes if each.source.snapshot is not None]
    if not exports:
        return
    rows = batch.spark.table(batch.target).where(F.col("_batch") == batch.number)
    seen = {row[0] for row in rows.select("_source_file").distinct().collect()}
    for file in (file for intake in exports for file in intake.files if file.path not in seen):
        yield (
            f"{printable(file.path)} has no rows: as a full export it would delete every key, so it is left"
            " out"
        )


@contextmanager
def _replanned_if_changed(batch: Batch) -> Iterator[None]:
    """Raises Outdated in place of a failure while files changed, so that the batch is planned again.

    Problems of a file's content are raised as they are, lest a file that never stops changing blocks the
    others.
    """
    try:
        yield
    except (BadFiles, Py4JError, PySparkException, OSError) as error:
        if isinstance(error, BadFiles) and all(bad.lasting for bad in error.files):
            raise
        files = [file for intake in batch.step.intakes for file in intake.files]
        if moved := _why_outdated(batch, files):
            raise Outdated(moved) from error
        raise


_FOLDER_BYTES: Final = 255
_KEY_BYTES: Final = 800
"""The longest name of a partition's folder: on disks, and in stores (1,024 bytes a path)."""


def _fingerprinted(batch: Batch) -> dict[FileIdentity, str]:
    """Each file of the batch, with a fingerprint of its content, and the name of its source."""
    found: dict[FileIdentity, str] = {}
    for intake in batch.step.intakes:
        has_files = intake.source.has_files
        for file in with_fingerprints(intake.files, batch.project.root) if has_files else intake.files:
            found[file] = intake.source.name
    return found


def _declare(batch: Batch, lake: Lake, files: dict[FileIdentity, str]) -> _Intent:
    entries = [
        LedgerEntry(file, source, FileAction.TAKEN, batch.attempt, batch.number, batch.started_ms)
        for file, source in files.items()
    ]
    entries += unread_entries(batch.step, batch.attempt, batch.started_ms, batch.project.root)
    there = partial(events_there, batch.step.table, batch.project.root)
    pin = lake.ledgers.append(batch.name, batch.step.base.pin(LEDGER_PIN), entries, there)
    return _Intent(pin, hash_entries(entries))


def _delete_replaced(batch: Batch, lake: Lake) -> int:
    """Deletes the earlier rows of files that were changed in place; returns their number."""
    paths = [file.path for intake in batch.step.intakes for file in intake.replace]
    if not paths or batch.step.base.snapshot is None:
        return 0
    batch.say(f"deleting the earlier rows of {len(paths)} changed files")
    return delete_rows_of(batch, lake, paths)


def _write(batch: Batch, intake: Intake, replaced: int) -> Draft:
    """Writes the good rows and sets aside the bad ones, in one pass over the files."""
    rules, names = batch.step.table.checks, [column.name for column in intake.plan.columns]
    others, seen = left_out(batch, names), RowCounts()
    checked = validate_rows(batch, others.without(others.counted(intake.rows)))
    counts = [F.count(F.lit(1)).alias("read"), F.count_if(F.size(REASONS) > 0).alias("bad")]
    rounded = rounded_counts(batch.step.table, names)
    measured = seen.observe(
        with_carried(checked, names, intake.files),
        *counts,
        *rule_counts(rules),
        *rounded,
        *carried_rows(names),
    )
    batch.say("writing")
    with ThreadPoolExecutor(1) as beside:
        counting = beside.submit(_counted, batch, intake.layouts)
        good_rows(batch, measured, intake.plan.columns).writeTo(batch.target).append()
        counted = counting.result()
    batch.pass_point("after-data")
    found = counts_of(seen)
    pins = (
        _set_aside(batch, intake, others, checked, seen)
        if found["bad"]
        else set_aside(batch, checked, names, 0)
    )
    erased = others.count()
    if counted is not None and counted != found["read"] + erased:
        require_all_rows(batch, intake.rows)
    written = sum(snapshot.count("added-records") for snapshot in batch.written())
    most = most_records(batch)
    if counted is None:
        # More records than offsets would mean that some came twice: the row counts have to show it.
        read = found["read"] + erased
        counted = read if most is None else min(most, read)
    account = Account(
        read=counted,
        inserted=written,
        deleted=replaced,
        filtered=erased,
        quarantined=found["bad"],
        rounded=found.get("rounded", 0),
    )
    notes = (
        *rounded_note(names, found),
        *(check_types(batch, pins) if found["bad"] else ()),
        *_kept_note(batch, found["bad"]),
        *fewer_note(most, found["read"] + erased),
        *note_of(erased),
    )
    return Draft(account, sidecars=pins, checks=checks_of(rules, found), warnings=notes)


def _set_aside(
    batch: Batch, intake: Intake, others: LeftOut, checked: DataFrame, seen: RowCounts
) -> dict[str, Pin]:
    """Sets aside the collected bad rows or, if there were too many, those of the files that have some."""
    names, bad = [column.name for column in intake.plan.columns], counts_of(seen)["bad"]
    rows = carried_of(seen, checked, names, bad)
    if rows is None:
        some = intake.only(files_with_bad_rows(seen))
        again = validate_rows(batch, others.without(some))
        rows = where_last(again, f"size({REASONS}) > 0")
    if batch.step.table.on_bad_row is OnBadRow.FAIL:
        may_stop = rows.where(~F.col(SOURCE_FILE).isin(*_events(batch)))
        stop_if_asked(batch, may_stop.count(), may_stop)
    return set_aside(batch, intake.with_raw_columns(rows), names, bad)


def _events(batch: Batch) -> list[str]:
    """The files of events. Nobody sends an acknowledged event again, so it never stops a batch."""
    return [file.path for intake in batch.step.intakes if intake.source.has_events for file in intake.files]


def _kept_note(batch: Batch, bad: int) -> tuple[str, ...]:
    if not bad or batch.step.table.on_bad_row is not OnBadRow.FAIL:
        return ()
    events = "1 acknowledged event is" if bad == 1 else f"{bad:,} acknowledged events are"
    return (
        f"{events} in quarantine: on_bad_row: fail refuses events, and does not stop those that were"
        " acknowledged",
    )


def _counted(batch: Batch, layouts: Mapping[str, Layout]) -> int | None:
    """Counts the records of the batch's files without Spark; None if that is not possible, as for topics.

    A file that has disappeared is reported when the files are checked again.
    """
    root = batch.project.root
    if not all(intake.source.has_files for intake in batch.step.intakes):
        return None
    try:
        counts = [count_records(intake.files, intake.source, root, layouts) for intake in batch.step.intakes]
    except FileNotFoundError:
        return None
    return None if None in counts else sum(count for count in counts if count)


def validate_rows(batch: Batch, rows: DataFrame) -> DataFrame:
    """Returns rows with reasons of rules and of names of folders. Raises QualityError LS802."""
    rules, folders = batch.step.table.checks, _too_long_for_folders(batch, rows)
    if not rules and not folders:
        return rows
    parsed = F.size(REASONS) == 0
    broken = F.concat(rule_reasons(rules), *folders)
    return add_reasons(batch, rows, F.when(parsed, broken).otherwise(F.col(REASONS)))


def _too_long_for_folders(batch: Batch, rows: DataFrame) -> list[SparkColumn]:
    """For each text column that partitions, an array with the reason of a value that is too long."""
    most = _FOLDER_BYTES if batch.project.target.type == "local" else _KEY_BYTES
    texts = (field.name for field in rows.schema.fields if field.dataType.typeName() == "string")
    return [
        F.expr(
            f"IF(octet_length(url_encode({quoted(name)})) > {most - len(quote(name)) - 1}, "
            f"array({literal(f'{name}: too long a text to partition by')}), CAST(array() AS array<string>))"
        )
        for name in texts
        if quoted_if_odd(name) in batch.step.table.partition_by
    ]


def good_rows(
    batch: Batch,
    rows: DataFrame,
    columns: Sequence[Column],
    arrived: tuple[SparkColumn, SparkColumn] | None = None,
) -> DataFrame:
    """Returns the rows without reasons, as the table has them.

    ``arrived``: when the batch that took each row began, and its number; None: it is this batch.
    """
    ingested_at, number = arrived or (
        _of_batch(F.timestamp_millis(F.lit(batch.started_ms))),
        _of_batch(F.lit(batch.number).cast("bigint")),
    )
    good = rows.where(F.size(REASONS) == 0)
    return good.select(
        *(quoted(column.name) for column in columns),
        "_source_file",
        "_source_position",
        "_source_modified_at",
        ingested_at.alias("_ingested_at"),
        number.alias("_batch"),
    )


def _of_batch(value: SparkColumn) -> SparkColumn:
    """Returns a good row's copy of a value of its batch.

    Spark writes numbers into the code that it compiles, but passes lists to it: so the next batch, with
    another number, uses the code of this one. A good row has 0 reasons: the place in the list.
    """
    return F.get(F.array(value), F.size(REASONS))


def _require_same(batch: Batch, files: dict[FileIdentity, str]) -> None:
    """Raises Outdated if a file has changed since it was read: the batch is planned again."""
    if moved := _why_outdated(batch, list(files)):
        raise Outdated(moved)


def _why_outdated(batch: Batch, files: Sequence[FileIdentity]) -> str | None:
    """Returns what happened to the files since they were listed, None if nothing did."""
    changed = changed_files(
        [file for file in files if not is_slice(file.path)], batch.project.root, batch.project.target.store
    )
    if not changed:
        return None
    more = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
    return f"{changed[0].file.path} {changed[0].reason} since it was read{more}"
