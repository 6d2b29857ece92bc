"""The plan as frozen data: the same steps are shown by ``plan`` and ``explain`` and walked by ``run``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from lakesmith.catalog.record import Pin, Record
from lakesmith.errors import Problem
from lakesmith.project.definitions import Source, TableDefinition, TableName
from lakesmith.sources.model import FileIdentity, UnreadFile
from lakesmith.sql.erasure_filter import ErasureFilter


class Strategy(StrEnum):
    """How a table is brought up to date. From cheap to dear."""

    FILES = "files"
    """The files that were not taken yet are read and appended."""
    LEDGER = "ledger"
    """No file is read: files are skipped, or forgotten together with their rows, as asked; or none of the new ones can be read."""
    ADVANCE = "advance"
    """The inputs moved without a change of rows (compaction), or metadata is not yet as declared: positions and metadata follow."""
    APPEND = "append"
    """The query runs over the rows that are new in its input; its result is appended."""
    UPSERT = "upsert"
    """The query runs over the rows that are new in its input; the newest version of each key wins."""
    KEYS = "keys"
    """The keys that changed rows have are computed anew, from all rows that have them; the result replaces theirs."""
    SUMS = "sums"
    """As ``KEYS``, where what changed tells the keys' sums, counts and extremes: it is added to those that are there."""
    FULL = "full"
    """The query runs over its whole inputs; the result replaces the table in one commit."""
    REPLAY = "replay"
    """Rows are taken out of quarantine and judged again: good ones are appended, bad ones go back."""
    EXTERNAL = "external"
    """Nothing is ever done: the table is another's, and is read as it is."""
    ERASE = "erase"
    """Rows of people who are to be forgotten are deleted, and known by hashes from then on."""
    READMIT = "readmit"
    """Hashes of people who were erased go: new rows of theirs are taken again."""
    DROP = "drop"
    """Rows are taken out of quarantine for good; the table's own rows stay as they are."""

    @property
    def is_by_keys(self) -> bool:
        """Whether the changed rows of the inputs are read. Spark's plan decides between ``KEYS`` and ``SUMS``."""
        return self in (Strategy.KEYS, Strategy.SUMS)

    @property
    def label(self) -> str:
        """The name in a plan, for people. A plan has ``KEYS`` for both ``KEYS`` and ``SUMS``; the record says which."""
        return "incremental by key or aggregate" if self is Strategy.KEYS else self.value


@dataclass(frozen=True, slots=True)
class Base:
    """Where a batch begins: the table as it was planned against. All None: the table does not exist yet.

    ``snapshot`` is main's head. A publish is refused when the table's ``uuid`` or main's head is another by then.
    """

    uuid: str | None = None
    snapshot: int | None = None
    record: Record | None = None

    def pin(self, sidecar: str) -> Pin | None:
        """The version of a table beside the table that its record pins; None when it has none yet."""
        return self.record.sidecars.get(sidecar) if self.record else None


@dataclass(frozen=True, slots=True)
class InputRange:
    """What of an input is read: the rows that came in the snapshots after ``start`` up to ``end``.

    ``start`` None: the whole table as it was at ``end``. ``end`` None: the input has never been written: no rows.
    With strategies ``keys`` and ``sums`` both are positions: what changed between them is looked at, and of all rows at ``end`` some.
    ``rows`` is how many rows that is by the snapshots' own summaries, None where they do not say. ``schema`` is the id of the schema
    that the table has. ``lookup``: its rows are only joined to those of the other input.
    """

    table: TableName
    uuid: str
    start: int | None
    end: int | None
    rows: int | None = None
    schema: int | None = None
    lookup: bool = False

    @property
    def pin(self) -> Pin:
        """The position the table has consumed once this range is published."""
        return Pin(self.uuid, self.end, self.schema)


@dataclass(frozen=True, slots=True)
class FileIntake:
    """The files one source gives to a batch. ``replace`` are changed files, whose earlier rows are deleted first.

    ``skip`` and ``forget`` are not read: files to leave out from now on, and files to delete the rows of and take again.
    ``unread`` are left out because they cannot be read. ``renewed`` are taken files whose content lakesmith itself has changed.
    """

    source: Source
    take: tuple[FileIdentity, ...] = ()
    replace: tuple[FileIdentity, ...] = ()
    skip: tuple[FileIdentity, ...] = ()
    forget: tuple[FileIdentity, ...] = ()
    unread: tuple[UnreadFile, ...] = ()
    renewed: tuple[FileIdentity, ...] = ()

    @property
    def files(self) -> tuple[FileIdentity, ...]:
        """All files that are read."""
        return self.take + self.replace

    @property
    def size(self) -> int:
        """Their bytes; of slices of a topic, which say how many records they have, about that."""
        return sum(file.size for file in self.files) * self.source.bytes_per_unit


