"""The incremental refresh of a keyed table: only the keys that new rows touch are looked at and written.

One scan of the table's key and version columns, joined with the new rows by broadcast, tells which keys are there and which
are new. What changes is then merged (matched only, so that Spark can broadcast), and what is new is appended. A MERGE with
both would plan a right outer join and sort the whole table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from lakesmith.catalog.record import Account
from lakesmith.spark.batch import Batch, Draft, rows_read
from lakesmith.spark.iceberg import quoted
from lakesmith.spark.keyed import DELETE, Judged, judge, same_key, version
from lakesmith.spark.quarantine import checks_of, set_aside, stop_if_asked
from lakesmith.spark.queries import QueryRows
from lakesmith.spark.tombstones import bury, read_tombstones, tombstone_columns
from lakesmith.spark.versions import read_version

_BROADCAST_ROWS = 1_000_000

_FATE = "_lakesmith_fate"
_TIE = "_lakesmith_tie"
_THERE = "_lakesmith_there"
_VERSION = "_lakesmith_version"


@dataclass(frozen=True)
class _Counts:
    """How many of the winning versions meet which fate."""

    insert: int
    update: int
    delete: int
    older: int
    absent: int
    ties: int


def upsert(batch: Batch, rows: QueryRows) -> Draft:
    """Brings the new rows into the working branch."""
    judged = judge(rows, batch.step.table)
    kept = Judged(
        judged.frame.persist(StorageLevel.MEMORY_AND_DISK), judged.table, judged.columns, judged.hidden
    )
    fated: DataFrame | None = None
    try:
        counts = kept.frame.agg(*kept.counts()).collect()[0].asDict()
        stop_if_asked(batch, counts["bad"], kept.bad)
        batch.say(f"finding {counts['out'] - counts['bad']} rows' keys")
        fated = _with_fates(batch, kept, counts["out"] - counts["bad"]).persist(StorageLevel.MEMORY_AND_DISK)
        fates = _count(fated)
        unchanged = _write(batch, fated, kept.columns, fates)
        pins = {
            **set_aside(batch, kept.bad, kept.columns, counts["bad"]),
            **bury(batch, fated.where(F.col(_FATE).isin("delete", "absent")), fates.delete + fates.absent),
        }
        return Draft(
            account=_account(rows_read(batch), counts, fates, unchanged),
            sidecars=pins,
            checks=checks_of(kept.table.checks, counts),
        )
    finally:
        kept.frame.unpersist()
        if fated is not None:
            fated.unpersist()


def _with_fates(batch: Batch, judged: Judged, rows: int) -> DataFrame:
    """Each new version with what becomes of it: insert, update, delete, older (than what is known), absent (delete).

    ``rows`` is how many good rows there are: there are no more keys.
    """
    table, winners = batch.step.table, judged.winners()
    order = (*table.latest_by, *judged.ties)
    keys = winners.select(*map(quoted, table.key))
    known = _known_versions(batch, judged.ties)
    hits = known.alias("k").join(_sent(keys.alias("w"), rows), same_key("k", "w", table), "left_semi")
    newest = hits.groupBy(*map(quoted, table.key)).agg(
        F.max(version("k", order)).alias(_VERSION), F.max(_THERE).alias(_THERE)
    )
    joined = winners.alias("n").join(newest.alias("k"), same_key("n", "k", table), "left")
    return joined.select("n.*", _fate(order).alias(_FATE), _tie(order).alias(_TIE))


def _sent(rows: DataFrame, count: int) -> DataFrame:
    """Rows for a join: sent to every task as a whole, unless they are too many for the driver's memory."""
    return F.broadcast(rows) if count <= _BROADCAST_ROWS else rows


def _known_versions(batch: Batch, ties: tuple[str, ...]) -> DataFrame:
    """Key and version of the rows that are there (``_THERE``) and of the tombstones."""
    columns = tombstone_columns(batch)
    # Pinned, not read from the branch: should Spark have to compute this again after the merge, it must not see it.
    there = read_version(batch.spark, batch.name, batch.step.base.snapshot)
    there = there.withColumns({DELETE: F.lit(False), _THERE: F.lit(True)})
    there = there.select(*map(quoted, dict.fromkeys((*columns, *ties))), _THERE)
    buried = read_tombstones(batch)
    if buried is None:
        return there
    buried = buried.withColumn(_THERE, F.lit(False))
    if DELETE in ties:
        buried = buried.withColumn(DELETE, F.lit(True))
    return there.unionByName(buried, allowMissingColumns=True)


