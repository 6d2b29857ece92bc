"""Iceberg's Java API through the driver's gateway: the few calls that SQL cannot make exactly.

Publishing does not go through ``fast_forward``: that checks ancestry alone, and would bring back what another
tool has rolled back. It is a compare-and-swap on freshly read metadata instead (see ``publish``).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from lakesmith.catalog.metadata import parse_metadata
from lakesmith.catalog.state import BRANCH_PREFIX, MAIN, RECORD_TAG, TableState
from lakesmith.execute.engine import Outdated
from lakesmith.execute.faults import reach
from lakesmith.project.definitions import AS_IN_PROJECT, Naming, TableName
from lakesmith.quoting import quoted
from lakesmith.spark.iceberg.drafts import Draft, draft_of
from lakesmith.spark.iceberg.others import load_other, place_of
from lakesmith.spark.jvm.failures import UNANSWERED
from lakesmith.spark.jvm.gateway import elements
from lakesmith.spark.start.settings import DRAFTS

CATALOG: Final = "lake"
"""The catalog's name in Spark and in the catalog's own database."""

_PUBLISH_TRIES: Final = 30
_IN_DOUBT: Final = ("CommitFailedException", *UNANSWERED)
"""What a commit may raise though it was made: what is there tells."""


_naming = AS_IN_PROJECT


def use_naming(naming: Naming) -> None:
    """Makes tables use the names in the catalog of the process's session."""
    global _naming
    _naming = naming


def physical(name: TableName, branch: str | None = None) -> str:
    """Returns the name of a table, or its draft, in Spark SQL; ``branch`` reads and writes that branch."""
    draft = draft_of(name)
    parts = (CATALOG, *_naming.physical(name)) if draft is None else (DRAFTS, *draft.name)
    return _dotted((*parts, *([f"branch_{branch}"] if branch else [])))


def physical_namespace(layer: str) -> str:
    """The namespace of a layer's tables, for Spark SQL."""
    return _dotted((CATALOG, _naming.namespace(layer)))


def name_in_plans(name: TableName) -> str:
    """The table's name as Spark's plans say it: nothing is quoted."""
    return ".".join((CATALOG, *_naming.physical(name)))


def has_own_names() -> bool:
    """Whether tables are called in the catalog as they are in the project."""
    return _naming == AS_IN_PROJECT


def _dotted(parts: Iterable[str]) -> str:
    return ".".join(quoted(part) for part in parts)


def branch_of(attempt: str) -> str:
    """The working branch of an attempt (a UUID in hexadecimal)."""
    return f"{BRANCH_PREFIX}{attempt.replace('-', '')[:16]}"


@dataclass(frozen=True, slots=True)
class Publication:
    """A publish: table ``uuid``, main at ``begin``, ``branch`` at ``head``, and the ``record``."""

    uuid: str
    branch: str
    begin: int | None
    head: int
    record: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """Columns to drop, to rename (old, new), and the final ``order`` of all; empty: unchanged."""

    drop: tuple[str, ...] = ()
    rename: tuple[tuple[str, str], ...] = ()
    order: tuple[str, ...] = ()


NO_CHANGE: Final = SchemaChange()


