"""The plan as frozen data: the same steps are shown by ``plan`` and ``explain`` and walked by ``run``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from lakesmith.catalog.record import Pin, Record
from lakesmith.errors import Problem
from lakesmith.project.definitions import Source, TableDefinition, TableName
from lakesmith.sources.model import FileIdentity, UnreadFile
from lakesmith.sql.erasure_filter import ErasureFilter


class Strategy(StrEnum):
    """How a table is refreshed, from cheap to expensive."""

    FILES = "files"
    """New files are read and appended."""
    LEDGER = "ledger"
    """No file is read: files are skipped, forgotten with their rows, or all new ones are unreadable."""
    ADVANCE = "advance"
    """Inputs moved without a change of rows (compaction), or metadata differs from the declaration."""
    APPEND = "append"
    """The query runs over the new rows of its input; its result is appended."""
    UPSERT = "upsert"
    """The query runs over the new rows of its input; the newest version of each key wins."""
    KEYS = "keys"
    """The keys of changed rows are recomputed from all rows that have them; the result replaces theirs."""
    SUMS = "sums"
    """As ``KEYS``, if the changed rows determine the keys' new sums, counts and extremes."""
    FULL = "full"
    """The query runs over its whole inputs; the result replaces the table in one commit."""
    REPLAY = "replay"
    """Rows of the quarantine are validated again: good ones are appended, bad ones return to it."""
    EXTERNAL = "external"
    """Nothing is ever done: the table is another's, and is read as it is."""
    ERASE = "erase"
    """Rows of the erased people are deleted; hashes of their keys are kept."""
    READMIT = "readmit"
    """Hashes of erased people are deleted: new rows of theirs are ingested again."""
    DROP = "drop"
    """Rows of the quarantine are deleted for good; the table's own rows do not change."""

    @property
    def is_by_keys(self) -> bool:
        """Whether the changed rows of the inputs are read. Spark's plan decides between the two."""
        return self in (Strategy.KEYS, Strategy.SUMS)

    @property
    def label(self) -> str:
        """The name in a plan, for people. ``KEYS`` represents ``SUMS`` too; the record says which it was."""
        return "incremental by key or aggregate" if self is Strategy.KEYS else self.value


@dataclass(frozen=True, slots=True)
class Base:
    """The table's state that a batch was planned against. All None: the table does not exist yet.

    ``snapshot`` is main's head. A publish is refused if ``uuid`` or main's head has changed.
    """

    uuid: str | None = None
    snapshot: int | None = None
    record: Record | None = None

    def pin(self, sidecar: str) -> Pin | None:
        """Returns the pinned version of a sidecar table; None if it has none yet."""
        return self.record.sidecars.get(sidecar) if self.record else None


@dataclass(frozen=True, slots=True)
class InputRange:
    """The part of an input that is read: rows of the snapshots after ``start`` up to ``end``.

    ``start`` None: the whole table at ``end``. ``end`` None: the input was never written, so no rows. For
    ``keys`` and ``sums`` both are positions: the changes between them are read, and some rows at ``end``.
    ``rows``: the number of rows by the snapshots' summaries, None if unknown. ``schema``: id of the table's
    schema. ``lookup``: its rows are only joined to those of the other input.
    """

    table: TableName
    uuid: str
    start: int | None
    end: int | None
    rows: int | None = None
    schema: int | None = None
    lookup: bool = False

    @classmethod
    def unread(cls, record: Record) -> tuple[Self, ...]:
        """Returns the inputs at the positions of a record: nothing is read of them."""
        return tuple(
            cls(TableName.parse(name), pin.uuid, pin.snapshot, pin.snapshot, 0, pin.schema)
            for name, pin in record.inputs.items()
        )

    @property
    def pin(self) -> Pin:
        """The position the table has consumed once this range is published."""
        return Pin(self.uuid, self.end, self.schema)


@dataclass(frozen=True, slots=True)
class FileIntake:
    """The files that one source gives to a batch.

    ``replace``: changed files, whose earlier rows are deleted first. ``skip`` and ``forget`` are not read:
    files to leave out from now on, and files whose rows are deleted and that are ingested again. ``unread``:
    files left out because they are unreadable. ``renewed``: ingested files whose content lakesmith changed.
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
        """The total size in bytes, estimated for slices of a topic, which only count records."""
        return sum(file.size for file in self.files) * self.source.bytes_per_unit


@dataclass(frozen=True, slots=True)
class BadRows:
    """A filter of quarantined rows; None leaves a part open.

    ``batch`` found the row. ``reason`` is contained in one of its reasons, ignoring case. ``file`` is its
    landing file, or the end of that file's path.
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
class _OfTable:
    table: TableDefinition

    @property
    def name(self) -> TableName:
        return self.table.name


@dataclass(frozen=True, slots=True)
class TableStep(_OfTable):
    """Work for one table: one batch, published by one commit.

    ``row_wise``: each input row gives at most one row, so every row read can be accounted for.
    ``refused``: by strategy, why the query does not allow it, for the record.
    ``definition``: short hashes of the parts of ``fingerprint``; empty: those of the base's record remain.
    ``idle``: inputs whose watermarks are ignored.
    ``arrived``: last change of the rows of inputs with watermarks, in ms since the epoch.
    ``persons``: the filter of an erasure.
    ``loses``: what the batch removes for good, in words; it fails unless ``approved``, naming the
    ``readers``.
    ``drops``: columns of a sourced table that are removed before the batch.
    ``snapshot_ranges``: read one by one in place of ``inputs``, if rows were joined to several versions of a
    lookup.
    """

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
        """The inputs whose rows produce the table's rows: all but lookups."""
        return tuple(item for item in self.inputs if not item.lookup)

    @property
    def file_count(self) -> int:
        """How many files the batch reads, without slices of topics."""
        return sum(len(intake.files) for intake in self.intakes if intake.source.has_files)


@dataclass(frozen=True, slots=True)
class UpToDate(_OfTable):
    """A table with nothing to do, and why. ``held``: frozen, so it may be behind."""

    reason: str
    notes: tuple[str, ...] = ()
    held: bool = False


@dataclass(frozen=True, slots=True)
class Waiting(_OfTable):
    """A table whose step is only known once its inputs are refreshed."""

    upstream: tuple[TableName, ...]


@dataclass(frozen=True, slots=True)
class Refused(_OfTable):
    """A table that cannot be refreshed, and the choices there are."""

    problem: Problem


Decision = TableStep | UpToDate | Waiting | Refused
"""The plan of one table."""
