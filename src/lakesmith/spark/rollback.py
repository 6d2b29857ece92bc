"""Does a rollback: one commit for each table, the asked one first. What is done is right whenever it ends: tables below that were not reached follow
with the next run."""

from __future__ import annotations

import time

from lakesmith.catalog.hold import HOLD_KEY, Hold
from lakesmith.catalog.state import MAIN, RECORD_TAG
from lakesmith.execute.faults import reach
from lakesmith.execute.lake import Lake
from lakesmith.plan.rollback import Move, Rollback
from lakesmith.project.definitions import TableName
from lakesmith.spark.iceberg.refs import RefChange, change_refs, move_main, told
from lakesmith.spark.start.session import SessionHandle


def roll_back(session: SessionHandle, lake: Lake, rollback: Rollback, *, hold: bool) -> None:
    """Sets the tables back; ``hold``: the first one stays there until it is released.

    Raises StateError LS511 when a table was moved meanwhile, RunError with the root cause of what fails.
    """
    with told(session, lake.project.secrets):
        for move in rollback.moves:
            held = hold and move is rollback.moves[0]
            change_refs(session.spark, move.name, _change(move, held=held))
            reach("after-publish", str(move.name))
            for name, snapshot in move.sidecars.items():
                move_main(session.spark, name, snapshot)


def release(session: SessionHandle, lake: Lake, name: TableName) -> None:
    """Has runs bring the table on again. Raises as ``roll_back``."""
    state = lake.catalog.table(name.layer, name.name)
    if state is not None and state.head is not None:
        change = RefChange(state.uuid, state.head.snapshot_id, properties={HOLD_KEY: None})
        with told(session, lake.project.secrets):
            change_refs(session.spark, name, change)


def _change(move: Move, *, held: bool) -> RefChange:
    now = time.time_ns() // 1_000_000
    properties = {HOLD_KEY: Hold(now, f"batch {move.record.batch}").to_property()} if held else {}
    return RefChange(
        move.uuid, move.begin, {MAIN: move.to}, {RECORD_TAG: move.recorded}, properties=properties
    )
