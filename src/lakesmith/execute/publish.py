"""Publishes a progress record or a change of the file ledger without a JVM, and the ledger's lines that
ingest nothing."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.progress import most_live_rows
from lakesmith.catalog.record import Account, Pin, Record
from lakesmith.catalog.record_commit import can_be_written, write_commit
from lakesmith.catalog.state import TableState
from lakesmith.errors import SourceError
from lakesmith.execute.engine import Outdated
from lakesmith.execute.events import BatchReport
from lakesmith.execute.faults import reach
from lakesmith.execute.lake import LEDGER_PIN, Lake
from lakesmith.plan.facts import as_recorded
from lakesmith.plan.settings import structure_changes
from lakesmith.plan.steps import Decision, Strategy, TableStep
from lakesmith.project.definitions import TableDefinition
from lakesmith.sources.identity import fingerprints
from lakesmith.sources.ledger import hash_entries
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry
from lakesmith.sources.names import printable

_TRIES: Final = 30


@dataclass(frozen=True, slots=True)
class Ground:
    """What a record is based on: the newest record, and the table's rows in a catalog that can swap it."""

    catalog: LocalCatalog
    base: Record
    state: TableState
    rows: int


def ground_of(lake: Lake, step: TableStep) -> Ground | None:
    """Returns what a record is based on; None if only Spark can write the record."""
    base, catalog = step.base.record, lake.catalog
    state = catalog.table(step.name.layer, step.name.name)
    if base is None or state is None or not isinstance(catalog, LocalCatalog):
        return None
    rows = _known_rows(state)
    return Ground(catalog, base, state, rows) if rows is not None and can_be_written(state) else None


def publish_record(catalog: LocalCatalog, step: TableStep, record: Record) -> int:
    """Swaps the record's snapshot in; returns its number. Raises Outdated if main moved."""
    name = step.name
    for _ in range(_TRIES):
        state = catalog.table(name.layer, name.name)
        _require_unmoved(state, step)
        if state is None or not can_be_written(state):
            raise Outdated("another writer changed the table since it was planned")
        commit = write_commit(state, record.to_summary())
        reach("before-swap", str(name))
        if catalog.swap(name.layer, name.name, commit):
            reach("after-publish", str(name))
            return commit.snapshot
    raise Outdated("the table's metadata changed at every try to publish")


def _known_rows(state: TableState) -> int | None:
    """Returns the rows of main's head; None if its summary does not have them."""
    head = state.head
    if head is None or (state.may_leave_deletes and head.count("total-position-deletes")):
        return None
    return most_live_rows(head)


def _require_unmoved(state: TableState | None, step: TableStep) -> None:
    if state is None or state.uuid != step.base.uuid:
        raise Outdated("the table was dropped or created again since it was planned")
    if state.head_id != step.base.snapshot:
        raise Outdated("another writer moved the table since it was planned")


def takes_spark(lake: Lake, decisions: Iterable[Decision]) -> bool:
    """Whether any table has a step that cannot be done otherwise, as far as metadata tells."""
    return any(isinstance(each, TableStep) and _still_ground(lake, each) is None for each in decisions)


def publish_advance(lake: Lake, step: TableStep) -> BatchReport | None:
    """Does a step that only moves positions, as after maintenance of the inputs; None if it needs Spark.
    Raises Outdated, and what the catalog raises."""
    ground = _still_ground(lake, step)
    if ground is None:
        return None
    base = ground.base
    record = _record(
        step,
        ground,
        inputs={str(item.table): item.pin for item in step.inputs},
        ledger_hash=None,
        refused=as_recorded(step.refused, step.table.trusts_python),
        definition=step.definition or (base.definition if base.fingerprint == step.fingerprint else {}),
        notes=(),
        unknown={},
    )
    return BatchReport(record, publish_record(ground.catalog, step, record), step.notes)


def _still_ground(lake: Lake, step: TableStep) -> Ground | None:
    """Returns what the record of a step that moves positions alone is based on; None for another step."""
    ground = ground_of(lake, step) if step.strategy is Strategy.ADVANCE and not step.drops else None
    return None if ground is None or structure_changes(step.table, ground.state) else ground


