"""A table's history in words, and the snapshots that texts name. Pure: from a ``TableState`` alone. Points of
history are main's heads by Iceberg's snapshot log; where snapshots have expired, Iceberg drops earlier
entries of its log, and the records have them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from lakesmith.catalog.progress import live_rows, record_of
from lakesmith.catalog.record import SUMMARY_KEY, Account, Record, Versions
from lakesmith.catalog.state import MAIN, RECORD_TAG, Snapshot, TableState
from lakesmith.errors import UsageError
from lakesmith.project.declaring import seconds

_ENGINE_MARKS = {
    "spark.app.id": "spark",
    "trino_query_id": "trino",
    "flink.job-id": "flink",
    "pyiceberg-version": "pyiceberg",
}
"""What engines that do not name themselves leave in a summary."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RELATIVE = re.compile(r"(.+?)\s*ago")
_HISTORY_HINT = "see 'lakesmith history {}'"


class HistoryKind(StrEnum):
    """What made a point of the past."""

    BATCH = "batch"
    FOREIGN = "foreign"
    COMPACTION = "compaction"
    ROLLBACK = "rollback"


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """A point of history: readers saw ``snapshot_id`` from ``published_ms`` (since the epoch) until the next
    line. ``number`` counts from 1; ``batch`` is the batch's number, in a rollback the earlier one. ``engine``
    committed it; ``refs`` are its tags and branches; ``text`` is the line in words; ``record`` is None
    without a batch; ``read`` says what the batch read, if that was asked for."""

    number: int
    snapshot_id: int
    published_ms: int
    kind: HistoryKind
    text: str
    operation: str
    batch: int | None = None
    engine: str | None = None
    refs: tuple[str, ...] = ()
    is_head: bool = False
    record: Record | None = None
    read: tuple[str, ...] = ()


def describe_history(state: TableState) -> tuple[HistoryLine, ...]:
    """Returns the points of the table's history, oldest first. Raises StateError LS502."""
    lines: list[HistoryLine] = []
    seen: set[int] = set()
    before: int | None = None
    for snapshot_id, at_ms in points(state):
        went_back = snapshot_id in seen or (before is not None and _is_ancestor(state, snapshot_id, before))
        lines.append(_line(state, snapshot_id, at_ms, len(lines) + 1, went_back))
        seen.add(snapshot_id)
        before = snapshot_id
    if lines:
        lines[-1] = replace(lines[-1], is_head=lines[-1].snapshot_id == state.head_id)
    return tuple(lines)


def points(state: TableState) -> tuple[tuple[int, int], ...]:
    """Returns the points of history, oldest first: snapshots with their times of publishing (ms)."""
    logged = tuple(_logged(state))
    first = min((state.snapshots[snapshot].sequence_number for snapshot, _ in logged), default=0)
    before = [
        (snapshot.snapshot_id, snapshot.committed_ms)
        for snapshot in sorted(state.snapshots.values(), key=_age)
        if snapshot.sequence_number < first and SUMMARY_KEY in snapshot.summary
    ]
    return (*before, *logged)


def _logged(state: TableState) -> Iterator[tuple[int, int]]:
    """The log of main's heads, without repetitions of one head and without snapshots that are gone."""
    last: int | None = None
    for snapshot_id, at_ms in state.published:
        if snapshot_id != last and snapshot_id in state.snapshots:
            yield snapshot_id, at_ms
            last = snapshot_id


def _is_ancestor(state: TableState, snapshot_id: int, of: int) -> bool:
    """Returns whether one snapshot is an ancestor of another. Only older ones are walked to."""
    older = _age(state.snapshots[snapshot_id]) < _age(state.snapshots[of])
    return older and any(ancestor.snapshot_id == snapshot_id for ancestor in state.ancestors(of))


def _age(snapshot: Snapshot) -> tuple[int, int]:
    return snapshot.sequence_number, snapshot.committed_ms


def _line(state: TableState, snapshot_id: int, at_ms: int, number: int, went_back: bool) -> HistoryLine:
    snapshot = state.snapshots[snapshot_id]
    record = record_of(state, snapshot)
    kind = _kind(snapshot, record, went_back)
    return HistoryLine(
        number=number,
        snapshot_id=snapshot_id,
        published_ms=at_ms,
        kind=kind,
        text=_text(state, snapshot, record, kind),
        operation=snapshot.operation,
        batch=record.batch if record else None,
        engine=engine_of(snapshot),
        refs=_refs(state, snapshot_id),
        record=record if kind is HistoryKind.BATCH else None,
    )


def _refs(state: TableState, snapshot_id: int) -> tuple[str, ...]:
    own = {MAIN, RECORD_TAG}
    return tuple(sorted(ref for ref, at in state.refs.items() if at == snapshot_id and ref not in own))


def _kind(snapshot: Snapshot, record: Record | None, went_back: bool) -> HistoryKind:
    if went_back:
        return HistoryKind.ROLLBACK
    if record is not None:
        return HistoryKind.BATCH
    return HistoryKind.COMPACTION if snapshot.operation == "replace" else HistoryKind.FOREIGN


def _text(state: TableState, snapshot: Snapshot, record: Record | None, kind: HistoryKind) -> str:
    if kind is HistoryKind.ROLLBACK:
        return f"set back to {f'batch {record.batch}' if record else f'snapshot {snapshot.snapshot_id}'}"
    if record is not None:
        unknown = "".join(f"; {count:,} without {name}" for name, count in record.unknown.items() if count)
        failed = sum(gate.has_failed for gate in record.gates.values())
        rules = f"; {failed} of its table rules failed" if failed else ""
        return f"batch {record.batch} ({record.kind}): {account_in_words(record.account)}{unknown}{rules}"
    engine = engine_of(snapshot)
    if kind is HistoryKind.COMPACTION:
        by = f" by {engine}" if engine else ""
        files = (
            f"{snapshot.count('deleted-data-files'):,} data files into {snapshot.count('added-data-files'):,}"
        )
        return f"compaction{by}: {files}"
    return f"{snapshot.operation} by {engine or 'another tool'}{_rows_in_words(state, snapshot)}"


