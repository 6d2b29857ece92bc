"""The ledger as an Iceberg table, read and appended to with PyIceberg (imported lazily)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from lakesmith import limits
from lakesmith.catalog.busy import looked_up
from lakesmith.catalog.family import sidecar_of
from lakesmith.catalog.progress import take_again
from lakesmith.catalog.record import Pin
from lakesmith.errors import StateError
from lakesmith.project.definitions import TableName
from lakesmith.project.layout import RESERVED_LAYER
from lakesmith.sources.folded import Folding
from lakesmith.sources.ledger_view import EMPTY, LedgerView, Row, row_of
from lakesmith.sources.model import FileAction, LedgerEntry

"""The namespace of lakesmith's own tables."""

ABANDONED_AFTER_MS = 7 * 24 * 3600 * 1000
"""Milliseconds after which the branch of an append that no record pinned is dropped."""

COLUMNS = (
    ("path", "string"),
    ("source", "string"),
    ("action", "string"),
    ("size", "long"),
    ("modified_ns", "long"),
    ("inode", "long"),
    ("changed_ns", "long"),
    ("etag", "string"),
    ("attempt", "string"),
    ("batch", "long"),
    ("at_ms", "long"),
)
"""The ledger's columns and Iceberg types, all required, in the order of ``path`` and ``ledger_view.Row``."""

EMPTY_TAG = "empty"
"""The tag of a ledger's first snapshot, which has no lines."""
_BRANCH = "attempt-"
_PROPERTIES = {
    "format-version": "2",
    # A commit that lost a race is repeated here from fresh state: PyIceberg's own retry would keep an old
    # plan.
    "commit.retry.num-retries": "0",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    # Each published version of the table pins one snapshot of its ledger: only lakesmith knows which are
    # still needed.
    "history.expire.max-snapshot-age-ms": str(100 * 365 * 24 * 3600 * 1000),
}


def identifier(table: TableName) -> tuple[str, str]:
    sidecar = sidecar_of(table, "files")
    return (sidecar.layer, sidecar.name)


def load(catalog: Any, table: TableName, pin: Pin) -> Any:
    """Returns the PyIceberg table at ``pin``.

    Raises StateError: LS540 the ledger is gone, LS541 it is another table, LS542 its pinned snapshot is gone.
    """
    from pyiceberg.exceptions import NoSuchTableError

    try:
        ledger = looked_up(catalog.load_table(identifier(table)))
    except NoSuchTableError as error:
        raise _state_error("LS540", table, "does not exist any more", pin) from error
    if str(ledger.metadata.table_uuid) != pin.uuid:
        raise _state_error(
            "LS541", table, f"was replaced by another table ({ledger.metadata.table_uuid})", pin
        )
    if ledger.metadata.snapshot_by_id(pin.snapshot) is None:
        raise _state_error("LS542", table, "does not have this snapshot any more", pin)
    return ledger


def load_or_create(catalog: Any, table: TableName) -> Any:
    """Returns the ledger, created if it is missing: a table's first append."""
    from pyiceberg.exceptions import NoSuchTableError, TableAlreadyExistsError

    try:
        ledger = catalog.load_table(identifier(table))
    except NoSuchTableError:
        catalog.create_namespace_if_not_exists(RESERVED_LAYER)
        try:
            ledger = catalog.create_table(identifier(table), _schema(), properties=_PROPERTIES)
        except TableAlreadyExistsError:
            ledger = catalog.load_table(identifier(table))
    looked_up(ledger)
    if EMPTY_TAG not in ledger.metadata.refs:
        _commit_empty(ledger)
    return ledger


def empty_snapshot(ledger: Any) -> int:
    """Returns the ledger's first, empty snapshot: where the first append starts."""
    return int(ledger.metadata.refs[EMPTY_TAG].snapshot_id)


def read_view(ledger: Any, snapshot: int) -> LedgerView:
    """Returns the content of the ledger at ``snapshot``: the newest line of each path."""
    rows = ledger.scan(snapshot_id=snapshot).to_arrow()
    columns = [rows.column(name).to_pylist() for name, _ in COLUMNS]
    paths, rest = columns[0], zip(*columns[1:], strict=True)
    return EMPTY.plus_rows(zip(paths, rest, strict=True))


def any_taken(ledger: Any, snapshot: int, paths: Sequence[str]) -> bool:
    """Whether a line of the ledger at ``snapshot`` says that one of the files was ingested."""
    from pyiceberg import expressions

    terms: Any = expressions
    taken = terms.EqualTo("action", FileAction.TAKEN.value) & terms.In("path", set(paths))
    return bool(ledger.scan(row_filter=taken, snapshot_id=snapshot).to_arrow().num_rows)


def is_due(ledger: Any, parent: int) -> bool:
    """Whether the next append rewrites all data files at ``parent`` as one: then lines may leave."""
    return int(ledger.metadata.snapshot_by_id(parent).summary["total-data-files"]) > limits.LEDGER_FILES_UP_TO


def kept_lines(ledger: Any, parent: int, folding: Folding) -> Any:
    """Returns the lines at ``parent`` without the ones that leave, as an Arrow table."""
    import pyarrow as pa
    from pyarrow import compute

    standing = _arrow(folding.standing)
    lines = ledger.scan(snapshot_id=parent).to_arrow().cast(standing.schema)
    if folding.leaving:
        gone: Any = compute.is_in(lines["path"], pa.array(sorted(folding.leaving)))
        lines = lines.filter(compute.invert(gone))
    return pa.concat_tables([lines, standing])


