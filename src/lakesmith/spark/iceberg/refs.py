"""Rollbacks and tags: one compare-and-swap of a table's metadata each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark.sql import SparkSession

from lakesmith.catalog.state import MAIN, RECORD_TAG
from lakesmith.errors import RunError, StateError
from lakesmith.execute.engine import Outdated
from lakesmith.execute.faults import reach
from lakesmith.project.definitions import TableName
from lakesmith.spark.iceberg.commits import JavaTables
from lakesmith.spark.jvm.failures import FAILURES, explain_failure
from lakesmith.spark.start.session import SessionHandle

_TRIES: Final = 30


@dataclass(frozen=True, slots=True)
class RefChange:
    """A change of the references and properties of table ``uuid`` with main at ``main`` (None: wherever it
    is): ``branches`` and ``tags`` to set, tags ``gone``, ``properties`` (None: removed)."""

    uuid: str
    main: int | None
    branches: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, int] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    properties: Mapping[str, str | None] = field(default_factory=dict)


@contextmanager
def explaining(session: SessionHandle, secrets: Sequence[str]) -> Iterator[None]:
    """Raises StateError LS511 for a table that moved meanwhile, RunError with Spark's root cause."""
    session.enter()
    try:
        yield
    except Outdated as moved:
        hint = "nothing of it was changed by this; look at the table and call the command again"
        raise StateError.of("LS511", moved.reason, hint=hint) from moved
    except FAILURES as error:
        raise RunError(explain_failure(error, session.log_path, tuple(secrets))) from error


def change_refs(spark: SparkSession, name: TableName, change: RefChange) -> None:
    """Makes the change by one commit. Raises Outdated when the table is another, or main has moved."""
    java = JavaTables(spark)
    for _ in range(_TRIES):
        operations = java.load(name).operations()
        base = operations.current()
        if _is_made(base, change):
            return
        if base.uuid() != change.uuid or change.main not in (None, _at(base, MAIN)):
            raise Outdated(f"{name} was moved by another writer meanwhile")
        updated = _changed(spark, base, change)
        reach("before-swap", str(name))
        if java.swap(operations, base, updated):
            return
    raise Outdated(f"the metadata of {name} changed at every try")


def move_main(spark: SparkSession, name: TableName, snapshot: int) -> None:
    """Moves a sidecar's main and tag to the snapshot that its table's record pins."""
    java = JavaTables(spark)
    operations = java.load(name).operations()
    base = operations.current()
    is_there = _at(base, MAIN) == _at(base, RECORD_TAG) == snapshot
    if not is_there and base.snapshot(snapshot) is not None:
        change = RefChange(str(base.uuid()), snapshot, {MAIN: snapshot}, {RECORD_TAG: snapshot})
        java.swap(operations, base, _changed(spark, base, change))


def _is_made(base: Any, change: RefChange) -> bool:
    """Returns whether the change is made already, by a commit in doubt or an earlier call."""
    there = {ref: _at(base, ref) for ref in (*change.branches, *change.tags, *change.gone)}
    wanted = {**change.branches, **change.tags, **dict.fromkeys(change.gone)}
    properties = base.properties()
    return there == wanted and all(properties.get(key) == value for key, value in change.properties.items())


def _at(base: Any, ref: str) -> int | None:
    found = base.ref(ref)
    return None if found is None else int(found.snapshotId())


def _changed(spark: SparkSession, base: Any, change: RefChange) -> Any:
    jvm: Any = spark._jvm
    references, metadata = jvm.org.apache.iceberg.SnapshotRef, jvm.org.apache.iceberg.TableMetadata
    builder = metadata.buildFrom(base)
    makers: tuple[tuple[Mapping[str, int], Callable[[int], Any]], ...] = (
        (change.branches, references.branchBuilder),
        (change.tags, references.tagBuilder),
    )
    for wanted, make in makers:
        for ref, snapshot in wanted.items():
            was = base.ref(ref)
            # Its own settings (how long what is kept) stay.
            builder.setRef(
                ref, (make(snapshot) if was is None else references.builderFrom(was, snapshot)).build()
            )
    for ref in change.gone:
        builder.removeRef(ref)
    kept = {key: value for key, value in change.properties.items() if value is not None}
    if kept:
        builder.setProperties(kept)
    if len(kept) < len(change.properties):
        builder.removeProperties(jvm.java.util.HashSet([key for key in change.properties if key not in kept]))
    return builder.build()
