"""The incremental refresh of a keyed table: only the keys of new rows are read and written.

One scan of the table's key and version columns, joined with the broadcast new rows, finds existing keys,
their places, and new keys. Rows are then replaced by place (see ``replace_rows``). If they are too many for
that, changes are merged (matched only, so that Spark can broadcast: a MERGE with both would plan a right
outer join and sort the whole table) and new rows are appended.
"""

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
from lakesmith.spark.validation.key_versions import Validated, note_of_ties, validate
from lakesmith.spark.validation.rules import DELETE, checks_of, stop_if_asked
from lakesmith.spark.write.merge_outcomes import (
    OUTCOME,
    PLACES,
    REPLACED,
    Outcomes,
    Winners,
    count_outcomes,
    find_outcomes,
    sent,
    settle_ties,
)
from lakesmith.spark.write.replace_rows import by_file, can_replace, replace_rows


def upsert(batch: Batch, rows: QueryRows) -> Draft:
    """Brings the new rows into the working branch."""
    validated, seen = validate(batch, rows), RowCounts()
    with Kept() as kept:
        tasks = 1 + rows_read(batch) // limits.ROWS_A_WRITING_TASK
        winners = kept.keep(validated.observed(seen).winners().coalesce(tasks))
        keys = winners.count()
        counts = counts_of(seen)
        stop_if_asked(batch, counts["bad"], validated.bad)
        batch.say(f"finding {keys} keys")
        with_outcome, outcomes = _with_outcomes(batch, validated, Winners(winners, keys), kept)
        _write(batch, with_outcome, validated.columns, outcomes)
        pins = {
            **set_aside(batch, validated.bad, validated.columns, counts["bad"]),
            **write_tombstones(
                batch,
                with_outcome.where(f"{OUTCOME} IN ('delete', 'absent')"),
                outcomes.delete + outcomes.absent,
            ),
        }
        return Draft(
            account=_account(rows_read(batch), counts, outcomes),
            sidecars=pins,
            checks=checks_of(validated.table.checks, counts),
            unknown=validated.unknown(counts),
            warnings=note_of_ties(validated.ties_by_values + outcomes.settled),
        )


def _with_outcomes(
    batch: Batch, validated: Validated, winners: Winners, kept: Kept
) -> tuple[DataFrame, Outcomes]:
    """Returns the new versions with their outcomes, and the counts of those."""
    with_places = can_replace(batch.state(), batch.step.base.snapshot, winners.count)
    with_outcome = kept.keep(find_outcomes(batch, validated, winners, with_places))
    outcomes = count_outcomes(with_outcome)
    if not outcomes.ties:
        return with_outcome, outcomes
    if validated.hidden:
        _require_later(batch, outcomes)
    if with_places and not outcomes.tied:
        return with_outcome, outcomes
    with_outcome = kept.keep(settle_ties(batch, with_outcome, validated, winners.count, outcomes.tied))
    return with_outcome, count_outcomes(with_outcome)


def _require_later(batch: Batch, outcomes: Outcomes) -> None:
    """Raises NotIncremental unless versions that tie with known ones arrived after everything consumed.

    Rows that others wrote may name any batch, or none; so may rows of a derived input with several sources.
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
    if last is not None and (outcomes.oldest or 0) <= last:
        raise NotIncremental("versions tie with known ones, and did not come after them")


def _write(batch: Batch, with_outcome: DataFrame, columns: tuple[str, ...], outcomes: Outcomes) -> None:
    """Writes changed and new rows to the branch."""
    if PLACES in with_outcome.columns:
        _replace(batch, with_outcome, columns, outcomes)
    else:
        _merge_and_append(batch, with_outcome, columns, outcomes)
    batch.pass_point("after-data")


def _replace(batch: Batch, with_outcome: DataFrame, columns: tuple[str, ...], outcomes: Outcomes) -> None:
    if not (outcomes.insert or outcomes.update or outcomes.delete):
        return
    batch.say(f"writing {outcomes.insert} new keys, {outcomes.update} updates and {outcomes.delete} deletes")
    # A new version keeps the row's id: for readers of the table's changes it is the same row.
    row_id = f"IF({OUTCOME} = 'update', get({PLACES}, 0).id, NULL) AS {ROW_ID}"
    written = with_outcome.where(f"{OUTCOME} IN ('insert', 'update')")
    rows = written.selectExpr(*map(quoted, columns), row_id)
    gone = by_file((place.file, place.pos) for place in outcomes.places)
    replace_rows(batch, gone, rows, outcomes.insert + outcomes.update)


def _merge_and_append(
    batch: Batch, with_outcome: DataFrame, columns: tuple[str, ...], outcomes: Outcomes
) -> None:
    if outcomes.update or outcomes.delete:
        batch.say(f"merging {outcomes.update} updates and {outcomes.delete} deletes")
        _merge(batch, sent(with_outcome.where(REPLACED), outcomes.update + outcomes.delete), columns)
    batch.pass_point("after-merge")
    if outcomes.insert:
        batch.say(f"appending {outcomes.insert} new keys")
        new = with_outcome.where(f"{OUTCOME} = 'insert'").select(*map(quoted, columns))
        new.writeTo(batch.target).append()


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


def _account(read: int, counts: Mapping[str, int], outcomes: Outcomes) -> Account:
    out, bad = counts["out"], counts["bad"]
    return Account(
        read=read,
        inserted=outcomes.insert,
        updated=outcomes.update,
        deleted=outcomes.delete,
        unchanged=outcomes.unchanged,
        superseded=out - bad - outcomes.keys + outcomes.older,
        filtered=read - out,
        quarantined=bad,
        absent_deletes=outcomes.absent,
    )