def commit(
    ledger: Any, parent: int, entries: Sequence[LedgerEntry], branch: str, kept: Any | None = None
) -> int:
    """Commits ``content at parent + entries`` as one snapshot on a branch of its own; returns the snapshot.

    ``kept``: lines, as ``kept_lines`` gives them, that replace all at ``parent``. The same commit moves main
    to ``parent`` (so main always shows a published version) and drops branches that are no longer needed.
    Raises PyIceberg's errors if the table changed meanwhile.
    """
    from pyiceberg.table.update.snapshot import ManageSnapshots

    rows = _arrow(entries)
    with _transaction(ledger) as transaction:
        refs = ManageSnapshots(transaction)
        for name in _branches_done_with(ledger.metadata, parent):
            refs.remove_branch(name)
        refs.create_branch(parent, branch).set_current_snapshot(snapshot_id=parent).commit()
        if kept is not None:
            _rewrite(transaction, ledger, parent, kept, rows, branch)
        else:
            transaction.append(rows, branch=branch)
    return int(ledger.metadata.refs[branch].snapshot_id)


def committed(ledger: Any, parent: int, branch: str, expected_rows: int) -> int | None:
    """Returns ``branch``'s snapshot if it is ``parent`` plus one commit of ``expected_rows``, else None."""
    ref = ledger.metadata.refs.get(branch)
    snapshot = None if ref is None else ledger.metadata.snapshot_by_id(ref.snapshot_id)
    if (
        snapshot is None
        or snapshot.parent_snapshot_id != parent
        or rows_at(ledger, snapshot.snapshot_id) != expected_rows
    ):
        return None
    return int(snapshot.snapshot_id)


def rows_at(ledger: Any, snapshot: int) -> int:
    """Returns the number of lines at a snapshot, from its summary."""
    return int(ledger.metadata.snapshot_by_id(snapshot).summary["total-records"])


def new_branch(entries: Iterable[LedgerEntry]) -> str:
    """Returns a unique name: the attempt, for people, and a random part."""
    attempt = next(entry.attempt for entry in entries)
    return f"{_BRANCH}{attempt}-{uuid.uuid4().hex[:12]}"


def is_of_attempt(ref: str) -> bool:
    return ref.startswith(_BRANCH)


def _transaction(ledger: Any) -> Any:
    """A PyIceberg transaction that computes the metadata once for each staged change.

    PyIceberg 0.12 copies all metadata at every access, two dozen times an append: 1.6 of 1.8 s after 700
    batches.
    """
    from pyiceberg.table import Transaction
    from pyiceberg.table.metadata import TableMetadata

    class OnceEach(Transaction):
        _known: tuple[int, TableMetadata] | None = None

        @property
        def table_metadata(self) -> TableMetadata:
            if self._known is None or self._known[0] != len(self._updates):
                self._known = (len(self._updates), super().table_metadata)
            return self._known[1]

    return OnceEach(ledger)


def _commit_empty(ledger: Any) -> None:
    # PyIceberg refuses a first snapshot elsewhere than on main, so the ledger gets an empty one.
    from pyiceberg.table.update.snapshot import ManageSnapshots

    with ledger.transaction() as transaction:
        transaction.append(_arrow(()))
        root = transaction.table_metadata.current_snapshot_id
        ManageSnapshots(transaction).create_tag(root, EMPTY_TAG).commit()


def _rewrite(transaction: Any, ledger: Any, parent: int, kept: Any, rows: Any, branch: str) -> None:
    """Replaces all files at ``parent`` by one data file of the kept and the new lines."""
    import pyarrow as pa
    from pyiceberg.io.pyarrow import _dataframe_to_data_files

    everything = pa.concat_tables([kept, rows])
    with transaction.update_snapshot(branch=branch).overwrite() as overwrite:
        for task in ledger.scan(snapshot_id=parent).plan_files():
            overwrite.delete_data_file(task.file)
        for file in _dataframe_to_data_files(transaction.table_metadata, everything, ledger.io):
            overwrite.append_data_file(file)


def _branches_done_with(metadata: Any, parent: int) -> list[str]:
    """Branches of appends at or before ``parent`` (main protects these), and of old attempts."""
    passed = set(_ancestors(metadata, parent))
    done = []
    for name, ref in metadata.refs.items():
        if not is_of_attempt(name):
            continue
        age_ms = metadata.last_updated_ms - metadata.snapshot_by_id(ref.snapshot_id).timestamp_ms
        if ref.snapshot_id in passed or age_ms > ABANDONED_AFTER_MS:
            done.append(name)
    return done


def _ancestors(metadata: Any, newest: int) -> Iterable[int]:
    snapshot: int | None = newest
    parents = {known.snapshot_id: known.parent_snapshot_id for known in metadata.snapshots}
    while snapshot is not None and snapshot in parents:
        yield snapshot
        snapshot = parents[snapshot]


def _arrow(entries: Sequence[LedgerEntry]) -> Any:
    import pyarrow as pa

    types = {"string": pa.string(), "long": pa.int64()}
    schema = pa.schema([pa.field(name, types[kind], nullable=False) for name, kind in COLUMNS])
    rows: list[tuple[str, *Row]] = [(entry.file.path, *row_of(entry)) for entry in entries]
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema)


def _schema() -> Any:
    from pyiceberg.schema import Schema
    from pyiceberg.types import LongType, NestedField, StringType

    types = {"string": StringType(), "long": LongType()}
    return Schema(
        *(NestedField(i, name, types[kind], required=True) for i, (name, kind) in enumerate(COLUMNS, 1))
    )


def _state_error(code: str, table: TableName, what: str, pin: Pin) -> StateError:
    return StateError.of(
        code,
        f"{table}: its file ledger {'.'.join(identifier(table))} {what}",
        expected=f"table {pin.uuid} at snapshot {pin.snapshot}, as the progress record of {table} pins it",
        hint="bring the ledger back ('lakesmith register' enters one whose files are there; or a backup),"
        f" {take_again(table)}",
    )
