"""The full refresh of a keyed table: every version of every key is read; the newest stays, or all that differ."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from lakesmith.catalog.record import Account, Versions
from lakesmith.project.definitions import IS_CURRENT, VALIDITY_COLUMNS
from lakesmith.quoting import quoted
from lakesmith.spark.batch.context import Batch, Draft, live_rows, rows_read
from lakesmith.spark.batch.quarantine import checks_of, set_aside, stop_if_asked
from lakesmith.spark.batch.tombstones import bury
from lakesmith.spark.frames.row_counts import counts_of
from lakesmith.spark.judge.key_versions import DELETE, Judged, judge
from lakesmith.spark.judge.validity import (
    IS_ROW,
    VERSION_FATES,
    as_rows,
    fate_counts,
    put_in_order,
    tracked_columns,
)
from lakesmith.spark.query.table_query import QueryRows


def rebuild_keyed(batch: Batch, rows: QueryRows) -> Draft:
    """Writes the newest version of each key over the working branch's rows.

    The winners are kept on disk while they are written twice (rows and tombstones), and only where the table has deletes.
    """
    judged = judge(rows, batch.step.table)
    seen, won = Observation(), Observation()
    winners = judged.observed(seen).winners()
    if batch.step.table.delete_when:
        winners = winners.persist(StorageLevel.DISK_ONLY)
    try:
        return _write(batch, judged, winners, rows, seen, won)
    finally:
        winners.unpersist()


def _write(
    batch: Batch, judged: Judged, winners: DataFrame, rows: QueryRows, seen: Observation, won: Observation
) -> Draft:
    deletes = F.count_if(F.col(DELETE)).alias("deletes")
    counted = winners.observe(won, F.count(F.lit(1)).alias("keys"), deletes)
    batch.say("writing")
    alive = counted.where(~F.col(DELETE)).select(*map(quoted, judged.columns))
    rows.stored(alive).writeTo(batch.target).overwrite(F.lit(True))
    batch.pass_point("after-data")
    counts, keys = counts_of(seen), counts_of(won)
    stop_if_asked(batch, counts["bad"], judged.bad)
    pins = {
        **set_aside(batch, judged.bad, judged.columns, counts["bad"]),
        **bury(batch, winners.where(F.col(DELETE)), keys["deletes"]),
    }
    return Draft(
        account=_account(batch, counts, keys),
        by_row=batch.step.row_wise,
        sidecars=pins,
        checks=checks_of(judged.table.checks, counts),
    )


def rebuild_versions(batch: Batch, rows: QueryRows) -> Draft:
    """Writes the rows that keep each key's versions over the working branch's rows; kept on disk as ``rebuild_keyed`` does.

    Raises RunError LS615 as ``tracked_columns``.
    """
    table, seen, won = batch.step.table, Observation(), Observation()
    tracked = tracked_columns(rows.frame, rows.columns, table)
    judged = judge(rows, table)
    placed = put_in_order(as_rows(judged.observed(seen).versions(), table), table, tracked)
    if table.delete_when:
        placed = placed.persist(StorageLevel.DISK_ONLY)
    try:
        return _write_versions(batch, judged, placed, rows, (seen, won))
    finally:
        placed.unpersist()


def _write_versions(
    batch: Batch,
    judged: Judged,
    placed: DataFrame,
    rows: QueryRows,
    observed: tuple[Observation, Observation],
) -> Draft:
    deleted = F.col(DELETE) & F.col(IS_CURRENT)
    sums = (F.count_if(IS_ROW).alias("rows"), F.count_if(deleted).alias("buried"))
    batch.say("writing")
    kept = placed.observe(observed[1], *fate_counts(), *sums).where(IS_ROW)
    stored = rows.stored(kept.select(*map(quoted, (*judged.columns, *VALIDITY_COLUMNS))))
    stored.writeTo(batch.target).overwrite(F.lit(True))
    batch.pass_point("after-data")
    counts, fates = (counts_of(each) for each in observed)
    stop_if_asked(batch, counts["bad"], judged.bad)
    pins = {
        **set_aside(batch, judged.bad, judged.columns, counts["bad"]),
        **bury(batch, placed.where(deleted), fates["buried"]),
    }
    return Draft(
        account=_account_of_versions(batch, counts, fates),
        by_row=batch.step.row_wise,
        sidecars=pins,
        checks=checks_of(judged.table.checks, counts),
    )


def _account_of_versions(batch: Batch, counts: Mapping[str, int], fates: Mapping[str, int]) -> Account:
    read, out, bad = rows_read(batch), counts["out"], counts["bad"]
    return Account(
        read=read,
        inserted=fates["rows"],
        deleted=live_rows(batch, batch.state(), batch.step.base.snapshot),
        superseded=out - bad - sum(fates[fate] for fate in VERSION_FATES),
        filtered=read - out if batch.step.row_wise else 0,
        quarantined=bad,
        absent_deletes=fates["absent"],
        versions=Versions(fates["opened"], fates["continued"], fates["closed"]),
    )


def _account(batch: Batch, counts: Mapping[str, int], keys: Mapping[str, int]) -> Account:
    read, out, bad = rows_read(batch), counts["out"], counts["bad"]
    return Account(
        read=read,
        inserted=keys["keys"] - keys["deletes"],
        deleted=live_rows(batch, batch.state(), batch.step.base.snapshot),
        superseded=out - bad - keys["keys"],
        filtered=read - out if batch.step.row_wise else 0,
        quarantined=bad,
        absent_deletes=keys["deletes"],
    )
