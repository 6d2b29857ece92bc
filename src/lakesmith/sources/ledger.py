"""The file ledger: which files a table has taken, one Iceberg v2 table beside each sourced table.

Lines are written *before* the data, as an intent, and count once the attempt that wrote them is published: the table's
progress record pins a snapshot of its ledger, and what no record pins does not count. So a dead attempt's lines need no
cleaning up, and nothing has to agree between two commits.

Each append therefore starts from the pinned snapshot, whatever else the ledger holds. It gets a *branch of its own*, made
at the pinned snapshot by the same commit that appends to it (tried with PyIceberg 0.12: one metadata swap holds the new
branch, its snapshot and main's move). The other way, setting main back and appending to it, has an instant between the
two where a late writer's lines get underneath; on a branch there is nothing to get underneath of. A commit that loses the
race for the metadata is simply made again. Main is moved to the pinned version at every append: whoever queries the
ledger sees published lines only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

from lakesmith import limits
from lakesmith.catalog import busy
from lakesmith.catalog.busy import is_in_doubt
from lakesmith.catalog.record import Pin
from lakesmith.errors import LockedError, Problem, SourceError, StateError
from lakesmith.project.definitions import TableName
from lakesmith.sources import ledger_table
from lakesmith.sources.folded import NOTHING, Folding, fold
from lakesmith.sources.ledger_cache import LedgerCache
from lakesmith.sources.ledger_view import EMPTY, LedgerView, hash_entries
from lakesmith.sources.model import LedgerEntry
from lakesmith.sources.names import printable

__all__ = ["EMPTY", "LedgerStore", "LedgerView", "hash_entries", "ledger_identifier"]

_T = TypeVar("_T")

ledger_identifier = ledger_table.identifier


class Writers(Protocol):
    """What the store needs of a catalog: PyIceberg's, to read with and to write with."""

    def reader(self) -> Any:
        """As ``writer``, to read with alone: it works where nothing can be written."""
        ...

    def writer(self) -> Any:
        """The PyIceberg catalog; importing and opening it is put off until it is asked for."""
        ...


@dataclass(frozen=True, slots=True)
class _Append:
    """One append, however often it is tried: its branch has a name that no other has."""

    table: TableName
    pin: Pin | None
    entries: Sequence[LedgerEntry]
    folding: Callable[[], Folding]
    anew: bool
    branch: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "branch", ledger_table.new_branch(self.entries))