def _fate(order: tuple[str, ...]) -> SparkColumn:
    is_there = F.coalesce(F.col(f"k.{_THERE}"), F.lit(False))
    older = F.col(f"k.{_VERSION}").isNotNull() & (version("n", order) < F.col(f"k.{_VERSION}"))
    deletes = F.col(f"n.{DELETE}")
    return (
        F.when(older, "older")
        .when(is_there & deletes, "delete")
        .when(is_there, "update")
        .when(deletes, "absent")
        .otherwise("insert")
    )


def _tie(order: tuple[str, ...]) -> SparkColumn:
    return F.coalesce(F.col(f"k.{_THERE}") & (version("n", order) == F.col(f"k.{_VERSION}")), F.lit(False))


def _count(fated: DataFrame) -> _Counts:
    fates = [
        F.count_if(F.col(_FATE) == name).alias(name)
        for name in ("insert", "update", "delete", "older", "absent")
    ]
    row: Row = fated.agg(*fates, F.count_if(F.col(_TIE)).alias("ties")).collect()[0]
    return _Counts(**row.asDict())


def _write(batch: Batch, fated: DataFrame, columns: tuple[str, ...], fates: _Counts) -> int:
    """Merges what changes and appends what is new; returns how many updates left their row as it was."""
    if fates.update or fates.delete:
        batch.say(f"merging {fates.update} updates and {fates.delete} deletes")
        changes = fated.where(F.col(_FATE).isin("update", "delete"))
        _merge(batch, _sent(changes, fates.update + fates.delete), columns, bool(fates.ties))
    batch.pass_point("after-merge")
    rewritten = sum(snapshot.count("added-records") for snapshot in batch.written())
    if fates.insert:
        batch.say(f"appending {fates.insert} new keys")
        fated.where(F.col(_FATE) == "insert").select(*map(quoted, columns)).writeTo(batch.target).append()
    batch.pass_point("after-data")
    return fates.update - rewritten


def _merge(batch: Batch, changes: DataFrame, columns: tuple[str, ...], ties: bool) -> None:
    view = batch.view("changes")
    # A key that comes again as it is there must not be written again: tables below would take it for a change.
    same = " AND ".join(f"t.{quoted(name)} <=> s.{quoted(name)}" for name in columns)
    changed = f" AND NOT (s.{_TIE} AND {same})" if ties and _comparable(changes, columns) else ""
    on = " AND ".join(f"t.{quoted(key)} = s.{quoted(key)}" for key in batch.step.table.key)
    sets = ", ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in columns)
    changes.createOrReplaceTempView(view)
    try:
        batch.spark.sql(
            f"MERGE INTO {batch.target} t USING {view} s ON {on}"
            f" WHEN MATCHED AND s.{DELETE} THEN DELETE"
            f" WHEN MATCHED{changed} THEN UPDATE SET {sets}"
        )
    finally:
        batch.spark.catalog.dropTempView(view)


def _comparable(rows: DataFrame, columns: Sequence[str]) -> bool:
    """False where a column has no equality in Spark: then a row that comes again is written again."""
    kinds = (rows.schema[name].dataType.simpleString() for name in columns)
    return not any("map<" in kind or "variant" in kind for kind in kinds)


def _account(read: int, counts: dict[str, int], fates: _Counts, unchanged: int) -> Account:
    out, bad = counts["out"], counts["bad"]
    winners = fates.insert + fates.update + fates.delete + fates.older + fates.absent
    return Account(
        read=read,
        inserted=fates.insert,
        updated=fates.update - unchanged,
        deleted=fates.delete,
        unchanged=unchanged,
        superseded=out - bad - winners + fates.older,
        filtered=read - out,
        quarantined=bad,
        absent_deletes=fates.absent,
    )