class JavaTables:
    """Iceberg tables of the session's catalog, freshly loaded at each call."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        jvm: Any = spark._jvm
        self._jvm = jvm
        # Iceberg resolves names in the JVM thread's active session, and a new Python thread's JVM thread has
        # none.
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)

    def load(self, name: TableName) -> Any:
        """The Java table, or its draft. Raises Py4JJavaError if there is not one."""
        if (place := place_of(self._spark, name)) is not None:
            return load_other(self._spark, name, place)
        return self._load(physical(name))

    def _load(self, full_name: str) -> Any:
        return self._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(
            self._spark._jsparkSession, full_name
        )

    def state_of(self, name: TableName, draft: Draft) -> TableState:
        """What the draft has come to."""
        metadata = self.load(name).operations().current()
        said = str(self._jvm.org.apache.iceberg.TableMetadataParser.toJson(metadata))
        return parse_metadata(str(name), draft.origin, json.loads(said))

    def partition_columns(self, name: TableName) -> frozenset[str]:
        """The columns that the table's data is, or was, partitioned by."""
        table = self.load(name)
        schema, specs = table.schema(), list(table.specs().values())
        found = (schema.findColumnName(field.sourceId()) for spec in specs for field in spec.fields())
        return frozenset(str(column) for column in found)

    def open_branch(self, name: TableName, branch: str, snapshot: int | None) -> None:
        """Creates a branch at ``snapshot``, or one with no rows when it is None."""
        manage = self.load(name).manageSnapshots()
        if snapshot is not None:
            manage.createBranch(branch, snapshot).commit()
            return
        self.load(name).newFastAppend().toBranch(branch).commit()

    def publish(
        self, name: TableName, draft: Draft, work: Publication, schema: SchemaChange = NO_CHANGE
    ) -> int:
        """Makes the work main's head, under an empty snapshot that carries its record; returns that
        snapshot's id.

        One commit puts what the draft has come to in the place of the metadata that it began at, adds the
        snapshot, moves main and the record's tag, changes ``schema`` and drops the working branches. Only if
        the table is still at that metadata, it is the one planned, main is where the batch began and the
        branch is where it was checked. Raises Outdated otherwise.
        """
        tried, table = set[int](), self.load(name)
        for number in range(_PUBLISH_TRIES):
            operations = self._load(_dotted((CATALOG, *_naming.physical(name)))).operations()
            main = _head_of(operations.current(), MAIN)
            if main is not None and main in tried:
                return main
            draft.require_origin(str(operations.current().metadataFileLocation()))
            head, recorded = self._recorded(table, work)
            tried.add(head)
            updated = self._published(table, recorded, head, schema)
            reach("before-swap", str(name))
            is_last = number == _PUBLISH_TRIES - 1
            if self.swap(operations, operations.current(), updated, is_last):
                return head
        raise Outdated("the table's metadata changed at every try to publish")

    def _recorded(self, table: Any, work: Publication) -> tuple[int, Any]:
        """Returns the id of a new snapshot with the record, and the metadata with it; nothing is
        committed."""
        transaction = table.newTransaction()
        _require_unmoved(table.operations().current(), work)
        append = transaction.newFastAppend().toBranch(work.branch)
        for key, value in work.record.items():
            append.set(key, value)
        append.commit()
        metadata = transaction.table().operations().current()
        return int(metadata.ref(work.branch).snapshotId()), metadata

    def _published(self, table: Any, base: Any, head: int, schema: SchemaChange = NO_CHANGE) -> Any:
        metadata, references = (
            self._jvm.org.apache.iceberg.TableMetadata,
            self._jvm.org.apache.iceberg.SnapshotRef,
        )
        builder = metadata.buildFrom(base)
        main = base.ref(MAIN)
        moved = references.branchBuilder(head) if main is None else references.builderFrom(main, head)
        builder.setRef(MAIN, moved.build())
        builder.setRef(RECORD_TAG, references.tagBuilder(head).build())
        for ref in elements(base.refs().keySet()):
            if ref.startswith(BRANCH_PREFIX):
                builder.removeRef(ref)
        if schema != NO_CHANGE:
            builder.setCurrentSchema(_changed(table.updateSchema(), schema), base.lastColumnId())
        return builder.build()

    def swap(self, operations: Any, base: Any, updated: Any, is_last: bool = False) -> bool:
        """One compare-and-swap. False: somebody else committed in between, or it is unknown: look again.
        ``is_last``: nobody will, so what is unknown is raised."""
        try:
            operations.commit(base, updated)
        except Py4JJavaError as error:
            kind = str(error.java_exception.getClass().getSimpleName())
            if kind == "CommitFailedException":
                _delete_lost(operations, updated)
            unknown = kind in _IN_DOUBT
            # What SQLite refused was not committed, and a lock was waited for by its driver: that is the time
            # to say so.
            if not unknown or "[SQLITE_" in str(error) or (is_last and kind != "CommitFailedException"):
                raise
            return False
        return True

    def expire(self, name: TableName, snapshots: Collection[int]) -> None:
        """Expires these snapshots and no others, and deletes the files that no other one has."""
        if not snapshots:
            return
        expiry = self.load(name).expireSnapshots().expireOlderThan(0)
        for snapshot in snapshots:
            expiry.expireSnapshotId(snapshot)
        expiry.commit()

    def settle_sidecar(self, name: TableName, branch: str) -> None:
        """Moves a sidecar's main to the pinned snapshot and drops working branches. Not part of the commit:
        records pin snapshots."""
        table = self.load(name)
        head = table.refs().get(branch)
        if head is None:
            return
        operations = table.operations()
        base = operations.refresh()
        self.swap(operations, base, self._published(table, base, int(head.snapshotId())))


def _changed(update: Any, schema: SchemaChange) -> Any:
    for column in schema.drop:
        update.deleteColumn(column)
    for old, new in schema.rename:
        update.renameColumn(old, new)
    names = {new: old for old, new in schema.rename}
    for before, column in zip((None, *schema.order), schema.order, strict=False):
        # A column goes by its name of before in an update that renames it.
        here = names.get(column, column)
        if before is None:
            update.moveFirst(here)
        else:
            update.moveAfter(here, names.get(before, before))
    return update.apply()


def _delete_lost(operations: Any, lost: Any) -> None:
    """Deletes the manifest lists of what a commit would have added, and what is not there now: a request that
    was sent twice fails over its own success. Of a table that is gone nothing is there.
    """
    try:
        there = {int(snapshot.snapshotId()) for snapshot in operations.refresh().snapshots()}
    except Py4JJavaError as error:
        if error.java_exception.getClass().getSimpleName() != "NoSuchTableException":
            return
        there = set()
    for snapshot in lost.snapshots():
        if int(snapshot.snapshotId()) not in there:
            operations.io().deleteFile(snapshot.manifestListLocation())


def _head_of(metadata: Any, branch: str) -> int | None:
    found = metadata.ref(branch)
    return None if found is None else int(found.snapshotId())


def _require_unmoved(base: Any, work: Publication) -> None:
    at = _head_of(base, MAIN)
    if base.uuid() != work.uuid:
        raise Outdated("the table was dropped and created again while the batch ran")
    if at != work.begin:
        raise Outdated(
            f"another writer moved the table from snapshot {work.begin} to {at} while the batch ran"
        )
    if _head_of(base, work.branch) != work.head:
        raise Outdated("the batch's working branch is not what was checked; another run took over")
