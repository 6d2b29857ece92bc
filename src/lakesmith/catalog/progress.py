"""What a table has consumed, found in its own snapshots, and whether what came since is only appends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lakesmith.catalog.record import SUMMARY_KEY, Record
from lakesmith.catalog.state import RECORD_TAG, Snapshot, TableState
from lakesmith.errors import StateError


def take_again(table: object) -> str:
    """Returns the last part of a hint, for tables that can only be made from their files again."""
    return f"or 'lakesmith drop {table}', and every file that is still in its landing folders is taken again"


_CHANGES = ("added-data-files", "deleted-data-files", "added-delete-files", "removed-delete-files")
_TOTALS = ("total-data-files", "total-records", "total-delete-files")
_REMOVALS = ("deleted-data-files", "added-delete-files", "removed-delete-files")


@dataclass(frozen=True, slots=True)
class Progress:
    """The newest published record of a table. ``snapshot`` carries it; ``foreign`` are main's later
    snapshots, oldest first: commits of other engines and compactions that have not expired."""

    record: Record
    snapshot: Snapshot
    foreign: tuple[Snapshot, ...] = ()


@dataclass(frozen=True, slots=True)
class AppendRange:
    """The snapshots of (``start``, ``end``] that added rows, oldest first; none removed or changed one.
    ``start`` None: from the beginning."""

    start: int | None
    end: int
    appends: tuple[Snapshot, ...]

    @property
    def added_records(self) -> int:
        """The number of rows the range added, as its snapshots' summaries say."""
        return sum(snapshot.count("added-records") for snapshot in self.appends)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is not so, in words for people."""

    text: str


def find_progress(state: TableState, can_rebuild: bool = True) -> Progress | None:
    """The newest record that main reaches by walking its snapshots' parents.

    None when nothing was ever published: main has no snapshot, and no record is tagged. (A first batch that
    was killed leaves its snapshots on its own branch; they count for nothing.)

    Another tool's expiry can cut the walk short: compact twice, expire the rest, and main's head has an
    expired parent while the record survives only by its tag. The tagged record is then accepted, but only
    when nothing speaks against main having grown out of it. That has to be checked because a *rollback* by
    another tool followed by expiry leaves the same picture, and there the tagged record tells of rows that
    main no longer has: taking it would lose them in silence. So all of this has to hold:

    - The missing snapshot lies between: the oldest reachable sequence number is at least two above the tagged
      one's. (Directly after the tagged snapshot, its parent could only be that snapshot, which has not
      expired.)
    - All reachable snapshots since are compactions (``replace``), which say of themselves that rows stayed as
      they were.
    - The oldest of them counts as many live rows as the tagged one.

    What even this cannot tell apart is a rollback of a batch that changed no row count, followed by two
    compactions and an expiry.

    ``can_rebuild``: the table is derived, so that a hint may advise to compute it again; a table whose rows
    came from files cannot be.

    Raises:
        StateError: LS501, the table has snapshots and no record that main is known to have grown out of;
            LS502, its newest record was written by a newer lakesmith or is damaged.
    """
    chain: list[Snapshot] = []
    for snapshot in state.ancestors(state.head_id):
        record = record_of(state, snapshot)
        if record is not None:
            return Progress(record, snapshot, tuple(reversed(chain)))
        chain.append(snapshot)
    if not chain and RECORD_TAG not in state.refs:
        return None
    return _tagged_progress(state, tuple(reversed(chain)), can_rebuild)


def published_records(state: TableState, newest: Snapshot) -> Iterator[tuple[Snapshot, Record]]:
    """Returns the table's records from ``newest`` backwards. Beyond expired snapshots these are all earlier
    ones: of rolled-back batches, maintenance keeps nothing."""
    oldest = newest
    for oldest in state.ancestors(newest.snapshot_id):
        if (record := record_of(state, oldest)) is not None:
            yield oldest, record
    earlier = (each for each in state.snapshots.values() if each.sequence_number < oldest.sequence_number)
    for snapshot in sorted(earlier, key=lambda each: each.sequence_number, reverse=True):
        if oldest.parent_id is not None and (record := record_of(state, snapshot)) is not None:
            yield snapshot, record


def cut_batch(state: TableState, progress: Progress) -> Snapshot | None:
    """Returns the snapshot inside a batch to which another tool rolled main back, or None. Its rows are there
    and its record is not, so continuing would ingest the files twice. Unlike a commit before a batch, it was
    never main's head."""
    foreign = {snapshot.snapshot_id: snapshot for snapshot in progress.foreign}
    first_seen: dict[int, int] = {}
    for at, (snapshot_id, _) in enumerate(state.published):
        first_seen.setdefault(snapshot_id, at)
    for snapshot_id, at in first_seen.items() if foreign else ():
        published = state.snapshots.get(snapshot_id)
        if published is None or SUMMARY_KEY not in published.summary:
            continue
        for inner in state.ancestors(published.parent_id):
            if first_seen.get(inner.snapshot_id, at) < at:
                break
            if inner.snapshot_id in foreign:
                return inner
    return None


