"""Batches that ingest no rows: the ledger changes (files are skipped or forgotten), or positions and
metadata.

A forgotten file is ingested again by the next run. Its rows, and its bad rows in quarantine, are deleted by
the commit that says so: no reader and no later run finds them twice or not at all.
"""

from __future__ import annotations

from lakesmith.catalog.record import Account, Pin
from lakesmith.execute.lake import LEDGER_PIN, Lake
from lakesmith.execute.publish import asked_entries, ledger_notes, unread_entries
from lakesmith.sources.columns.types import known_columns
from lakesmith.sources.ledger import hash_entries
from lakesmith.spark.batch.context import Batch, Draft
from lakesmith.spark.batch.earlier_rows import delete_rows_of, is_of, names_in_rows, require_none_of
from lakesmith.spark.batch.quarantine import COLUMNS
from lakesmith.spark.batch.sidecar import SidecarKind, SidecarWriter
from lakesmith.spark.kinds.derive import prepare_table
from lakesmith.spark.kinds.ingest_files import SYSTEM_COLUMNS


def change_ledger(batch: Batch, lake: Lake) -> tuple[str, Draft]:
    """Writes the step's lines to the ledger and deletes the rows of forgotten files."""
    there, columns = batch.there(), (*batch.step.table.columns, *SYSTEM_COLUMNS)
    prepared = [] if there else prepare_table(batch, there, columns)
    entries = [
        *asked_entries(batch.step, batch.attempt, batch.started_ms),
        *unread_entries(batch.step, batch.attempt, batch.started_ms, batch.project.root),
    ]
    pin = lake.ledgers.append(batch.name, batch.step.base.pin(LEDGER_PIN), entries)
    batch.pass_point("after-intent")
    table_uuid = batch.open_branch()
    forgotten = [file.path for intake in batch.step.intakes for file in intake.forget]
    deleted = _delete(batch, lake, forgotten) if forgotten else 0
    sidecars = _clear_quarantine(batch, names_in_rows(batch, lake, forgotten)) if forgotten else {}
    return table_uuid, Draft(
        Account(deleted=deleted),
        by_row=False,
        sidecars={**sidecars, LEDGER_PIN: pin},
        ledger_hash=hash_entries(entries),
        warnings=(*prepared, *ledger_notes(batch.step)),
    )


def advance(batch: Batch, _lake: Lake) -> tuple[str, Draft]:
    """Moves positions of inputs, and changes metadata to what is declared: no row is read or written."""
    there, table = batch.there(), batch.step.table
    columns = (*known_columns(table, there), *SYSTEM_COLUMNS) if table.is_sourced else ()
    said = prepare_table(batch, there, columns) if there else []
    return batch.open_branch(), Draft(Account(), by_row=False, warnings=tuple(said))


def _delete(batch: Batch, lake: Lake, paths: list[str]) -> int:
    if batch.step.base.snapshot is None:
        return 0
    batch.say(f"deleting the rows of {len(paths)} forgotten file{'s' if len(paths) > 1 else ''}")
    return delete_rows_of(batch, lake, paths)


def _clear_quarantine(batch: Batch, paths: list[str]) -> dict[str, Pin]:
    """Deletes the files' bad rows from quarantine: they come back with the file, if they are still bad."""
    if batch.step.base.pin(SidecarKind.QUARANTINE) is None:
        return {}
    writer = SidecarWriter(batch, SidecarKind.QUARANTINE, COLUMNS)
    writer.open()
    writer.clear(is_of("source_file", paths))
    require_none_of(batch, writer.target, "source_file", paths)
    batch.pass_point("after-quarantine")
    return {writer.kind.value: writer.pin()}
