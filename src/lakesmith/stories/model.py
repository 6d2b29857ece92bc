"""A story as frozen data: what is given batch by batch, and what is expected of which table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from lakesmith.errors import Place
from lakesmith.project.definitions import TableName
from lakesmith.project.yaml_reader import YamlPath

REBUILD: Final = "rebuild"
REPEAT: Final = "repeat"
CLOSING: Final = (REBUILD, REPEAT)
"""What each story checks after its last batch: a rebuild gives the same rows, and a run has nothing to do."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Given:
    """What arrives at a table in a batch: rows, the text of a file, or a file of the project.

    ``source``: which of the table's named sources; None: its only one. ``rows`` are values as YAML has them,
    ``text`` is a landing file's content, and ``file`` is a path in the project's folder; one of the three is
    given. ``name``: what the landing file is called.
    """

    table: TableName
    place: Place
    source: str | None = None
    rows: Sequence[Row] | None = None
    text: str | None = None
    file: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that a table must hold, in any order: all of them, with the named columns alone.

    ``path``: where they are in the file of stories. ``texts``: the values are those of CSV, so that each is a
    text, whatever its type. ``tolerance``: how far
    numbers with a floating point may be from what is expected, as a part of it.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    place: Place
    texts: bool = False
    tolerance: float = 1e-9
    path: YamlPath = ()


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that must be in quarantine: words of one of its reasons, and values of its columns."""

    reason: str | None
    values: tuple[tuple[str, Any], ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a table must be after a batch; None: nothing is said of that.

    ``count``: its rows. ``quarantine``: all of its bad rows, or how many there are. ``balance``: numbers of
    the batch's row balance. ``strategy``: how the batch refreshed it. ``error``: the code with which the
    batch failed.
    """

    table: TableName
    place: Place
    rows: Rows | None = None
    count: int | None = None
    quarantine: tuple[BadRow, ...] | int | None = None
    balance: tuple[tuple[str, int], ...] = ()
    strategy: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """What arrives before a run, and what is expected after it."""

    given: tuple[Given, ...]
    expected: tuple[Expectation, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """A test of a project.

    ``now``: the time of its first batch; each later batch is a minute after the one before. ``columns``: the
    types of tables that are given directly. ``without``: what is not checked at its end (``CLOSING``).
    """

    file: str
    title: str
    place: Place
    batches: tuple[Batch, ...]
    now: datetime | None = None
    variables: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    columns: tuple[tuple[TableName, tuple[tuple[str, str], ...]], ...] = ()
    without: frozenset[str] = frozenset()

    @property
    def given(self) -> dict[TableName, list[Given]]:
        """All that is given, by table."""
        found: dict[TableName, list[Given]] = {}
        for batch in self.batches:
            for each in batch.given:
                found.setdefault(each.table, []).append(each)
        return found

    @property
    def expected(self) -> frozenset[TableName]:
        """The tables of which something is expected."""
        return frozenset(each.table for batch in self.batches for each in batch.expected)