@dataclass(frozen=True, slots=True)
class BadRows:
    """Which rows of a quarantine are meant; a part that is None leaves it open.

    ``batch`` is the batch that found the row; ``reason`` is contained in one of its reasons, whatever the case; ``file`` is
    its landing file, or the end of that file's path.
    """

    batch: int | None = None
    reason: str | None = None
    file: str | None = None

    def __str__(self) -> str:
        parts = (
            f"batch {self.batch}" if self.batch is not None else "",
            f"reason {self.reason!r}" if self.reason is not None else "",
            f"file {self.file!r}" if self.file is not None else "",
        )
        return ", ".join(part for part in parts if part) or "all rows"


@dataclass(frozen=True, slots=True)
class TableStep:
    """Work for one table: one batch, published by one commit.

    ``row_wise``: each row of the input gives at most one row, so that every row read can be accounted for.
    ``refused``: by strategy, why the query does not allow it, for the record.
    ``definition``: short hashes of the parts that ``fingerprint`` stands for; empty: those of the base's record stay.
    ``idle``: inputs whose watermarks do not count; ``arrived``: when the rows of those with watermarks last changed, since the epoch.
    ``persons``: whose rows are erased.
    ``loses``: what the batch would take away for good, in words, as far as planning can tell; it fails unless that is ``approved``, and
    names the ``readers`` of the table then. ``drops``: columns of a table of files that leave before the batch.
    ``snapshot_ranges``: in place of ``inputs``, each read by itself, where not all rows were joined to the same version of a lookup.
    """

    table: TableDefinition
    strategy: Strategy
    reason: str
    base: Base
    fingerprint: str
    inputs: tuple[InputRange, ...] = ()
    intakes: tuple[FileIntake, ...] = ()
    notes: tuple[str, ...] = ()
    row_wise: bool = False
    refused: Mapping[str, str] = field(default_factory=dict)
    bad_rows: BadRows = BadRows()
    definition: Mapping[str, str] = field(default_factory=dict)
    snapshot_ranges: tuple[tuple[InputRange, ...], ...] = ()
    idle: tuple[TableName, ...] = ()
    arrived: Mapping[str, int] = field(default_factory=dict)
    persons: ErasureFilter | None = None
    approved: bool = False
    loses: tuple[str, ...] = ()
    readers: tuple[TableName, ...] = ()
    drops: tuple[str, ...] = ()

    @property
    def driving(self) -> tuple[InputRange, ...]:
        """The inputs whose rows give the table's: all but those that are looked up."""
        return tuple(item for item in self.inputs if not item.lookup)

    @property
    def name(self) -> TableName:
        """The table's logical name."""
        return self.table.name

    @property
    def file_count(self) -> int:
        """How many files the batch reads; slices of a topic are none."""
        return sum(len(intake.files) for intake in self.intakes if intake.source.has_files)


@dataclass(frozen=True, slots=True)
class UpToDate:
    """A table with nothing to do, and why that is known. ``held``: it may be behind, and is to stay where it is."""

    table: TableDefinition
    reason: str
    notes: tuple[str, ...] = ()
    held: bool = False

    @property
    def name(self) -> TableName:
        """The table's logical name."""
        return self.table.name


@dataclass(frozen=True, slots=True)
class Waiting:
    """A table whose step is only known once the tables it reads have been brought up to date."""

    table: TableDefinition
    upstream: tuple[TableName, ...]

    @property
    def name(self) -> TableName:
        """The table's logical name."""
        return self.table.name


@dataclass(frozen=True, slots=True)
class Refused:
    """A table that cannot be brought up to date as things are, and the choices there are."""

    table: TableDefinition
    problem: Problem

    @property
    def name(self) -> TableName:
        """The table's logical name."""
        return self.table.name


Decision = TableStep | UpToDate | Waiting | Refused
"""What planning says of one table."""
