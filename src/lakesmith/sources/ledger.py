"""The file ledger: which files a table has ingested, one Iceberg v2 table beside each sourced table.

Lines are written *before* the data, as an intent, and count once the attempt that wrote them is published:
the table's progress record pins a snapshot of its ledger, and lines that no record pins do not count. So the
lines of a dead attempt need no cleanup, and nothing has to agree between two commits.

Each append starts from the pinned snapshot, whatever else the ledger holds. It gets a *branch of its own*,
made at the pinned snapshot by the commit that appends to it (tried with PyIceberg 0.12: one metadata swap has
the new branch, its snapshot and main's move). Setting main back and appending to it would leave an instant in
which a late writer's lines get in between. A commit that loses the race for the metadata is made again. Main
moves to the pinned version at every append: queries of the ledger see published lines only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

from lakesmith import limits
from lakesmith.cache import Kept
from lakesmith.catalog import busy
from lakesmith.catalog.busy import is_in_doubt
from lakesmith.catalog.record import Pin
from lakesmith.errors import LockedError, SourceError, StateError
from lakesmith.project.definitions import TableName
from lakesmith.sources import ledger_table
from lakesmith.sources.folded import NOTHING, Folding, fold
from lakesmith.sources.ledger_cache import LedgerCache
from lakesmith.sources.ledger_view import EMPTY, LedgerView, hash_entries
from lakesmith.sources.model import LedgerEntry
from lakesmith.sources.moved import Moved
from lakesmith.sources.names import printable

__all__ = ["EMPTY", "LedgerStore", "LedgerView", "hash_entries", "ledger_identifier"]

_T = TypeVar("_T")

ledger_identifier = ledger_table.identifier


class Writers(Protocol):
    """The catalog that the store uses: PyIceberg's, to read and to write."""

    def reader(self) -> Any:
        """As ``writer``, for reading alone: it works where nothing can be written."""
        ...

    def writer(self) -> Any:
        """Returns the PyIceberg catalog; it is imported and opened when it is first asked for."""
        ...


@dataclass(frozen=True, slots=True)
class _Append:
    """One append, however often it is tried. Its branch has a unique name."""

    table: TableName
    pin: Pin | None
    entries: Sequence[LedgerEntry]
    folding: Callable[[], Folding]
    rewrites: bool
    branch: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "branch", ledger_table.new_branch(self.entries))


class LedgerStore:
    """The ledgers of a catalog, cached in ``cache_dir``; the cache ``elsewhere`` is only read, and ``kept``
    has what this process has read."""

    def __init__(
        self,
        catalog: Writers,
        cache_dir: Path,
        elsewhere: Path | None = None,
        kept: Kept | None = None,
        moved: Callable[[TableName], Moved] = lambda _: (),
    ) -> None:
        self._moved = moved
        self._kept = kept or Kept(0)
        self._catalog = catalog
        self._cache = LedgerCache(cache_dir)
        self._elsewhere = LedgerCache(elsewhere or cache_dir)

    def read(self, table: TableName, pin: Pin | None) -> LedgerView:
        """Returns what ``table`` has ingested at its record's pin: from the cache, or from the ledger.

        Raises StateError LS540-LS542 if the ledger or its snapshot is gone, LockedError LS740 if the catalog
        stays locked.
        """
        if pin is None or pin.snapshot is None:
            return EMPTY
        snapshot = pin.snapshot
        found = self._kept.get(
            ("ledger", pin.uuid), pin, lambda: self._read(table, pin, snapshot), lambda view: len(view.rows)
        )
        return found.with_moved(self._moved(table))

    def _read(self, table: TableName, pin: Pin, snapshot: int) -> LedgerView:
        view = self._cache.load(pin) or self._elsewhere.load(pin)
        return view if view is not None else self._read_table(table, pin, snapshot)

    def append(
        self,
        table: TableName,
        pin: Pin | None,
        entries: Sequence[LedgerEntry],
        there: Callable[[], Mapping[str, Collection[str]]] = dict,
        leaving: frozenset[str] = frozenset(),
    ) -> Pin:
        """Writes the intent: a new version of the ledger with the pinned content and ``entries``.

        From time to time the ledger is rewritten without the lines that may leave (``folded``). Then
        ``there`` is called; it returns by folder of each source of events the names in it. A rewrite also
        leaves out the paths ``leaving``.

        Returns the pin of that version, for the record. Creates the ledger if it is missing and ``pin`` is
        None. Raises ValueError without entries, SourceError LS412 for two entries of one path, StateError as
        ``read`` does, and LockedError LS740 if the catalog stays locked or contended.
        """
        _check_entries(table, entries)
        before = self.read(table, pin)
        folded = cache(lambda: _folding(before, there(), entries, leaving))
        work = _Append(table, pin, entries, folded, bool(leaving))
        new, folding = _retry(table, lambda: self._append_once(work))
        if folding.leaving:
            self._cache.save(new, folding.of(before).plus(entries))
        else:
            self._cache.save_next(new, before.plus(entries), pin, [entry.file.path for entry in entries])
        return new

    def ever_taken(self, table: TableName, pin: Pin | None, paths: Sequence[str]) -> bool:
        """Whether any of the files was ever ingested, also by old lines. Raises as ``read``."""
        if pin is None or pin.snapshot is None:
            return False
        snapshot, view = pin.snapshot, self.read(table, pin)
        if any(view.is_folded(path) for path in paths):
            return True
        paths = [*paths, *(name for path in paths for name in view.other_names(path))]
        ledger = _retry(table, lambda: ledger_table.load(self._writer, table, pin))
        return ledger_table.any_taken(ledger, snapshot, paths)

    @cached_property
    def _writer(self) -> Any:
        return self._catalog.writer()

    @cached_property
    def _reader(self) -> Any:
        return self._catalog.reader()

    def _read_table(self, table: TableName, pin: Pin, snapshot: int) -> LedgerView:
        ledger = _retry(table, lambda: ledger_table.load(self._reader, table, pin))
        view = ledger_table.read_view(ledger, snapshot)
        self._cache.save(pin, view)
        return view

    def _append_once(self, work: _Append) -> tuple[Pin, Folding]:
        ledger, parent = self._parent(work)
        due = work.rewrites or ledger_table.is_due(ledger, parent)
        folding = work.folding() if due else NOTHING
        kept = ledger_table.kept_lines(ledger, parent, folding) if due else None
        rows = (ledger_table.rows_at(ledger, parent) if kept is None else kept.num_rows) + len(work.entries)
        # An earlier try may have been committed although its answer was an error: its branch shows it.
        done = ledger_table.committed(ledger, parent, work.branch, rows)
        if done is None:
            ledger_table.commit(ledger, parent, work.entries, work.branch, kept)
            done = ledger_table.committed(ledger, parent, work.branch, rows)
        if done is None:
            raise _not_as_written(work.table, work.branch)
        return Pin(str(ledger.metadata.table_uuid), done), folding

    def _parent(self, work: _Append) -> tuple[Any, int]:
        """The ledger, created if it is missing, and the snapshot to append to."""
        if work.pin is None or work.pin.snapshot is None:
            ledger = ledger_table.load_or_create(self._writer, work.table)
            return ledger, ledger_table.empty_snapshot(ledger)
        return ledger_table.load(self._writer, work.table, work.pin), work.pin.snapshot


