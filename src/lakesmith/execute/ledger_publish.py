"""Files skipped or forgotten without a JVM, where no row has to go with them: the ledger's new lines, and a record that pins them.

The same one commit point as every batch's: the record is swapped in, if the table is where the step was planned.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import replace

from lakesmith.catalog.record import Pin, Record
from lakesmith.execute.events import BatchReport
from lakesmith.execute.faults import reach
from lakesmith.execute.lake import LEDGER_PIN, Lake
from lakesmith.execute.ledger_lines import asked_entries, batch_number, ledger_notes
from lakesmith.execute.record_publish import Ground, ground_of, publish_record
from lakesmith.plan.steps import TableStep
from lakesmith.sources.ledger import hash_entries


def publish_ledger(lake: Lake, step: TableStep) -> BatchReport | None:
    """Does a step that only enters files in the ledger; None, and nothing done, where it takes Spark to do it.

    Raises Outdated when the table is not where the step was planned, and what writing to the ledger and the catalog raises.
    """
    ground = ground_of(lake, step)
    if ground is None or _has_rows_to_go(lake, step, ground.base):
        return None
    attempt, started_ms = str(uuid.uuid4()), time.time_ns() // 1_000_000
    entries = asked_entries(step, attempt, started_ms)
    pin = lake.ledgers.append(step.name, ground.base.sidecars.get(LEDGER_PIN), entries)
    reach("after-intent", str(step.name))
    record = replace(
        _record(step, ground),
        attempt=attempt,
        started_ms=started_ms,
        sidecars={**ground.base.sidecars, LEDGER_PIN: pin},
        ledger_hash=hash_entries(entries),
    )
    return BatchReport(record, publish_record(ground.catalog, step, record), record.notes)


def _has_rows_to_go(lake: Lake, step: TableStep, base: Record) -> bool:
    forgotten = [file.path for intake in step.intakes for file in intake.forget]
    pin: Pin | None = base.sidecars.get(LEDGER_PIN)
    return bool(forgotten) and lake.ledgers.ever_taken(step.name, pin, forgotten)


def _record(step: TableStep, ground: Ground) -> Record:
    return replace(
        ground.base,
        parent=ground.base.attempt,
        batch=batch_number(step),
        kind=step.strategy.value,
        fingerprint=step.fingerprint,
        account=ground.same_rows,
        by_row=False,
        files=0,
        checks={},
        notes=tuple(ledger_notes(step)),
        columns=ground.columns,
    )
