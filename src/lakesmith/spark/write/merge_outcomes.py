"""What becomes of each new version of a key, given the versions that are there and the tombstones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from lakesmith import limits
from lakesmith.quoting import quoted
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.batch.sidecar import read_tombstones, tombstone_columns
from lakesmith.spark.frames.comparable import equal_in, has_equality
from lakesmith.spark.iceberg.snapshots import read_version
from lakesmith.spark.validation.key_versions import (
    ARRIVED,
    DELETE,
    Validated,
    same_key,
    version,
    version_parts,
)
from lakesmith.spark.write.replace_rows import place

FATE: Final = "_lakesmith_fate"
"""insert, update, delete, unchanged, older (than what is known) or absent (deletes a key that is not there)."""

PLACES: Final = "_lakesmith_places"
"""The places of the rows that are there with a version's key, as ``row_delta.place`` gives them; empty without any."""

_THERE = "_lakesmith_there"
_TIE = "_lakesmith_tie"
_SETTLED = "_lakesmith_settled"
_VERSION = "_lakesmith_version"


@dataclass(frozen=True)
class Fates:
    """How many of the winning versions meet which fate; ``ties`` have the version that is known.

    ``settled``: how many of them are told from it by their values alone.
    ``oldest``: the first batch that took one of these ties, 0 where that is not known of each; None without any.
    ``places``: where the rows are that are to be updated or deleted, where that was asked for.
    """

    insert: int
    update: int
    delete: int
    unchanged: int
    older: int
    absent: int
    ties: int
    settled: int
    oldest: int | None
    places: list[Row]

    @property
    def keys(self) -> int:
        """The keys that have a version among the new rows."""
        return self.insert + self.update + self.delete + self.unchanged + self.older + self.absent


@dataclass(frozen=True)
class Winners:
    """The newest new version of each key (``Validated.winners``, computed), and how many they are."""

    frame: DataFrame
    count: int


def find_fates(batch: Batch, validated: Validated, winners: Winners, with_places: bool) -> DataFrame:
    """The winning versions with their fates, and with the places of the rows they are about where they are asked for.

    One scan of the table's key and version columns.
    """
    table, order = batch.step.table, (*batch.step.table.latest_by, *validated.ties)
    keys = winners.frame.select(*map(quoted, table.key))
    known = _known_versions(batch, validated.ties, with_places)
    hits = known.alias("k").join(sent(keys.alias("w"), winners.count), same_key("k", "w", table), "left_semi")
    newest = hits.groupBy(*map(quoted, table.key)).agg(
        F.max(version("k", order, validated.kinds, table)).alias(_VERSION),
        F.max(_THERE).alias(_THERE),
        *([F.collect_list(PLACES).alias(PLACES)] if with_places else []),
    )
    hit = sent(newest, winners.count).alias("k")
    joined = winners.frame.alias("n").join(hit, same_key("n", "k", table), "left")
    places = [F.col(f"k.{PLACES}")] if with_places else []
    new, there = version("n", order, validated.kinds, table), F.col(f"k.{_VERSION}")
    ties = F.coalesce(new == there, F.lit(False))
    parts = [new[name].eqNullSafe(there[name]) for name in version_parts(table.latest_by)]
    settled = reduce(and_, parts, there.isNotNull() & ~ties) if validated.ties else F.lit(False)
    fate = _fate(new < there).alias(FATE)
    return joined.select("n.*", *places, fate, ties.alias(_TIE), settled.alias(_SETTLED))


def settle_ties(batch: Batch, fated: DataFrame, validated: Validated, rows: int) -> DataFrame:
    """The same with the fate ``unchanged`` where a key comes again just as it is there.

    It must not be written again: tables below would take it for a change. Rows with a column that Spark cannot compare are
    left to be written.
    """
    if not all(has_equality(validated.kinds[name.lower()]) for name in validated.columns):
        return fated
    table = batch.step.table
    again = fated.where(F.col(_TIE) & (F.col(FATE) == "update")).select(*map(quoted, validated.columns))
    there = read_version(batch.spark, batch.name, batch.step.base.snapshot)
    kinds = {name: validated.kinds[name.lower()] for name in validated.columns}
    same = equal_in("t", "s", kinds, with_signs=True)
    both = there.alias("t").join(sent(again.alias("s"), rows), [same_key("t", "s", table), same], "left_semi")
    kept = both.select(*map(quoted, table.key)).distinct().withColumn(_THERE, F.lit(True))
    marked = fated.alias("n").join(sent(kept.alias("k"), rows), same_key("n", "k", table), "left")
    fate = F.when(F.col(f"k.{_THERE}"), "unchanged").otherwise(F.col(f"n.{FATE}"))
    return marked.select("n.*", fate.alias(_THERE)).drop(FATE).withColumnRenamed(_THERE, FATE)


def count_fates(fated: DataFrame) -> Fates:
    """Counts them, and gathers the places of what changes, in one pass."""
    names = ("insert", "update", "delete", "unchanged", "older", "absent")
    counts = [F.count_if(F.col(FATE) == name).alias(name) for name in names]
    oldest = F.min(F.when(F.col(_TIE), F.coalesce(ARRIVED, F.lit(0)))).alias("oldest")
    ties = F.count_if(F.col(_TIE)).alias("ties")
    settled = F.count_if(F.col(_SETTLED)).alias("settled")
    row: Row = fated.agg(*counts, ties, settled, oldest, _gathered(fated)).collect()[0]
    return Fates(**row.asDict())


def replaced() -> SparkColumn:
    """True for the versions whose key has a row that goes."""
    return F.col(FATE).isin("update", "delete")


def sent(rows: DataFrame, count: int) -> DataFrame:
    """Rows for a join: sent to every task as a whole, unless they are too many for the driver's memory."""
    return F.broadcast(rows) if count <= limits.KEYS_SENT_TO_EVERY_TASK else rows


def _gathered(fated: DataFrame) -> SparkColumn:
    if PLACES not in fated.columns:
        return F.array().alias("places")
    return F.flatten(F.collect_list(F.when(replaced(), F.col(PLACES)))).alias("places")


def _known_versions(batch: Batch, ties: tuple[str, ...], with_places: bool) -> DataFrame:
    """Key and version of the rows that are there (``_THERE``) and of the tombstones."""
    columns = tombstone_columns(batch)
    # Pinned, not read from the branch: should Spark have to compute this again after the merge, it must not see it.
    there = read_version(batch.spark, batch.name, batch.step.base.snapshot)
    there = there.withColumns({DELETE: F.lit(False), _THERE: F.lit(True)})
    places = [place(batch).alias(PLACES)] if with_places else []
    there = there.select(*map(quoted, dict.fromkeys((*columns, *ties))), _THERE, *places)
    buried = read_tombstones(batch)
    if buried is None:
        return there
    buried = buried.withColumn(_THERE, F.lit(False))
    if DELETE in ties:
        buried = buried.withColumn(DELETE, F.lit(True))
    return there.unionByName(buried, allowMissingColumns=True)


def _fate(older: SparkColumn) -> SparkColumn:
    is_there = F.coalesce(F.col(f"k.{_THERE}"), F.lit(False))
    deletes = F.col(f"n.{DELETE}")
    return (
        F.when(older, "older")
        .when(is_there & deletes, "delete")
        .when(is_there, "update")
        .when(deletes, "absent")
        .otherwise("insert")
    )
