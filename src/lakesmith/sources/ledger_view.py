"""The ledger's content for planning: the newest line of each path, and an order-independent hash of lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry, place_of
from lakesmith.sources.moved import Moved, earlier_paths

Row = tuple[str, str, int, int, int, int, str, str, int, int]
"""Source, action, size, modified_ns, inode, changed_ns, etag, attempt, batch, at_ms."""


HIDDEN: Final = "erased:"
"""How a hidden path begins (its name identified an erased person): ``erased:SALT:SHA-256``."""


def hidden_path(path: str, salt: str) -> str:
    """Returns the ledger's text for a hidden path. ``salt``: hexadecimal, one for each ledger."""
    return f"{HIDDEN}{salt}:{hashlib.sha256((salt + path).encode('utf-8', 'surrogateescape')).hexdigest()}"


class LedgerView(Mapping[str, LedgerEntry]):
    """Maps a path to its newest entry, immutable. Newest is by batch, then time, then order.

    A path belongs to the table, not to one of its sources: a file that two sources match, or whose source was
    renamed, is ingested once. A hidden path is found by the path itself, and so is one that had another name
    before a recovery (``moved``). A segment whose line has left is found, but not iterated. Holds plain rows
    and makes entries only on request: 100,000 rows are read in every idle run.
    """

    __slots__ = ("_moved", "_rows", "_salts")

    def __init__(self, rows: Mapping[str, Row] | None = None, moved: Moved = ()) -> None:
        self._rows: Mapping[str, Row] = rows or {}
        self._moved = moved
        self._salts: frozenset[str] | None = None

    @property
    def rows(self) -> Mapping[str, Row]:
        """Path -> plain row, for the cache and for quick comparison. Do not change it."""
        return self._rows

    def row(self, path: str) -> Row | None:
        """Returns the newest row of a path; only "ingested" for a segment whose line has left."""
        found = self._rows.get(self.known_as(path))
        return found if found is not None else self._folded(path)

    @property
    def salts(self) -> frozenset[str]:
        """The salts of hidden paths."""
        if self._salts is None:
            hidden = (path for path in self._rows if path.startswith(HIDDEN))
            self._salts = frozenset(path.split(":")[1] for path in hidden)
        return self._salts

    def known_as(self, path: str) -> str:
        """Returns the path as the ledger and the rows have it: as it is, or hidden."""
        if path in self._rows:
            return path
        return next((each for each in self.other_names(path) if each in self._rows), path)

    def other_names(self, path: str) -> Iterator[str]:
        """Yields what the ledger and the rows may have instead of a path: hidden, or as it was before a
        recovery."""
        for each in (path, *earlier_paths(path, self._moved)):
            if each != path:
                yield each
            yield from (hidden_path(each, salt) for salt in self.salts)

    def is_moved(self, path: str) -> bool:
        """Whether the ledger has a path by another name, since a recovery."""
        return path not in self._rows and any(each in self._rows for each in earlier_paths(path, self._moved))

    def with_moved(self, moved: Moved) -> LedgerView:
        """The same, of files that are elsewhere now."""
        return LedgerView(self._rows, moved) if moved else self

    def _folded(self, path: str) -> Row | None:
        place = place_of(path)
        known = self._rows.get(place[0].path) if place else None
        if place is None or known is None or place[1] > known[2]:
            return None
        return (known[0], FileAction.TAKEN.value, 0, 0, 0, 0, "", *known[7:])

    def is_folded(self, path: str) -> bool:
        """Whether a segment was ingested, and its line has left."""
        return path not in self._rows and self._folded(path) is not None

    def __getitem__(self, path: str) -> LedgerEntry:
        row = self.row(path)
        if row is None:
            raise KeyError(path)
        return entry_of(path, row)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self.row(path) is not None

    def without(self, paths: Collection[str]) -> LedgerView:
        return LedgerView({path: row for path, row in self._rows.items() if path not in paths}, self._moved)

    def plus(self, entries: Iterable[LedgerEntry]) -> LedgerView:
        return self.plus_rows((entry.file.path, row_of(entry)) for entry in entries)

    def plus_rows(self, lines: Iterable[tuple[str, Row]]) -> LedgerView:
        rows = dict(self._rows)
        for path, row in lines:
            known = rows.get(path)
            if known is None or (row[8], row[9]) >= (known[8], known[9]):
                rows[path] = row
        return LedgerView(rows, self._moved)


EMPTY = LedgerView()
"""Returns the ledger of a table that has ingested nothing."""


def row_of(entry: LedgerEntry) -> Row:
    file = entry.file
    stat = (file.size, file.modified_ns, file.inode, file.changed_ns, file.etag)
    return (entry.source, entry.action.value, *stat, entry.attempt, entry.batch, entry.at_ms)


def entry_of(path: str, row: Row) -> LedgerEntry:
    source, action, size, modified, inode, changed, etag, attempt, batch, at_ms = row
    file = FileIdentity(path, size, modified, inode, changed, etag)
    return LedgerEntry(file, source, FileAction(action), attempt, batch, at_ms)


def hash_entries(entries: Iterable[LedgerEntry]) -> str:
    """Returns a hash of an attempt's lines, in any order: 32 hexadecimal digits, for the record."""
    lines = sorted(json.dumps((entry.file.path, *row_of(entry))) for entry in entries)
    digest = hashlib.blake2b(digest_size=16)
    for line in lines:
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()
