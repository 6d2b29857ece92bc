"""The differences between a table as it was read and as it is now. Pure.

A row keeps the key with which it was first read, although PostgreSQL may write the key otherwise later: an
``UPDATE`` makes 1.00 of 1.0, ``ALTER TABLE`` does so for all rows. PostgreSQL says which keys are equal.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

from lakesmith.project.definitions import PostgresSource
from lakesmith.sources.formats.text import one_line

INSERT: Final = "insert"
UPDATE: Final = "update"
DELETE: Final = "delete"
NEWER: Final = "upsert"
"""For a row of which only the new value is known: the table is read by a growing column."""

FILE_TIME: Final = "%Y%m%dT%H%M%S.%fZ"

SameKeys = Callable[[Sequence[str]], Mapping[str, str]]
"""Returns, for those of the keys that equal the key of a row in PostgreSQL, the key as it is written there.

Raises NotUniqueError for a key that equals those of two rows.
"""


class NotUniqueError(Exception):
    """Two rows have the same key, which it carries."""


@dataclass(frozen=True, slots=True)
class ReadRow:
    """A row as PostgreSQL writes it in JSON: an object of its key's columns, and one of all, in one line."""

    key: str
    row: str

    @property
    def hash(self) -> str:
        """Returns a hash of a row's values, 24 hexadecimal digits."""
        return hashlib.sha256(self.row.encode()).hexdigest()[:24]


class Aside(Protocol):
    """Rows that are kept until all of the table has been read."""

    def put(self, row: ReadRow) -> None: ...

    def rows(self) -> Iterator[ReadRow]: ...


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a landing file. ``hash``: None for a row that is gone."""

    kind: str
    key: str
    row: str
    hash: str | None

    def line(self, at: datetime) -> str:
        """Returns the line: the row's own text, so that no number in it is read and written again."""
        known = {"_row_key": self.key, "_row_hash": self.hash}
        more = json.dumps({"_change": self.kind, "_read_at": at.isoformat(), **known})
        return f"{self.row.rstrip()[:-1].rstrip()}, {more[1:]}"


@dataclass
class Comparison:
    """Compares a reading with the one before; afterwards it has what is known of the table.

    ``before``: the hashes of the rows by their keys; None: only the key is known. ``first``: the keys with
    which rows were first read, by those that PostgreSQL writes now, if they differ. ``rows`` and ``names``
    become the same of this reading, and ``changed`` the number of changes.
    """

    table: PostgresSource
    before: Mapping[str, str | None]
    first: Mapping[str, str]
    rows: dict[str, str | None] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    changed: int = 0

    def changes(self, now: Iterable[ReadRow], same: SameKeys, aside: Aside) -> Iterator[Change]:
        """Yields the changes. If the whole table is read, keys that are gone are deletes, with only the key's
        columns; they come before the rows that are new, so that a row that is there wins.

        Raises NotUniqueError for two rows of one key.
        """
        for row in now:
            key = self.first.get(row.key, row.key)
            if self.table.is_growing or key in self.before:
                yield from self._told(row, key, NEWER if self.table.is_growing else UPDATE)
            elif self.before:
                aside.put(row)
            else:
                yield from self._told(row, key, INSERT)
        if not self.table.is_growing:
            yield from self._gone_and_new(same, aside)

    def _gone_and_new(self, same: SameKeys, aside: Aside) -> Iterator[Change]:
        gone = [key for key in self.before if key not in self.rows]
        there = same(gone) if gone else {}
        firsts: dict[str, str] = {}
        for key in gone:
            if (now := there.get(key)) is not None and self._is_one_in_lake(key, now):
                firsts.setdefault(now, key)
            else:
                self.changed += 1
                yield Change(DELETE, key, one_line(key), None)
        written_otherwise = set(there.values())
        for row in aside.rows():
            kind = UPDATE if row.key in written_otherwise else INSERT
            yield from self._told(row, firsts.get(row.key, row.key), kind)

    def _told(self, row: ReadRow, key: str, kind: str) -> Iterator[Change]:
        """The change that a row is, if it is one."""
        if key in self.rows:
            raise NotUniqueError(row.key)
        self.rows[key] = row.hash
        if key != row.key:
            self.names[row.key] = key
        if key not in self.before or self.before[key] != row.hash:
            self.changed += 1
            yield Change(kind, key, row.row, row.hash)

    def _is_one_in_lake(self, one: str, other: str) -> bool:
        """Whether keys that PostgreSQL takes as equal are equal in the lake, which has some as texts."""
        return self._texts(one) == self._texts(other)

    def _texts(self, key: str) -> list[Any]:
        values = json.loads(key, parse_float=str, parse_int=str)
        return [values[column] for column in self.table.text_keys]


def is_landing_file(name: str) -> bool:
    """Whether a file of this name has changes of a table in PostgreSQL."""
    try:
        return bool(_time_of(name))
    except ValueError:
        return False


def next_time(now: datetime, newest: str | None) -> datetime:
    """Returns the time of the changes: ``now``, but later than those of the file ``newest``."""
    if newest is None:
        return now
    return max(now, _time_of(newest) + timedelta(microseconds=1))


def _time_of(name: str) -> datetime:
    return datetime.strptime(name, f"{FILE_TIME}.jsonl").replace(tzinfo=UTC)