class LedgerStore:
    """The ledgers of a catalog, cached in ``cache_dir``; what is not there may be in ``elsewhere``, where nothing is written."""

    def __init__(self, catalog: Writers, cache_dir: Path, elsewhere: Path | None = None) -> None:
        self._catalog = catalog
        self._cache = LedgerCache(cache_dir)
        self._elsewhere = LedgerCache(elsewhere or cache_dir)

    def read(self, table: TableName, pin: Pin | None) -> LedgerView:
        """What ``table`` has taken at its record's pin: from the cache, or from the ledger at that snapshot.

        Raises StateError LS540-LS542 when the ledger or its snapshot is gone, LockedError LS740 when the catalog stays
        locked.
        """
        if pin is None or pin.snapshot is None:
            return EMPTY
        view = self._cache.load(pin) or self._elsewhere.load(pin)
        return view if view is not None else self._read_table(table, pin, pin.snapshot)

    def append(
        self,
        table: TableName,
        pin: Pin | None,
        entries: Sequence[LedgerEntry],
        there: Callable[[], Mapping[str, Collection[str]]] = dict,
        leaving: frozenset[str] = frozenset(),
    ) -> Pin:
        """Writes the intent: a new version of the ledger with the pinned content and ``entries``, and nothing else.

        From time to time it is written anew, and then without the lines that may leave (``folded``). ``there`` is asked then: by the folder of
        each source of events the names that are in it. It is written anew also where paths are ``leaving``, which are not in it then.
        Returns the pin of that version, for the record. Makes the ledger when there is none and ``pin`` is None. Raises
        ValueError without entries, SourceError LS412 for two entries of one path, StateError as ``read`` does, and
        LockedError LS740 when the catalog stays locked or contended.
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
        """Whether any of the files was ever taken, up to the pinned version: their newest lines need not tell. Raises as ``read``."""
        if pin is None or pin.snapshot is None:
            return False
        snapshot, view = pin.snapshot, self.read(table, pin)
        if any(view.is_folded(path) for path in paths):
            return True
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
        due = work.anew or ledger_table.is_due(ledger, parent)
        folding = work.folding() if due else NOTHING
        kept = ledger_table.kept_lines(ledger, parent, folding) if due else None
        rows = (ledger_table.rows_at(ledger, parent) if kept is None else kept.num_rows) + len(work.entries)
        # A try before may have been committed although its answer was an error: its branch tells.
        done = ledger_table.committed(ledger, parent, work.branch, rows)
        if done is None:
            ledger_table.commit(ledger, parent, work.entries, work.branch, kept)
            done = ledger_table.committed(ledger, parent, work.branch, rows)
        if done is None:
            raise _not_as_written(work.table, work.branch)
        return Pin(str(ledger.metadata.table_uuid), done), folding

    def _parent(self, work: _Append) -> tuple[Any, int]:
        """The ledger, made if there is none, and the snapshot to append to."""
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
    """What leaves the ledger now. A segment that has just gone may have been looked for a moment ago: it stays for a while."""
    now_ms = max(entry.at_ms for entry in entries)
    found = fold(before, there, now_ms - limits.SEGMENT_LINES_KEPT_SECONDS * 1000)
    return replace(found, leaving=found.leaving | leaving)


def _check_entries(table: TableName, entries: Sequence[LedgerEntry]) -> None:
    if not entries:
        raise ValueError("an append to a ledger needs at least one entry")
    twice = [path for path, count in Counter(entry.file.path for entry in entries).items() if count > 1]
    if twice:
        sources = sorted({entry.source for entry in entries if entry.file.path == twice[0]})
        raise SourceError(
            Problem(
                "LS412",
                f"{table}: one file is matched by two sources",
                expected="each file in one source: a file is taken once by a table",
                found=f"{printable(twice[0])} in {' and '.join(sources)} ({len(twice)} such files)",
                hint="make the sources' `path` or `pattern` disjoint",
            )
        )


def _not_as_written(table: TableName, branch: str) -> StateError:
    return StateError(
        Problem(
            "LS544",
            f"{table}: an append to its file ledger was committed, but not as it was written",
            expected=f"branch {branch} one snapshot after the pinned one, with the pinned lines and the new ones",
            hint="run again; nothing of this attempt counts. If it stays, something else writes to the ledger",
        )
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
    return LockedError(
        Problem(
            "LS740",
            f"{table}: its file ledger cannot be written because others keep the catalog busy",
            expected=f"to write to it within {busy.TRIES} tries",
            found=str(last).splitlines()[0],
            hint="see who holds the catalog (`lakesmith doctor`), then run again: nothing of this attempt counts",
        )
    )


def _has_lost_race(error: Exception) -> bool:
    """Whether another made its commit, or the ledger, first; or it is not known what became of ours, which the next try looks up."""
    from pyiceberg.exceptions import CommitFailedException

    if isinstance(error, CommitFailedException) or is_in_doubt(error):
        return True
    if isinstance(error, ValueError):
        # How PyIceberg tells that another snapshot was added between reading the metadata and committing to it.
        return "older than last sequence number" in str(error)
    if type(error).__name__ == "IntegrityError":
        # Two first ledgers of a lake make their namespace at once, and PyIceberg inserts without looking.
        return True
    return type(error).__name__ == "OperationalError" and "already exists" in str(error).lower()
