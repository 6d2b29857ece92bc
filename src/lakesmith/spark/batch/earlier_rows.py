"""Deletes all earlier rows of files, or the batch stops. The row balance cannot show missed rows, so they are
counted first; where a file has none, its batch must not have rows of unknown files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import functions as F

from lakesmith.errors import Problem, RunError, listed
from lakesmith.execute.lake import LEDGER_PIN, Lake
from lakesmith.quoting import literal
from lakesmith.sources.ledger import LedgerView
from lakesmith.sources.names import printable
from lakesmith.spark.batch.context import Batch, live_rows, remove_left_deletes

_SHOWN = 3


def delete_rows_of(batch: Batch, lake: Lake, paths: Sequence[str]) -> int:
    """Deletes the rows of files on the working branch; returns how many. Raises RunError LS619 if some are
    missing."""
    paths = names_in_rows(batch, lake, paths)
    there = _rows_by_file(batch, paths)
    _require_known(batch, lake, [path for path in paths if path not in there])
    if there:
        batch.spark.sql(f"DELETE FROM {batch.target} WHERE {is_of('_source_file', paths)}")
        remove_left_deletes(batch, batch.name, batch.state())
    batch.pass_point("after-delete")
    # Not the summaries' counts of deletes: a deletion vector that is written again counts its earlier rows
    # once more.
    state = batch.state()
    before = live_rows(batch, state, batch.step.base.snapshot)
    deleted = before - live_rows(batch, state, state.refs[batch.branch])
    if deleted < sum(there.values()):
        found = f"{deleted} of {sum(there.values())} rows of {_named(list(there))}"
        raise RunError(_not_found(batch, "every row of the files is deleted", found))
    return deleted


def names_in_rows(batch: Batch, lake: Lake, paths: Sequence[str]) -> list[str]:
    """The paths, and what the rows have instead: hidden by an erasure, or as before a recovery."""
    ledger = lake.ledgers.read(batch.name, batch.step.base.pin(LEDGER_PIN))
    return [*paths, *(name for path in paths for name in ledger.other_names(path))]


def is_of(column: str, paths: Sequence[str]) -> str:
    """SQL that is true for rows of these files."""
    return f"{column} IN ({', '.join(map(literal, paths))})"


def require_none_of(batch: Batch, target: str, column: str, paths: Sequence[str]) -> None:
    """Raises RunError LS619 when ``target`` still has rows of these files."""
    left = batch.spark.table(target).where(F.col(column).isin(list(paths))).count()
    if left:
        raise RunError(_not_found(batch, "no bad row of the files is left in quarantine", f"{left} rows"))


def _rows_by_file(batch: Batch, paths: Sequence[str]) -> Mapping[str, int]:
    rows = batch.spark.table(batch.target).where(F.col("_source_file").isin(list(paths)))
    return {row[0]: row[1] for row in rows.groupBy("_source_file").count().collect()}


def _require_known(batch: Batch, lake: Lake, without: Sequence[str]) -> None:
    """Raises RunError LS619 if a batch has rows of files that the ledger does not have."""
    ledger = lake.ledgers.read(batch.name, batch.step.base.pin(LEDGER_PIN))
    batches = {ledger[path].batch for path in without if path in ledger}
    strangers = _strangers(batch, sorted(batches), ledger) if batches else []
    if strangers:
        found = (
            f"none; rows of the same batch are of {_named(strangers)}, which the file ledger does not have"
        )
        raise RunError(_not_found(batch, f"the rows of {_named(without)}", found))


def _strangers(batch: Batch, numbers: Sequence[int], ledger: LedgerView) -> list[str]:
    rows = batch.spark.table(batch.target).where(F.col("_batch").isin(list(numbers)))
    names = [row[0] for row in rows.select("_source_file").distinct().collect()]
    return [str(name) for name in names if name not in ledger]


def _named(paths: Sequence[str]) -> str:
    return listed(map(printable, paths), _SHOWN)


def _not_found(batch: Batch, expected: str, found: str) -> Problem:
    return Problem(
        "LS619",
        f"the earlier rows of changed or forgotten files of {batch.name} were not all found, so the "
        "batch was not published",
        expected=expected,
        found=found,
        hint="nothing was lost: the table is as it was. See whether something else wrote to it (lakesmith "
        "history); if not, please report it",
    )
