"""Where a derived table stands in each of its inputs, and what is new there. From metadata alone."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from lakesmith.catalog.progress import Reason, append_only_since, record_of, rows_at
from lakesmith.catalog.record import Pin
from lakesmith.catalog.state import MAIN, TableState
from lakesmith.errors import LakesmithError
from lakesmith.execute.lake import Lake
from lakesmith.plan.facts import TableFacts
from lakesmith.project.definitions import TableName


class InputChange(StrEnum):
    """What happened in an input since the table read it."""

    NOTHING = "nothing"
    APPENDED = "appended"
    CHANGED = "changed"
    NEVER_READ = "never_read"
    REPLACED = "replaced"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class InputPosition:
    """An input of a table: the snapshot it was read at (``recorded``), main's ``head`` now, and the way between them.

    The batches are those that published the two snapshots, None where a snapshot has no record (or has expired).
    ``new_rows``: the rows that were added, for ``APPENDED``; all rows, for ``NEVER_READ``; None where it is not so simple.
    ``text`` says it in words.
    """

    table: TableName
    change: InputChange
    text: str
    recorded: int | None = None
    recorded_batch: int | None = None
    head: int | None = None
    head_batch: int | None = None
    new_rows: int | None = None


def input_positions(lake: Lake, facts: TableFacts, inputs: Iterable[TableName]) -> tuple[InputPosition, ...]:
    """The positions of a table whose facts are ``facts`` in its ``inputs``, in their order."""
    pins = facts.base.record.inputs if facts.base.record else {}
    return tuple(
        position_in(name, lake.catalog.table(name.layer, name.name), pins.get(str(name))) for name in inputs
    )


def position_in(name: TableName, state: TableState | None, pin: Pin | None) -> InputPosition:
    """The position in the input ``name``, which is ``state`` now and was read at ``pin``; each None: never."""
    if state is None:
        return InputPosition(name, InputChange.MISSING, "has not been built yet")
    head = state.refs.get(MAIN)
    if pin is None or pin.uuid != state.uuid:
        return _not_read(name, state, head, replaced=pin is not None)
    change, new_rows, text = _change(state, pin.snapshot, head)
    return InputPosition(
        name,
        change,
        text,
        pin.snapshot,
        _batch_at(state, pin.snapshot),
        head,
        _batch_at(state, head),
        new_rows,
    )


def _not_read(name: TableName, state: TableState, head: int | None, replaced: bool) -> InputPosition:
    rows = rows_at(state, state.head) if state.head else 0
    shown = "" if rows is None else f", {rows:,} rows"
    change = InputChange.REPLACED if replaced else InputChange.NEVER_READ
    text = f"was dropped and created again{shown}" if replaced else f"not read yet{shown}"
    return InputPosition(
        name, change, text, head=head, head_batch=_batch_at(state, head), new_rows=None if replaced else rows
    )


def _change(state: TableState, recorded: int | None, head: int | None) -> tuple[InputChange, int | None, str]:
    if head == recorded:
        return InputChange.NOTHING, 0, "nothing new"
    if head is None:
        return InputChange.CHANGED, None, "it has been emptied by another tool"
    found = append_only_since(state, recorded, head)
    if isinstance(found, Reason):
        return InputChange.CHANGED, None, found.text
    rows = found.added_records
    if not found.appends:
        return InputChange.NOTHING, 0, "no row changed (compaction or an empty batch)"
    return InputChange.APPENDED, rows, f"{rows:,} new row{'' if rows == 1 else 's'}"


def _batch_at(state: TableState, snapshot_id: int | None) -> int | None:
    """The number of the newest batch among a snapshot and its ancestors."""
    with suppress(LakesmithError):
        # A record that cannot be read is told of where its own table is looked at.
        for snapshot in state.ancestors(snapshot_id):
            if (record := record_of(state, snapshot)) is not None:
                return record.batch
    return None
