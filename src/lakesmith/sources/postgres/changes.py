"""What differs between a table as it was read and as it is now. Pure."""

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
"""Of a row of which only the new value is known: the table is read by a growing column."""

FILE_TIME: Final = "%Y%m%dT%H%M%S.%fZ"


class NotUniqueError(Exception):
    """Two rows have the key that it carries."""


@dataclass(frozen=True, slots=True)
class ReadRow:
    """A row as PostgreSQL writes it in JSON: objects of its key's columns and of all."""

    key: str
    row: str

    @property
    def hash(self) -> str:
        """What tells two values of a row apart, 24 hexadecimal digits."""
        return hashlib.sha256(self.row.encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a landing file. ``hash``: None of a row that is gone."""

    kind: str
    key: str
    row: str
    hash: str | None

    def line(self, at: datetime) -> str:
        """The line: the row's own text, so that no number in it is read and written again."""
        more = json.dumps({"_change": self.kind, "_read_at": at.isoformat(), "_row_key": self.key})
        return f"{self.row.rstrip()[:-1].rstrip()}, {more[1:]}"


def changes(
    before: Mapping[str, str | None], now: Iterable[ReadRow], table: PostgresSource
) -> Iterator[Change]:
    """The changes from ``before`` (hashes by keys; None: the key was there, its values are not known) to the rows ``now``.

    Where the whole table is read, keys that are not there any more are deletes; their rows have only the key's columns.
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
    """When changes are said to be seen: ``now``, and after those of the file ``newest`` whatever the clock says."""
    if newest is None:
        return now
    last = datetime.strptime(newest.removesuffix(".jsonl"), FILE_TIME).replace(tzinfo=UTC)
    return max(now, last + timedelta(microseconds=1))
