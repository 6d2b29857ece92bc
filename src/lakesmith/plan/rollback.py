"""Rollback: the points in time a table can return to, and the effect on downstream tables. Pure.

A point is usually earlier. It can be later, too: what a rollback has undone remains until it expires.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from lakesmith.catalog.family import sidecar_of
from lakesmith.catalog.history import points
from lakesmith.catalog.progress import Progress, cut_batch, find_progress, published_records
from lakesmith.catalog.record import Record
from lakesmith.catalog.state import MAIN, RECORD_TAG, TableState
from lakesmith.errors import LakesmithError, Problem, StateError
from lakesmith.project.definitions import TableName

Tables = Mapping[TableName, TableState]
"""The state of tables and sidecars. Missing ones are left out."""
Inputs = Mapping[TableName, Sequence[TableName]]
"""The inputs of each table."""


@dataclass(frozen=True, slots=True)
class Move:
    """A table's move to another point: main from snapshot ``begin`` to ``to``.

    ``record``, at snapshot ``recorded``: the newest record there. ``undone``: the batches that main loses.
    ``at_ms``: commit time of ``to`` since the epoch. ``is_forward``: main loses nothing and regains what was
    undone before.
    """

    name: TableName
    uuid: str
    begin: int
    to: int
    recorded: int
    record: Record
    at_ms: int
    undone: tuple[Record, ...] = ()
    is_forward: bool = False

    @property
    def sidecars(self) -> dict[TableName, int]:
        """The snapshots that the mains of its sidecars move to."""
        pins = self.record.sidecars.items()
        return {sidecar_of(self.name, kind): pin.snapshot for kind, pin in pins if pin.snapshot is not None}


@dataclass(frozen=True, slots=True)
class Rollback:
    """The moves, the requested table first. ``stay``: downstream tables that do not move, and why."""

    moves: tuple[Move, ...]
    stay: Mapping[TableName, str] = field(default_factory=dict)


def move_to(name: TableName, snapshot: int, tables: Tables) -> Move:
    """Returns the table's move to a point in its past.

    Raises StateError: LS518 if the snapshot is no such point, LS508 if what belonged to the table then is
    gone, and what ``find_progress`` raises for it.
    """
    state = tables[name]
    if snapshot not in {point for point, _ in points(state)}:
        raise _no_point(state, snapshot)
    then = _as_of(state, snapshot)
    progress = find_progress(then)
    if progress is None or cut_batch(then, progress) is not None:
        raise _no_point(state, snapshot)
    move = _move(name, state, snapshot, progress)
    if missing := _missing(move, tables):
        raise StateError(missing)
    return move


def _as_of(state: TableState, snapshot: int) -> TableState:
    """Returns the table as if main were at that snapshot and nothing protected a later record."""
    refs = {ref: at for ref, at in state.refs.items() if ref != RECORD_TAG}
    return replace(state, refs={**refs, MAIN: snapshot})


def _move(name: TableName, state: TableState, snapshot: int, progress: Progress) -> Move:
    then, begin = {each.snapshot_id for each in state.ancestors(snapshot)}, state.refs[MAIN]
    lost = [each for each in state.ancestors(begin) if each.snapshot_id not in then]
    return Move(
        name=name,
        uuid=state.uuid,
        begin=begin,
        to=snapshot,
        recorded=progress.snapshot.snapshot_id,
        record=progress.record,
        at_ms=state.snapshots[snapshot].committed_ms,
        undone=tuple(record for each in reversed(lost) if (record := each.record) is not None),
        is_forward=snapshot != begin and begin in then,
    )


def _missing(move: Move, tables: Tables) -> Problem | None:
    """What the record pins and does not exist any more."""
    for kind, pin in move.record.sidecars.items():
        name = sidecar_of(move.name, kind)
        state = tables.get(name)
        there = state is not None and state.uuid == pin.uuid and pin.snapshot in state.snapshots
        if pin.snapshot is not None and not there:
            return Problem(
                "LS508",
                f"{move.name} cannot go back to snapshot {move.to}: its {kind} of that time no longer exists",
                expected=f"snapshot {pin.snapshot} of {name}",
                hint=f"go back to a newer point: lakesmith history {move.name}",
            )
    return None


def _no_point(state: TableState, snapshot: int) -> StateError:
    return StateError.of(
        "LS518",
        f"{state.name} cannot go back to snapshot {snapshot}",
        expected="a point of its past: what readers saw, with a batch that made it",
        found="a snapshot inside a batch, of a branch, or from before the table belonged to this project",
        hint=f"see 'lakesmith history {state.name}'",
    )


def with_below(first: Move, below: Sequence[TableName], inputs: Inputs, tables: Tables) -> Rollback:
    """Returns the move, and those of the downstream tables computed from what it undoes.

    Each moves to its newest batch that read no more than exists then: an earlier one, or an undone one if an
    input moves forward. A table without such a batch, or that cannot move there, stays: the next run
    recomputes it.

    Args:
        below: the downstream tables, each behind the tables it reads.
        inputs: what each of them reads.
    """
    moves, stay = {first.name: first}, dict[TableName, str]()
    for name in below:
        moved = [each for each in inputs[name] if each in moves]
        state = tables.get(name)
        if not moved or state is None or state.head is None:
            continue
        try:
            found = _newest_fitting(name, [moves[each] for each in moved], tables)
        except LakesmithError as error:
            stay[name] = error.problems[0].what
            continue
        if found is None:
            stay[name] = "no batch of it that is left has read no more than that"
        elif found.to != found.begin:
            moves[name] = found
    return Rollback(tuple(moves.values()), stay)


def _newest_fitting(name: TableName, moved: Sequence[Move], tables: Tables) -> Move | None:
    state = tables[name]
    progress = find_progress(state)
    if progress is None:
        return None
    if any(move.is_forward for move in moved):
        return next((move for move in _past(name, tables) if _fits(move.record, moved, tables)), None)
    if _fits(progress.record, moved, tables):
        return _move(name, state, state.refs[MAIN], progress)
    records = published_records(state, progress.snapshot)
    return next(
        (
            move_to(name, snapshot.snapshot_id, tables)
            for snapshot, record in records
            if _fits(record, moved, tables)
        ),
        None,
    )


def _past(name: TableName, tables: Tables) -> Iterator[Move]:
    """Returns the points that the table can move to, undone ones too, newest first."""
    snapshots = tables[name].snapshots
    known = {snapshot for snapshot, _ in points(tables[name])}
    for snapshot in sorted(known, key=lambda each: snapshots[each].sequence_number, reverse=True):
        with suppress(LakesmithError):
            yield move_to(name, snapshot, tables)


def _fits(record: Record, moved: Iterable[Move], tables: Tables) -> bool:
    """Whether each of these tables, once moved, still has what the batch read of it."""
    return all(_has_read_less(record, move, tables[move.name]) for move in moved)


def _has_read_less(record: Record, move: Move, state: TableState) -> bool:
    pin = record.inputs.get(str(move.name))
    if pin is None or pin.uuid != state.uuid:
        return False
    return pin.snapshot is None or any(each.snapshot_id == pin.snapshot for each in state.ancestors(move.to))
