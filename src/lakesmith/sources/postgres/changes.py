"""The differences between a table as it was read and as it is now. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from lakesmith.project.definitions import PostgresSource

INSERT: Final = "insert"
UPDATE: Final = "update"
DELETE: Final = "delete"
NEWER: Final = "upsert"
"""For a row of which only the new value is known: the table is read by a growing column."""

FILE_TIME: Final = "%Y%m%dT%H%M%S.%fZ"


class NotUniqueError(Exception):
    """Two rows have the same key, which it carries."""


@dataclass(frozen=True, slots=True)
class ReadRow:
    """A row as PostgreSQL writes it in JSON: an object of its key's columns, and one of all."""

    key: str
    row: str

    @property
    def hash(self) -> str:
        """Returns a hash of a row's values, 24 hexadecimal digits."""
        return hashlib.sha256(self.row.encode()).hexdigest()[:24]


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


def changes(
    before: Mapping[str, str | None], now: Iterable[ReadRow], table: PostgresSource
) -> Iterator[Change]:
    """Yields the changes from ``before`` to the rows ``now``. ``before`` maps keys to hashes; None: only the
    key is known.

    If the whole table is read, keys that are gone are deletes; their rows have only the key's columns.
    Raises NotUniqueError for two rows of one key.
    """
    seen: set[str] = set()
    for each in now:
        if each.key in seen:
            raise NotUniqueError(each.key)
        seen.add(each.key)
        if each.key not in before:
            yield Change(NEWER if table.growing else INSERT, each.key, each.row, each.hash)
        elif before[each.key] != each.hash:
            yield Change(NEWER if table.growing else UPDATE, each.key, each.row, each.hash)
    if table.growing is None:
        for key in before.keys() - seen:
            yield Change(DELETE, key, key, None)


def next_time(now: datetime, newest: str | None) -> datetime:
    """Returns the time of the changes: ``now``, but later than those of the file ``newest``."""
    if newest is None:
        return now
    last = datetime.strptime(newest.removesuffix(".jsonl"), FILE_TIME).replace(tzinfo=UTC)
    return max(now, last + timedelta(microseconds=1))