def _rows_in_words(state: TableState, snapshot: Snapshot) -> str:
    """Returns ``: 13 rows now (+3)`` if the summaries have the numbers."""
    after = live_rows(snapshot)
    if after is None:
        return ""
    parent = state.snapshots.get(snapshot.parent_id) if snapshot.parent_id is not None else None
    before = live_rows(parent) if parent else None
    return f": {after:,} rows now" + ("" if before is None else f" ({after - before:+,})")


def account_in_words(account: Account) -> str:
    """Returns the counts that are not 0: ``read 5: 3 inserted, 1 quarantined; 12 rows now``. For a table that
    keeps versions, first what the versions did: ``read 5: 3 opened a row, 1 continued one; rows: 3 inserted,
    2 updated``."""
    rows = {"inserted": account.inserted, "updated": account.updated, "deleted": account.deleted}
    others = {
        "unchanged": account.unchanged,
        "superseded": account.superseded,
        "filtered": account.filtered,
        "quarantined": account.quarantined,
        "deletes of absent keys": account.absent_deletes,
        "rounded": account.rounded,
    }
    read = f"read {account.read:,}: " if account.read else ""
    if account.versions is None:
        return f"{read}{_listed({**rows, **others})}; {account.rows_after:,} rows now"
    moved = f"; rows: {_listed(rows)}" if any(rows.values()) else ""
    versions = _listed({**versions_in_words(account.versions), **others})
    return f"{read}{versions}{moved}; {account.rows_after:,} rows now"


def versions_in_words(versions: Versions) -> dict[str, int]:
    """What versions did, in words, with how many did it."""
    return {
        "opened a row": versions.opened,
        "continued one": versions.continued,
        "closed one": versions.closed,
    }


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {word}" for word, count in counts.items() if count) or "nothing changed"


def engine_of(snapshot: Snapshot) -> str | None:
    """Returns the engine that committed a snapshot, such as ``spark 4.1.4``; None if unknown."""
    summary = snapshot.summary
    name = summary.get("engine-name")
    if name:
        return f"{name} {summary.get('engine-version', '')}".strip()
    return next((engine for key, engine in _ENGINE_MARKS.items() if key in summary), None)


def resolve_as_of(state: TableState, text: str, now: datetime) -> int:
    """The snapshot that ``text`` means.

    Args:
        state: the table.
        text: a branch or tag; a snapshot id; or a moment: ISO 8601, a date alone is its first instant,
            without a zone it is UTC; or ``2 hours ago``. A moment means main's head at that moment: a point
            that was published.
        now: the present, with a zone.

    Raises UsageError: LS230 for a text that means nothing here, LS231 for a moment outside the table's known
    past.
    """
    text = text.strip()
    if text in state.refs:
        return state.refs[text]
    if text.isdecimal():
        return _known(state, int(text))
    return _head_at(state, text, _moment(state, text, now), now)


def _known(state: TableState, snapshot_id: int) -> int:
    if snapshot_id not in state.snapshots:
        raise _not_understood(
            state, str(snapshot_id), "no snapshot of that id: it has expired or is another table's"
        )
    return snapshot_id


def _moment(state: TableState, text: str, now: datetime) -> datetime:
    relative = _RELATIVE.fullmatch(text)
    try:
        if relative:
            return now - timedelta(seconds=seconds(relative[1]))
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        raise _not_understood(state, text, "neither a branch, a tag nor a moment") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _head_at(state: TableState, text: str, moment: datetime, now: datetime) -> int:
    """The last head of the log that is not later than ``moment``. Writers' clocks differ, so the log's times
    may go back a little: it is not searched but gone through, as Iceberg does
    (``SnapshotUtil.nullableSnapshotIdAsOfTime``)."""
    past = points(state)
    at_ms = (moment - _EPOCH) // timedelta(milliseconds=1)
    heads = [snapshot_id for snapshot_id, published_ms in past if published_ms <= at_ms]
    if heads and moment <= now:
        return heads[-1]
    found = "in the future" if moment > now else f"before anything that is known of {state.name}"
    what = f"there is nothing to read as of {text!r}"
    raise UsageError.of("LS231", what, None, _range(past), found, _HISTORY_HINT.format(state.name))


def _range(past: tuple[tuple[int, int], ...]) -> str:
    if not past:
        return "a table that was written: this one is empty"
    first, last = (_in_words(point[1]) for point in (past[0], past[-1]))
    return f"a moment from {first} on (last published {last})"


def _not_understood(state: TableState, text: str, found: str) -> UsageError:
    names = ", ".join(sorted(state.refs)) or "none"
    expected = (
        f"a branch or tag ({names}), the id of a snapshot, or {_range(points(state))}"
        ", written like 2026-01-31, 2026-01-31T12:30:00+01:00 or '2 hours ago'"
    )
    what = f"{text!r} is no point of {state.name}'s past"
    return UsageError.of("LS230", what, None, expected, found, _HISTORY_HINT.format(state.name))


def _in_words(ms: int) -> str:
    return (_EPOCH + timedelta(milliseconds=ms)).isoformat(sep=" ", timespec="milliseconds")
