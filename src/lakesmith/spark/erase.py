"""Erases persons' rows: out of main by a batch, then out of every remaining file. Each part does what is left
of it, so a killed erasure is continued by calling it again."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from lakesmith.catalog.family import sidecar_of
from lakesmith.catalog.record import Account, Pin, Record
from lakesmith.catalog.state import MAIN, RECORD_TAG, TableState
from lakesmith.execute.erase import Erasure, columns_of
from lakesmith.execute.faults import reach
from lakesmith.execute.lake import LEDGER_PIN, Lake
from lakesmith.project.definitions import TableName
from lakesmith.sources.ledger_table import is_of_attempt
from lakesmith.spark.batch.sidecar import SidecarKind
from lakesmith.spark.iceberg.commits import JavaTables, Publication, branch_of, physical
from lakesmith.spark.iceberg.drafts import begin, end
from lakesmith.spark.iceberg.procedures import rewrite_data_files, rewrite_position_deletes
from lakesmith.spark.iceberg.refs import RefChange, change_refs, explaining, move_main
from lakesmith.spark.kinds.erase import in_quarantine
from lakesmith.spark.start.session import SessionHandle
from lakesmith.sql.erasure_filter import ErasureFilter

_REWRITTEN: Final = (SidecarKind.QUARANTINE.value, SidecarKind.TOMBSTONES.value, LEDGER_PIN)


@dataclass(frozen=True, slots=True)
class Found:
    """What there is of the persons: rows and bad rows, by table."""

    rows: Mapping[TableName, int]
    bad_rows: Mapping[TableName, int]


def find(session: SessionHandle, lake: Lake, erasure: Erasure) -> Found:
    """Looks for the persons in every table of the project that has the columns, and in the quarantines."""
    spark, persons = session.spark, erasure.persons
    with explaining(session, lake.project.secrets):
        rows = {name: _rows(spark, name, persons).count() for name in _with_columns(lake, erasure)}
        quarantines = ((name, _quarantine(lake, name)) for name in (*erasure.tables, *erasure.others))
        bad = {name: _bad_rows(spark, each, persons).count() for name, each in quarantines if each}
    return Found(rows, bad)


def renew(session: SessionHandle, lake: Lake, name: TableName) -> int:
    """Rewrites data files that hide deleted rows, of a table and its sidecars, and records that; returns how
    many. Rows stay the same."""
    with explaining(session, lake.project.secrets):
        spark = session.spark
        files = _rewrite(spark, name)
        pins: dict[str, Pin] = {}
        base = lake.facts(name).base
        for kind in _REWRITTEN:
            if (pin := base.pin(kind)) is not None and pin.snapshot is not None:
                sidecar = sidecar_of(name, kind)
                move_main(spark, sidecar, pin.snapshot)
                files += _rewrite(spark, sidecar)
                state = _state(lake, sidecar)
                move_main(spark, sidecar, state.refs[MAIN])
                pins[kind] = Pin(state.uuid, state.refs[MAIN])
        reach("erase-rewritten", str(name))
        _record_anew(spark, lake, name, pins)
    return files


def forget_past(session: SessionHandle, lake: Lake, erasure: Erasure) -> dict[TableName, int]:
    """Deletes tags and expires all but the present snapshots of tables and sidecars; returns counts."""
    done = {}
    with explaining(session, lake.project.secrets):
        for name in erasure.tables:
            state = _state(lake, name)
            tags = tuple(tag for tag, tables in erasure.tags.items() if name in tables)
            if tags:
                change_refs(session.spark, name, RefChange(state.uuid, state.refs[MAIN], gone=tags))
            _keep_main_alone(session.spark, lake, sidecar_of(name, LEDGER_PIN))
            done[name] = sum(_expire(session.spark, lake, each) for each in (name, *beside(name)))
            reach("erase-past", str(name))
    return done


def _keep_main_alone(spark: SparkSession, lake: Lake, ledger: TableName) -> None:
    state = lake.catalog.table(ledger.layer, ledger.name)
    refs = tuple(ref for ref in (state.refs if state else ()) if is_of_attempt(ref) or ref == RECORD_TAG)
    if state is not None and refs:
        change_refs(spark, ledger, RefChange(state.uuid, state.refs[MAIN], gone=refs))


def _expire(spark: SparkSession, lake: Lake, name: TableName) -> int:
    state = lake.catalog.table(name.layer, name.name)
    if state is None:
        return 0
    gone = sorted(set(state.snapshots).difference(state.refs.values()))
    JavaTables(spark).expire(name, gone)
    return len(gone)


def beside(name: TableName) -> tuple[TableName, ...]:
    """The sidecars of a table that may hold values of its rows."""
    return tuple(sidecar_of(name, kind) for kind in _REWRITTEN)


def _record_anew(spark: SparkSession, lake: Lake, name: TableName, pins: Mapping[str, Pin]) -> None:
    """Publishes the same positions on the rewritten files."""
    progress, state = lake.facts(name).progress, _state(lake, name)
    if progress is None or state.head is None:
        return
    record, head = progress.record, state.head.snapshot_id
    moved = {kind: pin for kind, pin in pins.items() if record.sidecars.get(kind) not in (None, pin)}
    if head == progress.snapshot.snapshot_id and not moved:
        return
    attempt = str(uuid.uuid4())
    java = JavaTables(spark)
    draft = begin(spark, name, java.load(name), attempt)
    try:
        java.open_branch(name, branch_of(attempt), head)
        new = _next(record, attempt, moved)
        java.publish(name, draft, Publication(state.uuid, branch_of(attempt), head, head, new.to_summary()))
    finally:
        end(spark, name)


def _next(record: Record, attempt: str, moved: Mapping[str, Pin]) -> Record:
    rows = record.account.rows_after
    return replace(
        record,
        attempt=attempt,
        parent=record.attempt,
        batch=record.batch + 1,
        kind="erase",
        account=Account(rows_before=rows, rows_after=rows),
        sidecars={**record.sidecars, **moved},
        files=0,
        ledger_hash=None,
        checks={},
        gates={},
        notes=("data files were rewritten without the rows that were deleted",),
        unknown={},
    )


def _rewrite(spark: SparkSession, name: TableName) -> int:
    """Rewrites data files and manifests, without the deleted rows and what described them."""
    done = rewrite_data_files(spark, name, {"delete-file-threshold": "1", "remove-dangling-deletes": "true"})
    if spark.table(f"{physical(name)}.delete_files").count():
        # Iceberg tells by their age which files of positions went, and those of a young one in a table with
        # old data stay.
        rewrite_position_deletes(spark, name, every=True)
    _rewrite_manifests(spark, name)
    return done.files


def _rewrite_manifests(spark: SparkSession, name: TableName) -> None:
    """Rewrites the manifests of every partition spec, which still name removed files and their values.
    Iceberg's procedure skips single manifests and those of deletes; an empty commit drops the latter."""
    table, jvm = JavaTables(spark).load(name), spark._jvm
    if table.currentSnapshot() is not None and jvm is not None:
        in_one = jvm.com.google.common.base.Functions.constant("")
        table.rewriteManifests().clusterBy(in_one).commit()
        if table.currentSnapshot().deleteManifests(table.io()):
            table.newDelete().commit()


def _with_columns(lake: Lake, erasure: Erasure) -> Iterable[TableName]:
    for name in (*erasure.tables, *erasure.others):
        state = lake.catalog.table(name.layer, name.name)
        if state is not None and erasure.persons.within(columns_of(state)):
            yield name


def _rows(spark: SparkSession, name: TableName, persons: ErasureFilter) -> DataFrame:
    return spark.table(physical(name)).where(persons.condition())


def _bad_rows(spark: SparkSession, quarantine: TableName, persons: ErasureFilter) -> DataFrame:
    return spark.table(physical(quarantine)).where(in_quarantine(persons))


def _quarantine(lake: Lake, name: TableName) -> TableName | None:
    """The table's quarantine, where its record knows of one with rows."""
    pin = lake.facts(name).base.pin(SidecarKind.QUARANTINE)
    return sidecar_of(name, SidecarKind.QUARANTINE) if pin is not None and pin.snapshot is not None else None


def _state(lake: Lake, name: TableName) -> TableState:
    state = lake.catalog.table(name.layer, name.name)
    assert state is not None, f"{name} was dropped meanwhile"
    return state
