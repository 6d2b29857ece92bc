"""A table whose inputs moved on without a change of rows, or whose declaration has changed: positions and metadata follow, without a JVM
where that can be done.

Maintenance leaves all readers of a table so, and a run after it would start Spark for a commit without rows.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from lakesmith.catalog.metadata import read_metadata
from lakesmith.catalog.record import Record
from lakesmith.execute.events import BatchReport
from lakesmith.execute.lake import Lake
from lakesmith.execute.ledger_lines import batch_number
from lakesmith.execute.record_publish import Ground, ground_of, publish_record
from lakesmith.execute.structure import columns_of, restructured
from lakesmith.plan.refusals import as_recorded
from lakesmith.plan.settings import still_ahead, structure_changes
from lakesmith.plan.steps import Decision, Strategy, TableStep


def takes_spark(lake: Lake, decisions: Iterable[Decision]) -> bool:
    """Whether any table has a step that cannot be done otherwise, as far as metadata tells."""
    return any(isinstance(each, TableStep) and _ground(lake, each) is None for each in decisions)


def publish_advance(lake: Lake, step: TableStep) -> BatchReport | None:
    """Does a step that only moves positions; None, and nothing done, for any other, and where it takes Spark to do it.

    Raises Outdated when the table is not where the step was planned, and what writing to the catalog raises.
    """
    found = _ground(lake, step)
    if found is None:
        return None
    ground, after = found
    done = structure_changes(step.table, ground.state)
    record = replace(_record(step, ground), columns=columns_of(after), notes=done)
    head = publish_record(ground.catalog, step, record, restructured)
    return BatchReport(record, head, (*still_ahead(step.notes, done), *done))


def _ground(lake: Lake, step: TableStep) -> tuple[Ground, Mapping[str, Any]] | None:
    """And the table's metadata as it will be. Columns are dropped by Spark."""
    moves_alone = step.strategy is Strategy.ADVANCE and not step.drops
    ground = ground_of(lake, step) if moves_alone else None
    if ground is None:
        return None
    after = restructured(step.table, ground.state, read_metadata(ground.state.metadata_location))
    return None if after is None else (ground, after)


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
        refused=as_recorded(step.refused, step.table.trusts_python),
        definition=step.definition or (base.definition if same else {}),
        unknown={},
    )
