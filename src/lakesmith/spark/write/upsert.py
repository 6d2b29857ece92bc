"""The incremental refresh of a keyed table: only the keys that new rows touch are looked at and written.

One scan of the table's key and version columns, joined with the new rows by broadcast, tells which keys are there, and where,
and which are new. Those rows are then replaced by their places (see ``replace_rows``). Where they are too many for that, what
changes is merged (matched only, so that Spark can broadcast: a MERGE with both would plan a right outer join and sort the
whole table) and what is new is appended.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith import limits
from lakesmith.catalog.record import Account
from lakesmith.execute.engine import NotIncremental
from lakesmith.quoting import quoted
from lakesmith.spark.batch.context import Batch, Draft, rows_read
from lakesmith.spark.batch.quarantine import set_aside
from lakesmith.spark.batch.sidecar import write_tombstones
from lakesmith.spark.catalyst.arrival import BATCH
from lakesmith.spark.frames.row_counts import Kept, RowCounts, counts_of
from lakesmith.spark.iceberg.snapshots import read_version
from lakesmith.spark.iceberg.uncommitted_files import ROW_ID
from lakesmith.spark.query.table_query import QueryRows
from lakesmith.spark.validation.key_versions import DELETE, Validated, note_of_ties, validate
from lakesmith.spark.validation.rules import checks_of, stop_if_asked
from lakesmith.spark.write.merge_outcomes import (
    FATE,
    PLACES,
    Fates,
    Winners,
    count_fates,
    find_fates,
    replaced,
    sent,
    settle_ties,
)
from lakesmith.spark.write.replace_rows import by_file, can_replace, replace_rows


def upsert(batch: Batch, rows: QueryRows) -> Draft:
    """Brings the new rows into the working branch."""
    validated, seen = validate(rows, batch.step.table), RowCounts()
    with Kept() as kept:
        tasks = 1 + rows_read(batch) // limits.ROWS_A_WRITING_TASK
        winners = kept.keep(validated.observed(seen).winners().coalesce(tasks))
        keys = winners.count()
        counts = counts_of(seen)
        stop_if_asked(batch, counts["bad"], validated.bad)
        batch.say(f"finding {keys} keys")
        fated, fates = _fated(batch, validated, Winners(winners, keys), kept)
        _write(batch, fated, validated.columns, fates)
        pins = {
            **set_aside(batch, validated.bad, validated.columns, counts["bad"]),
            **write_tombstones(
                batch, fated.where(F.col(FATE).isin("delete", "absent")), fates.delete + fates.absent
            ),
        }
        return Draft(
            account=_account(rows_read(batch), counts, fates),
            sidecars=pins,
            checks=checks_of(validated.table.checks, counts),
            unknown=validated.unknown(counts),
            warnings=note_of_ties(validated.ties_by_values + fates.settled),
        )


def _fated(batch: Batch, validated: Validated, winners: Winners, kept: Kept) -> tuple[DataFrame, Fates]:
    """The new versions with their fates, and those counted."""
    with_places = can_replace(batch.state(), batch.step.base.snapshot, winners.count)
    fated = kept.keep(find_fates(batch, validated, winners, with_places))
    fates = count_fates(fated)
    if not fates.ties:
        return fated, fates
    if validated.hidden:
        _require_later(batch, fates)
    fated = kept.keep(settle_ties(batch, fated, validated, winners.count))
    return fated, count_fates(fated)


def _require_later(batch: Batch, fates: Fates) -> None:
    """Raises NotIncremental unless the versions that tie with known ones arrived after all that was consumed before.

    Rows that others wrote may say any batch, or none; so may those of a derived input that has them from several tables.
    """
    (item,) = batch.step.driving
    if item.start is None:
        return
    state = batch.catalog.table(item.table.layer, item.table.name)
    if state is None or item.start not in state.snapshots:
        gone = f"snapshot {item.start} of {item.table}, up to which it was read, has expired"
        raise NotIncremental(f"versions tie with known ones, and {gone}")
    consumed = read_version(batch.spark, item.table, item.start)
    last = consumed.agg(F.max(BATCH)).collect()[0][0]
    if last is not None and (fates.oldest or 0) <= last:
        raise NotIncremental("versions tie with known ones, and did not come after them")


def _write(batch: Batch, fated: DataFrame, columns: tuple[str, ...], fates: Fates) -> None:
    """Brings what changes and what is new to the branch."""
    if PLACES in fated.columns:
        _replace(batch, fated, columns, fates)
    else:
        _merge_and_append(batch, fated, columns, fates)
    batch.pass_point("after-data")


def _replace(batch: Batch, fated: DataFrame, columns: tuple[str, ...], fates: Fates) -> None:
    if not (fates.insert or fates.update or fates.delete):
        return
    batch.say(f"writing {fates.insert} new keys, {fates.update} updates and {fates.delete} deletes")
    # A new version takes the row's id along: it is the same row to whoever follows the table's changes.
    row_id = F.when(F.col(FATE) == "update", F.get(F.col(PLACES), 0)["id"])
    written = fated.where(F.col(FATE).isin("insert", "update"))
    rows = written.select(*map(quoted, columns), row_id.alias(ROW_ID))
    gone = by_file((place.file, place.pos) for place in fates.places)
    replace_rows(batch, gone, rows, fates.insert + fates.update)


def _merge_and_append(batch: Batch, fated: DataFrame, columns: tuple[str, ...], fates: Fates) -> None:
    if fates.update or fates.delete:
        batch.say(f"merging {fates.update} updates and {fates.delete} deletes")
        _merge(batch, sent(fated.where(replaced()), fates.update + fates.delete), columns)
    batch.pass_point("after-merge")
    if fates.insert:
        batch.say(f"appending {fates.insert} new keys")
        fated.where(F.col(FATE) == "insert").select(*map(quoted, columns)).writeTo(batch.target).append()


def _merge(batch: Batch, changes: DataFrame, columns: tuple[str, ...]) -> None:
    view = batch.view("changes")
    on = " AND ".join(f"t.{quoted(key)} = s.{quoted(key)}" for key in batch.step.table.key)
    sets = ", ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in columns)
    changes.createOrReplaceTempView(view)
    try:
        batch.spark.sql(
            f"MERGE INTO {batch.target} t USING {view} s ON {on}"
            f" WHEN MATCHED AND s.{DELETE} THEN DELETE"
            f" WHEN MATCHED THEN UPDATE SET {sets}"
        )
    finally:
        batch.spark.catalog.dropTempView(view)


def _account(read: int, counts: Mapping[str, int], fates: Fates) -> Account:
    out, bad = counts["out"], counts["bad"]
    return Account(
        read=read,
        inserted=fates.insert,
        updated=fates.update,
        deleted=fates.delete,
        unchanged=fates.unchanged,
        superseded=out - bad - fates.keys + fates.older,
        filtered=read - out,
        quarantined=bad,
        absent_deletes=fates.absent,
    )
