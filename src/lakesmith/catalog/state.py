"""The state of a table as frozen data, read from Iceberg's metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from lakesmith.catalog.record import Record

MAIN = "main"
"""The branch every reader sees."""

RECORD_TAG = "lakesmith_record"
"""The tag that is moved with every publish: it protects the newest record from anyone's expiry."""

BRANCH_PREFIX = "lakesmith_work_"
"""Branches of batches under way; whatever a dead one left behind is removed by the next publish."""

DRAFT_PROPERTY: Final = "lakesmith.draft"
"""Table property of metadata files that are a batch's draft, never the table's state: the attempt's UUID."""

DELETES_OLD_METADATA: Final = "write.metadata.delete-after-commit.enabled"
"""Iceberg's property: whether a commit deletes metadata files that left the table's log."""

DELETE_GRANULARITY: Final = "write.delete.granularity"
"""Iceberg's property: how many data files a position-delete file covers. Only v2 tables have it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An Iceberg snapshot. ``committed_ms``: ms since the epoch; ``summary`` as Iceberg keeps it."""

    snapshot_id: int
    parent_id: int | None
    sequence_number: int
    committed_ms: int
    operation: str
    manifest_list: str
    summary: Mapping[str, str] = field(default_factory=dict)
    schema_id: int | None = None

    @property
    def record(self) -> Record | None:
        """The progress record this snapshot carries, if it is the last one of a published batch."""
        return Record.from_summary(self.summary)

    def count(self, key: str) -> int:
        """A number of the summary, 0 when it is absent."""
        return int(self.summary.get(key, "0"))

    def known_count(self, key: str) -> int | None:
        """A number of the summary, None when it is absent: Iceberg asks for none of them."""
        return self.count(key) if key in self.summary else None


@dataclass(frozen=True, slots=True)
class ColumnState:
    """A column of a table. ``type`` is a Spark SQL type in lower case; ``inner`` maps field paths to ids;
    ``has_default``: earlier rows have a value."""

    field_id: int
    name: str
    type: str
    required: bool
    doc: str | None = None
    inner: tuple[tuple[str, int], ...] = ()
    has_default: bool = False


@dataclass(frozen=True, slots=True)
class TableState:
    """A table's metadata at one time. ``refs`` maps branches and tags to snapshots; ``published`` is
    Iceberg's log of main's heads (id, ms), oldest first. ``partitioning`` has the fields as Spark's DDL:
    ``days(at)``. ``schemas`` are by id, ``schema_id`` is the present one."""

    name: str
    uuid: str
    location: str
    metadata_location: str
    format_version: int
    columns: tuple[ColumnState, ...]
    snapshots: Mapping[int, Snapshot]
    refs: Mapping[str, int]
    tags: frozenset[str]
    published: tuple[tuple[int, int], ...]
    properties: Mapping[str, str]
    partitioning: tuple[str, ...] = ()
    schemas: Mapping[int, tuple[ColumnState, ...]] = field(default_factory=dict)
    schema_id: int | None = None

    def columns_at(self, snapshot_id: int | None) -> tuple[ColumnState, ...] | None:
        """Returns the columns at the time of a snapshot; None if they are not known any more."""
        snapshot = self.snapshots.get(snapshot_id) if snapshot_id is not None else None
        return self.schemas.get(snapshot.schema_id) if snapshot and snapshot.schema_id is not None else None

    @property
    def may_leave_deletes(self) -> bool:
        """Whether summaries may count position-delete files that hide nothing: the table is or was v2.
        Iceberg removes vectors (v3) with their data files, but not such files."""
        return self.format_version == 2 or DELETE_GRANULARITY in self.properties

    @property
    def head(self) -> Snapshot | None:
        """Main's newest snapshot; None for a table that was created and never written."""
        return None if self.head_id is None else self.snapshots[self.head_id]

    @property
    def head_id(self) -> int | None:
        return self.refs.get(MAIN)

    def ancestors(self, snapshot_id: int | None) -> Iterator[Snapshot]:
        """The snapshot and its parents, newest first, as far as they have not expired."""
        while snapshot_id is not None and snapshot_id in self.snapshots:
            snapshot = self.snapshots[snapshot_id]
            yield snapshot
            snapshot_id = snapshot.parent_id