def _folding(
    before: LedgerView,
    there: Mapping[str, Collection[str]],
    entries: Sequence[LedgerEntry],
    leaving: frozenset[str],
) -> Folding:
    """The lines that leave the ledger. A segment that has just gone stays, for its readers."""
    now_ms = max(entry.at_ms for entry in entries)
    found = fold(before, there, now_ms - limits.SEGMENT_LINES_KEPT_SECONDS * 1000)
    return replace(found, leaving=found.leaving | leaving)


def _check_entries(table: TableName, entries: Sequence[LedgerEntry]) -> None:
    if not entries:
        raise ValueError("an append to a ledger needs at least one entry")
    twice = [path for path, count in Counter(entry.file.path for entry in entries).items() if count > 1]
    if twice:
        sources = sorted({entry.source for entry in entries if entry.file.path == twice[0]})
        raise SourceError.of(
            "LS412",
            f"{table}: one file is matched by two sources",
            expected="each file in one source: a table ingests a file once",
            found=f"{printable(twice[0])} in {' and '.join(sources)} ({len(twice)} such files)",
            hint="make the sources' `path` or `pattern` disjoint",
        )


def _not_as_written(table: TableName, branch: str) -> StateError:
    return StateError.of(
        "LS544",
        f"{table}: an append to its file ledger was committed, but not as it was written",
        expected=f"branch {branch} one snapshot after the pinned one, with the pinned lines and the new ones",
        hint="run again; nothing of this attempt counts. If it stays, something else writes to the ledger",
    )


def _retry(table: TableName, step: Callable[[], _T]) -> _T:
    """Runs ``step`` until it neither loses a race nor meets a locked catalog."""
    try:
        return busy.try_until_free(step, _has_lost_race)
    except busy.StillBusy as error:
        raise _always_busy(table, error.last) from error.last
    except Exception as error:
        if type(error).__name__ == "OperationalError":
            # SQLAlchemy's word of a full disk, or of a file that may not be written.
            raise OSError(str(error).splitlines()[0]) from error
        raise


def _always_busy(table: TableName, last: Exception) -> LockedError:
    return LockedError.of(
        "LS740",
        f"{table}: its file ledger cannot be written because others keep the catalog busy",
        expected=f"to write to it within {busy.TRIES} tries",
        found=str(last).splitlines()[0],
        hint="see who holds the catalog (`lakesmith doctor`), then run again: nothing of this attempt counts",
    )


def _has_lost_race(error: Exception) -> bool:
    """Whether another process was first, or the outcome is unknown (the next try looks it up)."""
    from pyiceberg.exceptions import CommitFailedException

    if isinstance(error, CommitFailedException) or is_in_doubt(error):
        return True
    if isinstance(error, ValueError):
        # PyIceberg's message when another snapshot was added between reading the metadata and committing to
        # it.
        return "older than last sequence number" in str(error)
    if type(error).__name__ == "IntegrityError":
        # Two first ledgers of a lake create their namespace at once, and PyIceberg inserts without looking.
        return True
    return type(error).__name__ == "OperationalError" and "already exists" in str(error).lower()
