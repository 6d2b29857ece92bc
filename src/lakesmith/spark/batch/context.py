"""One batch, from the working branch to the publish. It writes to its own branch, is checked against the
snapshots' summaries, and is published by one compare-and-swap. The branch of a batch that dies is removed by
the next publish."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Event as Flag
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakesmith.catalog.progress import most_live_rows
from lakesmith.catalog.protocol import Catalog
from lakesmith.catalog.record import READER, Account, Gate, Pin, Record
from lakesmith.catalog.state import Snapshot, TableState
from lakesmith.errors import RunError
from lakesmith.execute.engine import Outdated, RunStopped
from lakesmith.execute.events import BatchReport, Listener, PhaseStarted
from lakesmith.execute.faults import reach
from lakesmith.execute.publish import batch_number
from lakesmith.plan.facts import as_recorded
from lakesmith.plan.steps import InputRange, Strategy, TableStep
from lakesmith.project.definitions import Project, TableName
from lakesmith.project.windows import NO_MARKS, Marks
from lakesmith.spark.iceberg.commits import (
    NO_CHANGE,
    JavaTables,
    Publication,
    SchemaChange,
    branch_of,
    physical,
)
from lakesmith.spark.iceberg.deletes import deleted_rows, remove_left_behind
from lakesmith.spark.iceberg.drafts import Draft as TableDraft
from lakesmith.spark.iceberg.drafts import begin, draft_of, end
from lakesmith.spark.iceberg.others import meet_inputs


@dataclass(frozen=True)
class Batch:
    """A batch: its session, lake, step and identity. ``attempt`` is a fresh UUID; ``started_ms`` since the
    epoch; ``stop`` prevents its publish; ``checked`` are the rows that row rules are applied to."""

    spark: SparkSession
    catalog: Catalog
    project: Project
    step: TableStep
    listener: Listener
    attempt: str = field(default_factory=lambda: str(uuid.uuid4()))
    started_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    stop: Flag = field(default_factory=Flag)
    checked: list[DataFrame] = field(default_factory=list)

    @property
    def name(self) -> TableName:
        return self.step.name

    @property
    def number(self) -> int:
        """The batch's number, for people: one more than that of the batch it continues."""
        return batch_number(self.step)

    @property
    def branch(self) -> str:
        return branch_of(self.attempt)

    @property
    def target(self) -> str:
        """The working branch as a table name for Spark SQL."""
        return physical(self.name, self.branch)

    def view(self, part: str) -> str:
        """A name for a temporary view of this attempt; several attempts may be under way in one session."""
        return f"lakesmith_{self.attempt.replace('-', '')}_{part}"

    @cached_property
    def java(self) -> JavaTables:
        return JavaTables(self.spark)

    def meet_inputs(self) -> None:
        """Registers the external tables that the batch reads in the session."""
        meet_inputs(
            self.spark, self.catalog, self.project, (self.name, *(item.table for item in self.step.inputs))
        )

    def say(self, phase: str) -> None:
        self.listener(PhaseStarted(self.name, phase))

    def pass_point(self, point: str) -> None:
        """A named place where tests make a batch fail."""
        reach(point, str(self.name))

    def there(self) -> TableState | None:
        """The metadata of the table, or of its draft, now; None when there is no such table."""
        if (draft := draft_of(self.name)) is not None:
            return self.java.state_of(self.name, draft)
        return self.catalog.table(self.name.layer, self.name.name)

    def begin_draft(self, state: TableState) -> None:
        """Makes the batch change the table on a draft (see ``drafts``). Raises Outdated if the table is not
        as in ``state`` any more."""
        if draft_of(self.name) is None:
            draft = begin(self.spark, self.name, self.java.load(self.name), self.attempt)
            draft.require_origin(state.metadata_location)

    def draft(self) -> TableDraft:
        """The table's draft. Raises Outdated without one."""
        if (draft := draft_of(self.name)) is None:
            raise Outdated("the batch's draft is gone")
        return draft

    def end_draft(self) -> None:
        """Called when the batch is over, however it ended."""
        end(self.spark, self.name)

    def state(self) -> TableState:
        """The table's metadata now. Raises Outdated when the table is gone."""
        state = self.there()
        if state is None:
            raise Outdated("the table was dropped while the batch ran")
        return state

    def require_unmoved(self) -> None:
        """Raises Outdated when another has published since this was planned."""
        state = self.catalog.table(self.name.layer, self.name.name)
        head = state.head_id if state else None
        if head != self.step.base.snapshot:
            raise Outdated("another writer moved the table while the batch ran")

    def open_branch(self) -> str:
        """Opens the working branch and returns the table's UUID. Raises Outdated if the table is another
        one."""
        state, base = self.state(), self.step.base
        if base.uuid not in (None, state.uuid):
            raise Outdated("the table was dropped and created again")
        if state.head_id != base.snapshot:
            raise Outdated("another writer moved the table since it was planned")
        self.begin_draft(state)
        self.java.open_branch(self.name, self.branch, base.snapshot)
        self.pass_point("after-branch")
        return state.uuid

    def written(self, state: TableState | None = None) -> tuple[Snapshot, ...]:
        """Returns the batch's snapshots on its branch, oldest first. Raises Outdated if the branch is
        gone."""
        state = state or self.state()
        if self.branch not in state.refs:
            raise Outdated(
                "the batch's working branch is gone: the table was replaced, or another run took over"
            )
        mine: list[Snapshot] = []
        for snapshot in state.ancestors(state.refs[self.branch]):
            if snapshot.snapshot_id == self.step.base.snapshot:
                break
            mine.append(snapshot)
        return tuple(reversed(mine))


