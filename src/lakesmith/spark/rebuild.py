"""The full refresh of a keyed table: every version of every key is read, the newest stays."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from lakesmith.catalog.record import Account
from lakesmith.spark.batch import Batch, Draft, live_rows, rows_read
from lakesmith.spark.iceberg import quoted
from lakesmith.spark.keyed import DELETE, Judged, judge
from lakesmith.spark.observed import counts_of
from lakesmith.spark.quarantine import checks_of, set_aside, stop_if_asked
from lakesmith.spark.queries import QueryRows
from lakesmith.spark.tombstones import bury


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
        **bury(batch, winners, keys["deletes"]),
    }
    return Draft(
        account=_account(batch, counts, keys),
        by_row=batch.step.row_wise,
        sidecars=pins,
        checks=checks_of(judged.table.checks, counts),
    )


def _account(batch: Batch, counts: Mapping[str, int], keys: Mapping[str, int]) -> Account:
    read, out, bad = rows_read(batch), counts["out"], counts["bad"]
    return Account(
        read=read,
        inserted=keys["keys"] - keys["deletes"],
        deleted=live_rows(batch.state(), batch.step.base.snapshot),
        superseded=out - bad - keys["keys"],
        filtered=read - out if batch.step.row_wise else 0,
        quarantined=bad,
        absent_deletes=keys["deletes"],
    )