def _tagged_progress(state: TableState, foreign: tuple[Snapshot, ...], can_rebuild: bool) -> Progress:
    tagged = state.snapshots.get(state.refs.get(RECORD_TAG, 0))
    record = record_of(state, tagged) if tagged else None
    if tagged is None or record is None:
        raise _no_record(state, "no snapshot of main carries one, and none is tagged", can_rebuild)
    doubt = _doubt(tagged, foreign)
    if doubt is not None:
        raise _no_record(state, f"the tagged record of batch {record.batch}, but {doubt}", can_rebuild)
    return Progress(record, tagged, foreign)


def _doubt(tagged: Snapshot, foreign: tuple[Snapshot, ...]) -> str | None:
    """Returns why the oldest of ``foreign`` may not descend from ``tagged``; None if it does."""
    if not foreign or foreign[0].parent_id is None:
        return "main was started again since (the table was replaced)"
    if foreign[0].sequence_number < tagged.sequence_number + 2:
        return "main was rolled back behind it"
    changed = next((snapshot for snapshot in foreign if snapshot.operation != "replace"), None)
    if changed is not None:
        return (
            f"snapshots before {_described(changed)} have expired, and it may not be a compaction of that "
            "batch"
        )
    before, after = live_rows(tagged), live_rows(foreign[0])
    if before is None or before != after:
        return (
            f"snapshots since have expired and the live rows differ: {_rows(before)} then, {_rows(after)} now"
        )
    return None


def record_of(state: TableState, snapshot: Snapshot) -> Record | None:
    """Returns the record of a snapshot, None if it has none of its own. Raises StateError LS502."""
    try:
        return snapshot.record
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StateError.of(
            "LS502",
            f"the progress record of {state.name} cannot be read",
            found=f"snapshot {snapshot.snapshot_id}: {error}",
            hint="use the version of lakesmith that wrote it, or a newer one",
        ) from error


def _no_record(state: TableState, found: str, can_rebuild: bool) -> StateError:
    rollback = "roll main back to a snapshot with a record"
    rebuild = f"rebuild it with 'lakesmith run --full-refresh {state.name}'"
    first, second = (rebuild, f"or {rollback}") if can_rebuild else (rollback, take_again(state.name))
    return StateError.of(
        "LS501",
        f"{state.name} has snapshots and no progress record, so it is unknown what it has consumed",
        expected="a snapshot with a lakesmith record among the ancestors of main",
        found=found,
        hint=f"{first}; {second}; or, if the table is not this project's, give yours another name",
    )


def append_only_since(state: TableState, start: int | None, end: int) -> AppendRange | Reason:
    """Whether everything main (or a branch) gained between two snapshots is appended rows.

    Args:
        state: the table.
        start: the snapshot seen last (exclusive; it may have expired itself), None for the table's beginning.
        end: the newest snapshot (inclusive).

    Returns the range when each snapshot of it is an append that removes nothing, a compaction (``replace``)
    or empty; otherwise the reason, naming the snapshot. An ``overwrite`` that happens to add only is not
    accepted: Iceberg's incremental scans skip it in silence.
    """
    appends: list[Snapshot] = []
    for snapshot in _between(state, start, end):
        if isinstance(snapshot, Reason):
            return snapshot
        is_empty = _is_empty(snapshot, state)
        obstacle = None if is_empty else _obstacle(snapshot)
        if obstacle is not None:
            return obstacle
        if snapshot.operation == "append" and not is_empty:
            appends.append(snapshot)
    return AppendRange(start, end, tuple(reversed(appends)))


