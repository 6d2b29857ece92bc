"""A table whose inputs moved on without a change of rows: its positions move with them, without a JVM where that can be done.

Maintenance leaves all readers of a table so, and a run after it would start Spark for a commit without rows.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from dataclasses import replace

from lakesmith.catalog.record import Record
from lakesmith.execute.events import BatchReport
from lakesmith.execute.lake import Lake
from lakesmith.execute.ledger_lines import batch_number
from lakesmith.execute.record_publish import Ground, ground_of, publish_record
from lakesmith.plan.refusals import as_recorded
from lakesmith.plan.settings import renamings
from lakesmith.plan.steps import Decision, Strategy, TableStep


def takes_spark(lake: Lake, decisions: Iterable[Decision]) -> bool:
    """Whether any table has a step that cannot be done otherwise, as far as metadata tells."""
    return any(isinstance(each, TableStep) and _ground(lake, each) is None for each in decisions)


def publish_advance(lake: Lake, step: TableStep) -> BatchReport | None:
    """Does a step that only moves positions; None, and nothing done, for any other, and where it takes Spark to do it.

    Raises Outdated when the table is not where the step was planned, and what writing to the catalog raises.
    """
    ground = _ground(lake, step)
    if ground is None:
        return None
    record = _record(step, ground)
    return BatchReport(record, publish_record(ground.catalog, step, record), step.notes)


def _ground(lake: Lake, step: TableStep) -> Ground | None:
    ground = ground_of(lake, step) if step.strategy is Strategy.ADVANCE else None
    # Columns are renamed and dropped by Spark, as the first thing in a batch of any kind.
    is_sparks = step.drops or (ground is not None and renamings(step.table, ground.state))
    return None if is_sparks else ground


def _record(step: TableStep, ground: Ground) -> Record:
    base = ground.base
    same = base.fingerprint == step.fingerprint
    return replace(
        base,
        attempt=str(uuid.uuid4()),
        parent=base.attempt,
        batch=batch_number(step),
        kind=step.strategy.value,
        started_ms=time.time_ns() // 1_000_000,
        fingerprint=step.fingerprint,
        account=ground.same_rows,
        by_row=False,
        inputs={str(item.table): item.pin for item in step.inputs},
        files=0,
        ledger_hash=None,
        checks={},
        notes=(),
        refused=as_recorded(step.refused, step.table.trusts_python),
        definition=step.definition or (base.definition if same else {}),
        columns=ground.columns,
        unknown={},
    )