@dataclass(frozen=True)
class Draft:
    """What a batch has written, to be checked, recorded and published. ``account`` lacks the row counts
    before and after; ``sidecars`` are changed pins; ``schema`` is the column change; ``done`` the strategy,
    if chosen here; ``marks`` decided the windows; ``ahead`` and ``unknown`` count rows that moved no
    watermark, and lookups without a row. ``metrics`` and ``gates`` as in the record; without ``metrics`` the
    earlier ones stay."""

    account: Account
    by_row: bool = True
    sidecars: Mapping[str, Pin] = field(default_factory=dict)
    checks: Mapping[str, int] = field(default_factory=dict)
    files: int = 0
    ledger_hash: str | None = None
    warnings: tuple[str, ...] = ()
    schema: SchemaChange = NO_CHANGE
    done: Strategy | None = None
    marks: Marks = NO_MARKS
    ahead: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)
    metrics: Mapping[str, tuple[float, ...]] | None = None
    gates: Mapping[str, Gate] = field(default_factory=dict)


def finish(batch: Batch, table_uuid: str, draft: Draft) -> BatchReport:
    """Checks the draft against the snapshots, records and publishes it. Raises RunError LS610, Outdated,
    RunStopped."""
    batch.say("checking")
    # One look for all checks and the record, once all is written; that main is still where it was, the
    # publish itself finds out.
    state = batch.state()
    account = checked_account(batch, draft, state)
    batch.pass_point("after-check")
    record = _record(batch, replace(draft, account=account), state)
    batch.say("publishing")
    batch.pass_point("before-publish")
    if batch.stop.is_set():
        raise RunStopped([])
    checked = state.refs[batch.branch]
    work = Publication(table_uuid, batch.branch, batch.step.base.snapshot, checked, record.to_summary())
    head = batch.java.publish(batch.name, batch.draft(), work, draft.schema)
    batch.pass_point("after-publish")
    return BatchReport(record, head, draft.warnings)


def _record(batch: Batch, draft: Draft, state: TableState) -> Record:
    step, base = batch.step, batch.step.base.record
    return Record(
        attempt=batch.attempt,
        parent=base.attempt if base else None,
        batch=batch.number,
        kind=(draft.done or step.strategy).value,
        started_ms=batch.started_ms,
        fingerprint=step.fingerprint,
        account=draft.account,
        by_row=draft.by_row,
        inputs={str(range_.table): range_.pin for range_ in step.inputs},
        sidecars={**(base.sidecars if base else {}), **draft.sidecars},
        files=draft.files,
        ledger_hash=draft.ledger_hash,
        checks=draft.checks,
        notes=draft.warnings,
        refused=as_recorded(step.refused, step.table.trusts_python),
        definition=step.definition
        or (base.definition if base and base.fingerprint == step.fingerprint else {}),
        columns=_columns(state, draft.schema),
        unknown=draft.unknown,
        metrics=draft.metrics if draft.metrics is not None else (base.metrics if base else {}),
        gates=draft.gates,
        readers=_readers(batch, base),
        **_windows(step, draft),
    )


def _readers(batch: Batch, base: Record | None) -> Mapping[str, int]:
    if base is None or batch.step.strategy is Strategy.FULL:
        return {str(READER): 0}
    return {**base.readers, str(READER): base.readers.get(str(READER), batch.number)}


def _windows(step: TableStep, draft: Draft) -> dict[str, Any]:
    """Returns the marks that decided the windows; the earlier ones if no row was computed."""
    base = step.base.record
    if step.strategy is Strategy.ADVANCE and base is not None:
        names = ("idle", "closed", "closed_later", "arrived", "ahead")
        return {name: getattr(base, name) for name in names}
    marks = draft.marks
    return {
        "idle": tuple(map(str, step.idle)),
        "closed": marks.until,
        "closed_later": marks.later,
        "arrived": step.arrived,
        "ahead": draft.ahead,
    }


