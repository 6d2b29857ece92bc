"""The full refresh of a keyed table: every version of every key is read."""

from collections.abc import Mapping

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith.catalog.record import Account, Versions
from lakesmith.errors import RunError
from lakesmith.plan.losses import WAITS
from lakesmith.project.definitions import IS_CURRENT, TableDefinition
from lakesmith.quoting import quoted
from lakesmith.spark.batch.context import Batch, Draft, live_rows, rows_read
from lakesmith.spark.batch.quarantine import set_aside
from lakesmith.spark.batch.sidecar import write_tombstones
from lakesmith.spark.frames.row_counts import RowCounts, counts_of
from lakesmith.spark.iceberg.snapshots import read_version
from lakesmith.spark.query.table_query import QueryRows
from lakesmith.spark.validation.key_versions import Validated, note_of_ties, validate
from lakesmith.spark.validation.outcome import Placed, placed_of
from lakesmith.spark.validation.rules import checks_of, stop_if_asked
from lakesmith.spark.validation.validity_periods import VERSION_OUTCOMES, outcome_counts


def rebuild(batch: Batch, rows: QueryRows) -> Draft:
    """Replaces the working branch's rows by the rows of each key's versions.

    Only if the table has deletes they are kept on disk, as they are written twice (rows and tombstones).
    Raises RunError LS615 as ``tracked_columns``.
    """
    validated, seen = validate(rows, batch.step.table), RowCounts()
    placed = placed_of(validated.observed(seen))
    kept = placed.frame.persist(StorageLevel.DISK_ONLY) if batch.step.table.delete_when else placed.frame
    try:
        outcomes = _write(batch, kept, placed, rows)
        _require_few_deletes(batch, kept.where(placed.rows))
        counts = counts_of(seen)
        stop_if_asked(batch, counts["bad"], validated.bad)
        return _draft(batch, validated, kept.where(placed.deletes), counts, outcomes)
    finally:
        kept.unpersist()


def _require_few_deletes(batch: Batch, rows: DataFrame) -> None:
    """Raises RunError LS524 if more keys are missing than full exports may delete without approval."""
    table, base = batch.step.table, batch.step.base.snapshot
    if table.exports is None or base is None or batch.step.approved:
        return
    there, now = (_current(frame, table) for frame in (read_version(batch.spark, batch.name, base), rows))
    before = there.count()
    gone = there.join(now, list(table.key), "left_anti").count()
    if gone > before * table.exports.max_deletes:
        raise RunError.of(
            WAITS,
            f"{table.name} waits for approval: full exports would delete {gone:,} of its {before:,} keys",
            place=table.place,
            expected=f"at most {table.exports.max_deletes:.0%} (max_deletes), or approval:"
            f" lakesmith run --approve {table.name}",
            hint="if an export is incomplete, bring a complete one, or remove it: lakesmith"
            " files --forget; until then the table does not change",
        )


def _current(rows: DataFrame, table: TableDefinition) -> DataFrame:
    """The keys that have a row now."""
    return (rows.where(IS_CURRENT) if table.keeps_versions else rows).select(*map(quoted, table.key))


def _write(batch: Batch, versions: DataFrame, placed: Placed, rows: QueryRows) -> Mapping[str, int]:
    """Writes the rows among the versions, and counts the outcomes."""
    seen, table = RowCounts(), batch.step.table
    sums = [F.count_if(placed.rows).alias("rows"), F.count_if(placed.deletes).alias("tombstones")]
    sums += outcome_counts() if table.keeps_versions else []
    batch.say("writing")
    kept = seen.observe(versions, *sums).where(placed.rows)
    stored = rows.stored(kept.select(*map(quoted, (*rows.columns, *table.added_columns))))
    stored.writeTo(batch.target).overwrite(F.lit(True))
    batch.pass_point("after-data")
    return counts_of(seen)


def _draft(
    batch: Batch,
    validated: Validated,
    deletes: DataFrame,
    counts: Mapping[str, int],
    outcomes: Mapping[str, int],
) -> Draft:
    pins = {
        **set_aside(batch, validated.bad, validated.columns, counts["bad"]),
        **write_tombstones(batch, deletes, outcomes["tombstones"]),
    }
    return Draft(
        account=_account(batch, counts, outcomes),
        by_row=batch.step.row_wise,
        sidecars=pins,
        checks=checks_of(validated.table.checks, counts),
        unknown=validated.unknown(counts),
        warnings=note_of_ties(validated.ties_by_values),
    )


def _account(batch: Batch, counts: Mapping[str, int], outcomes: Mapping[str, int]) -> Account:
    read, out, bad = rows_read(batch), counts["out"], counts["bad"]
    of_versions = batch.step.table.keeps_versions
    in_order = (
        [outcomes[outcome] for outcome in VERSION_OUTCOMES]
        if of_versions
        else [outcomes["rows"], outcomes["tombstones"]]
    )
    return Account(
        read=read,
        inserted=outcomes["rows"],
        deleted=live_rows(batch, batch.state(), batch.step.base.snapshot),
        superseded=out - bad - sum(in_order),
        filtered=read - out if batch.step.row_wise else 0,
        quarantined=bad,
        absent_deletes=outcomes["absent"] if of_versions else outcomes["tombstones"],
        versions=Versions(outcomes["opened"], outcomes["continued"], outcomes["closed"])
        if of_versions
        else None,
    )
