"""The full refresh of a keyed table: every version of every key is read."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pyspark import StorageLevel
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from lakesmith import limits
from lakesmith.catalog.record import Account, Versions
from lakesmith.errors import RunError
from lakesmith.plan.losses import WAITS
from lakesmith.project.definitions import IS_CURRENT, TableDefinition
from lakesmith.quoting import quoted
from lakesmith.spark.batch.context import Batch, Draft, live_rows, rows_read
from lakesmith.spark.batch.quarantine import set_aside
from lakesmith.spark.batch.sidecar import tombstone_columns, write_tombstones
from lakesmith.spark.frames.exact_json import exact_json, read_json, restored
from lakesmith.spark.frames.row_counts import NUMBER_IN_TASK, RowCounts, counts_of
from lakesmith.spark.iceberg.snapshots import read_version
from lakesmith.spark.query.table_query import QueryRows
from lakesmith.spark.validation.key_versions import Validated, note_of_ties, validate
from lakesmith.spark.validation.outcome import Placed, placed_of
from lakesmith.spark.validation.rules import checks_of, stop_if_asked
from lakesmith.spark.validation.validity_periods import VERSION_OUTCOMES, outcome_counts

_NUMBER: Final = "_lakesmith_number"
_CARRIED: Final = "_lakesmith_carried"


def rebuild(batch: Batch, rows: QueryRows) -> Draft:
    """Replaces the working branch's rows by the rows of each key's versions.

    The pass that writes the rows collects the deletes, which become tombstones. If there are too many for the
    driver's memory, they are computed again. A query that may give other rows then is kept on disk instead.
    Raises RunError LS615 as ``tracked_columns``.
    """
    validated, seen, written = validate(batch, rows), RowCounts(), RowCounts()
    placed, again = placed_of(validated.observed(seen)), _is_read_twice(batch)
    kept = placed.frame.persist(StorageLevel.DISK_ONLY) if again else placed.frame
    try:
        _write(batch, written, replace(placed, frame=kept), rows)
        outcomes = counts_of(written)
        _require_few_deletes(batch, kept.where(placed.rows))
        counts = counts_of(seen)
        stop_if_asked(batch, counts["bad"], validated.bad)
        deletes = _collected(batch, kept, written, outcomes["tombstones"])
        deletes = kept.where(placed.deletes) if deletes is None else deletes
        return _draft(batch, validated, deletes, counts, outcomes)
    finally:
        kept.unpersist()


def _is_read_twice(batch: Batch) -> bool:
    """Whether the versions are kept: other queries than projections need not give the same rows again."""
    table = batch.step.table
    return bool(table.delete_when) and not (batch.step.row_wise and table.exports is None)


def _collecting(batch: Batch, placed: Placed) -> tuple[DataFrame, SparkColumn]:
    """Returns the versions with the first deletes of each task, and the aggregate that collects these."""
    most = limits.TOMBSTONES_CARRIED // int(
        batch.spark.conf.get("spark.sql.shuffle.partitions", "200") or 200
    )
    # The number is computed for deletes only, so it counts them.
    numbered = placed.frame.withColumn(_NUMBER, F.when(placed.deletes, F.expr(NUMBER_IN_TASK)))
    schema = _of_tombstones(batch, placed.frame)
    text = exact_json([(field.name, quoted(field.name), field.dataType) for field in schema.fields])
    kept = F.when(F.col(_NUMBER) < most, F.expr(text))
    small = F.octet_length(kept) <= limits.TOMBSTONE_CARRIED_BYTES
    return numbered.withColumn(_CARRIED, F.when(small, kept)), F.collect_list(_CARRIED).alias(_CARRIED)


def _of_tombstones(batch: Batch, versions: DataFrame) -> StructType:
    return versions.select(*map(quoted, tombstone_columns(batch))).schema


def _collected(batch: Batch, versions: DataFrame, written: RowCounts, tombstones: int) -> DataFrame | None:
    """Returns the deletes among the versions that the write collected; None if some are missing."""
    if not tombstones or _is_read_twice(batch):
        return None
    carried = written.listed(_CARRIED)
    if carried.size() != tombstones:
        return None
    spark: Any = batch.spark
    texts = spark._jsparkSession.createDataset(carried, spark._jvm.org.apache.spark.sql.Encoders.STRING())
    types = _of_tombstones(batch, versions).toDDL()
    parsed = DataFrame(texts.toDF(), spark).selectExpr(f"{read_json('value', types)} AS parsed")
    return parsed.selectExpr(*restored("parsed", types))


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


def _write(batch: Batch, seen: RowCounts, placed: Placed, rows: QueryRows) -> None:
    """Writes the rows among the versions, counts the outcomes and collects deletes."""
    table, versions = batch.step.table, placed.frame
    sums = [F.count_if(placed.rows).alias("rows"), F.count_if(placed.deletes).alias("tombstones")]
    sums += outcome_counts() if table.keeps_versions else []
    if table.delete_when and not _is_read_twice(batch):
        versions, carried = _collecting(batch, placed)
        sums.append(carried)
    batch.say("writing")
    kept = seen.observe(versions, *sums).where(placed.rows)
    stored = rows.stored(kept.select(*map(quoted, (*rows.columns, *table.added_columns))))
    stored.writeTo(batch.target).overwrite(F.lit(True))
    batch.pass_point("after-data")


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