def publish_ledger(lake: Lake, step: TableStep) -> BatchReport | None:
    """Does a step that only writes to the ledger; None if it needs Spark. Raises Outdated, and what ledger
    and catalog raise."""
    ground = ground_of(lake, step)
    if ground is None or _has_rows_to_go(lake, step, ground.base):
        return None
    record = _record(step, ground, notes=tuple(ledger_notes(step)))
    entries = asked_entries(step, record.attempt, record.started_ms)
    pin = lake.ledgers.append(step.name, ground.base.sidecars.get(LEDGER_PIN), entries)
    reach("after-intent", str(step.name))
    sidecars = {**ground.base.sidecars, LEDGER_PIN: pin}
    record = replace(record, sidecars=sidecars, ledger_hash=hash_entries(entries))
    return BatchReport(record, publish_record(ground.catalog, step, record), record.notes)


def _has_rows_to_go(lake: Lake, step: TableStep, base: Record) -> bool:
    forgotten = [file.path for intake in step.intakes for file in intake.forget]
    pin: Pin | None = base.sidecars.get(LEDGER_PIN)
    return bool(forgotten) and lake.ledgers.ever_taken(step.name, pin, forgotten)


def _record(step: TableStep, ground: Ground, **own: Any) -> Record:
    return replace(
        ground.base,
        attempt=str(uuid.uuid4()),
        parent=ground.base.attempt,
        batch=batch_number(step),
        kind=step.strategy.value,
        started_ms=time.time_ns() // 1_000_000,
        fingerprint=step.fingerprint,
        account=Account(rows_before=ground.rows, rows_after=ground.rows),
        by_row=False,
        files=0,
        checks={},
        gates={},
        columns={column.name: column.field_id for column in ground.state.columns},
        **own,
    )


def asked_entries(step: TableStep, attempt: str, started_ms: int) -> list[LedgerEntry]:
    """The lines of files that the user wants left out, or forgotten, and of those that were rewritten."""
    asked = [
        (file, intake.source.name, action)
        for intake in step.intakes
        for action, files in (
            (FileAction.SKIPPED, intake.skip),
            (FileAction.FORGOTTEN, intake.forget),
            (FileAction.TAKEN, intake.renewed),
        )
        for file in files
    ]
    number = batch_number(step)
    return [LedgerEntry(file, source, action, attempt, number, started_ms) for file, source, action in asked]


def unread_entries(step: TableStep, attempt: str, started_ms: int, root: Path) -> list[LedgerEntry]:
    """The lines of files that could not be read, with what fingerprint they have."""
    number = batch_number(step)
    return [
        LedgerEntry(
            _fingerprinted(unread.file, root),
            intake.source.name,
            FileAction.KEPT if unread.taken else FileAction.UNREADABLE,
            attempt,
            number,
            started_ms,
        )
        for intake in step.intakes
        for unread in intake.unread
    ]


def events_there(table: TableDefinition, root: Path) -> dict[str, frozenset[str]]:
    """By the folder of each source of events the names that are in it now."""
    folders = {source.path: root / source.path for source in table.sources if source.has_events}
    return {
        path: frozenset(each.name for each in folder.iterdir()) if folder.is_dir() else frozenset()
        for path, folder in folders.items()
    }


def batch_number(step: TableStep) -> int:
    """The batch's number, for people: one more than that of the batch it continues."""
    return step.base.record.batch + 1 if step.base.record else 1


def ledger_notes(step: TableStep) -> Iterator[str]:
    for intake in step.intakes:
        yield from (f"{printable(file.path)} is skipped from now on" for file in intake.skip)
        yield from (f"{printable(file.path)} was forgotten" for file in intake.forget)
        for unread in intake.unread:
            kept = "; the rows that were taken of it before stay" if unread.taken else ""
            yield (
                f"{printable(unread.file.path)} was left out (on_bad_file: skip): {unread.reason}{kept}."
                " It is tried again once it has changed"
            )


def _fingerprinted(file: FileIdentity, root: Path) -> FileIdentity:
    """Returns the file with its fingerprint, unless it cannot be read."""
    try:
        return replace(file, etag=fingerprints((file,), root)[file.path])
    except SourceError:
        return file