def last_change_ms(state: TableState) -> int | None:
    """Returns when main's rows last changed (ms since the epoch), earlier if snapshots have expired; None if
    never written."""
    shown, found = dict(reversed(state.published)), None
    for snapshot in state.ancestors(state.head_id):
        # What a batch writes before its last snapshot was seen with that.
        found = shown.get(snapshot.snapshot_id, found or snapshot.committed_ms)
        if snapshot.operation != "replace" and not _is_empty(snapshot, state):
            break
    return found


def _between(state: TableState, start: int | None, end: int) -> Iterator[Snapshot | Reason]:
    """Yields the snapshots of (start, end], newest first, and then a reason if ``start`` is not met."""
    at: int | None = end
    while at != start:
        if at is None:
            yield Reason(
                f"snapshot {start} is not among the ancestors of snapshot {end}: the table was rolled "
                "back or replaced"
            )
            return
        if at not in state.snapshots:
            yield Reason(f"snapshot {at}, committed since, has expired")
            return
        yield state.snapshots[at]
        at = state.snapshots[at].parent_id


def _obstacle(snapshot: Snapshot) -> Reason | None:
    if snapshot.operation == "replace":
        return None
    if snapshot.operation != "append":
        return Reason(f"{_described(snapshot)} changed or removed rows")
    if any(snapshot.count(key) for key in _REMOVALS):
        return Reason(f"{_described(snapshot)} also removed rows")
    if snapshot.known_count("added-records") is None:
        return Reason(f"{_described(snapshot)} does not say how many rows it added")
    return None


def _is_empty(snapshot: Snapshot, state: TableState) -> bool:
    """Whether it is known to have changed no file. Writers leave out counts of 0, and may leave out others as
    well: that it touched no partition says so, as Iceberg's own writer does, or that all totals of an append
    are what they were.
    """
    if any(snapshot.count(key) for key in _CHANGES):
        return False
    if snapshot.known_count("changed-partition-count") == 0:
        return True
    parent = state.snapshots.get(snapshot.parent_id or 0)
    return snapshot.operation == "append" and parent is not None and _totals(snapshot) == _totals(parent)


def _totals(snapshot: Snapshot) -> dict[str, int | None]:
    return {key: snapshot.known_count(key) for key in _TOTALS}


def _described(snapshot: Snapshot) -> str:
    return f"snapshot {snapshot.snapshot_id} ({snapshot.operation})"


def live_rows(snapshot: Snapshot) -> int | None:
    """Returns the rows that a reader of the snapshot sees, by its summary; None without a total, or with
    equality deletes."""
    return None if snapshot.count("total-equality-deletes") else most_live_rows(snapshot)


def rows_at(state: TableState, snapshot: Snapshot) -> int | None:
    """As ``live_rows``. Where a summary may count deletes that hide nothing, as the batch counted that wrote
    the rows: compactions leave them as they are.
    """
    if not state.may_leave_deletes or not snapshot.count("total-position-deletes"):
        return live_rows(snapshot)
    for each in state.ancestors(snapshot.snapshot_id):
        if (record := record_of(state, each)) is not None:
            return record.account.rows_after
        if each.operation != "replace":
            break
    return live_rows(snapshot)


def most_live_rows(snapshot: Snapshot) -> int | None:
    """As ``live_rows``, and the rows that equality deletes may hide. None when the summary has no total."""
    total = snapshot.known_count("total-records")
    return None if total is None else total - snapshot.count("total-position-deletes")


def _rows(count: int | None) -> str:
    return "unknown" if count is None else str(count)