def _columns(state: TableState, change: SchemaChange) -> dict[str, int]:
    """Returns the ids of the columns in their order after the publish."""
    names = dict(change.rename)
    kept = (column for column in state.columns if column.name not in change.drop)
    ids = {names.get(column.name, column.name): column.field_id for column in kept}
    return {name: ids[name] for name in dict.fromkeys((*change.order, *ids))}


def checked_account(batch: Batch, draft: Draft, state: TableState) -> Account:
    """Returns the account with the row counts before and after. Checks that rows read = rows placed (if by
    row), that before + inserted - deleted = after, and that Iceberg counted the written rows alike."""
    before = live_rows(batch, state, batch.step.base.snapshot)
    written = batch.written(state)
    after = live_rows(batch, state, written[-1].snapshot_id) if written else before
    account = replace(draft.account, rows_before=before, rows_after=after)
    added = sum(snapshot.count("added-records") for snapshot in written)
    facts = (
        ("rows before + inserted - deleted = rows after", before + account.inserted - account.deleted, after),
        (
            "rows inserted and updated = rows added by the snapshots",
            account.inserted + account.updated,
            added,
        ),
        *((("rows read = rows placed", account.read, _placed(batch, account)),) if draft.by_row else ()),
    )
    for law, left, right in facts:
        if left != right:
            raise _unbalanced(batch.name, law, left, right, account)
    return account


def _placed(batch: Batch, account: Account) -> int:
    """Returns the placed rows, without deletes of rows that were there before the batch."""
    earlier = batch.step.strategy in (Strategy.FULL, Strategy.FILES) and account.versions is None
    return account.placed - (account.deleted if earlier else 0)


def live_rows(batch: Batch, state: TableState, snapshot_id: int | None, name: TableName | None = None) -> int:
    """Returns a snapshot's rows by its summary; by its files if there is no total or deletes may hide
    nothing. Rows under equality deletes count: both sides of the balance have them. Raises Outdated if the
    snapshot is gone."""
    if snapshot_id is None:
        return 0
    snapshot = state.snapshots.get(snapshot_id)
    if snapshot is None:
        raise Outdated(
            f"the table has no snapshot {snapshot_id} any more: it was replaced or its snapshots expired"
        )
    total = snapshot.known_count("total-records")
    if total is not None and snapshot.count("total-position-deletes") and state.may_leave_deletes:
        return total - deleted_rows(batch.spark, batch.java.load(name or batch.name), snapshot_id)
    known = most_live_rows(snapshot)
    return _rows_in_manifests(batch, name or batch.name, snapshot_id) if known is None else known


def remove_left_deletes(batch: Batch, name: TableName, state: TableState) -> None:
    """Removes position-delete files whose data files a statement on the working branch has replaced."""
    snapshot = state.snapshots.get(state.refs[batch.branch])
    if snapshot is not None and snapshot.count("total-position-deletes") and state.may_leave_deletes:
        remove_left_behind(batch.spark, batch.java.load(name), snapshot.snapshot_id, batch.branch)


def _rows_in_manifests(batch: Batch, name: TableName, snapshot_id: int) -> int:
    """Returns the rows by manifests: after a snapshot without a total, Iceberg writes none."""
    files = f"(SELECT content, record_count FROM {physical(name)}.files VERSION AS OF {snapshot_id})"
    counted = "sum(CASE content WHEN 0 THEN record_count WHEN 1 THEN -record_count END)"
    return int(batch.spark.sql(f"SELECT coalesce({counted}, 0) FROM {files}").collect()[0][0])


def rows_read(batch: Batch) -> int:
    """Returns the rows of the step's input ranges, by the snapshots' own summaries."""
    return sum(_rows_of(batch, item) for item in batch.step.driving)


def _rows_of(batch: Batch, item: InputRange) -> int:
    """Returns an input's rows; by its files if summaries may count deletes that hide nothing."""
    if item.start is None and item.rows is not None:
        state = batch.catalog.table(item.table.layer, item.table.name)
        if state is not None and state.may_leave_deletes:
            return live_rows(batch, state, item.end, item.table)
    return item.rows or 0


def _unbalanced(name: TableName, law: str, left: int, right: int, account: Account) -> RunError:
    return RunError.of(
        "LS610",
        f"the row counts of {name} do not balance, so the batch was not published",
        expected=law,
        found=f"{left} is not {right}; {account}",
        hint="nothing was lost: the inputs are as they were. Run it again; if it repeats, please report it",
    )
