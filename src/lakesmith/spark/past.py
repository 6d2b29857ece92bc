"""Commits rollbacks and tags, one commit per table. An interrupted rollback is completed by the next run."""

from __future__ import annotations

import time
from collections.abc import Mapping

from lakesmith.catalog.family import HOLD_KEY, Hold
from lakesmith.catalog.state import MAIN, RECORD_TAG, TableState
from lakesmith.execute.faults import reach
from lakesmith.execute.lake import Lake
from lakesmith.plan.rollback import Move, Rollback
from lakesmith.project.definitions import TableName
from lakesmith.spark.iceberg.refs import RefChange, change_refs, explaining, move_main
from lakesmith.spark.start.session import SessionHandle


def roll_back(session: SessionHandle, lake: Lake, rollback: Rollback, *, hold: bool) -> None:
    """Rolls the tables back; ``hold`` freezes the first one. Raises StateError LS511, RunError with the root
    cause."""
    with explaining(session, lake.project.secrets):
        for move in rollback.moves:
            held = hold and move is rollback.moves[0]
            change_refs(session.spark, move.name, _change(move, held=held))
            reach("after-publish", str(move.name))
            for name, snapshot in move.sidecars.items():
                move_main(session.spark, name, snapshot)


def release(session: SessionHandle, lake: Lake, name: TableName) -> None:
    """Resumes the refreshes of a frozen table. Raises as ``roll_back``."""
    state = lake.catalog.table(name.layer, name.name)
    if state is not None and state.head is not None:
        change = RefChange(state.uuid, state.head.snapshot_id, properties={HOLD_KEY: None})
        with explaining(session, lake.project.secrets):
            change_refs(session.spark, name, change)


def _change(move: Move, *, held: bool) -> RefChange:
    now = time.time_ns() // 1_000_000
    properties = {HOLD_KEY: Hold(now, f"batch {move.record.batch}").to_property()} if held else {}
    return RefChange(
        move.uuid, move.begin, {MAIN: move.to}, {RECORD_TAG: move.recorded}, properties=properties
    )


def set_tag(session: SessionHandle, lake: Lake, tag: str, tables: Mapping[TableName, TableState]) -> None:
    """Sets ``tag`` on the heads of the tables. Raises as ``roll_back``."""
    heads = {name: state.refs[MAIN] for name, state in tables.items()}
    changes = {
        name: RefChange(state.uuid, heads[name], tags={tag: heads[name]}) for name, state in tables.items()
    }
    _change_all(session, lake, changes)


def remove_tag(session: SessionHandle, lake: Lake, tag: str, tables: Mapping[TableName, TableState]) -> None:
    """Deletes ``tag`` from the tables. Raises as ``set_tag``."""
    gone = {name: RefChange(state.uuid, state.refs[MAIN], gone=(tag,)) for name, state in tables.items()}
    _change_all(session, lake, gone)


def _change_all(session: SessionHandle, lake: Lake, changes: Mapping[TableName, RefChange]) -> None:
    with explaining(session, lake.project.secrets):
        for name, change in changes.items():
            change_refs(session.spark, name, change)
            reach("after-publish", str(name))
