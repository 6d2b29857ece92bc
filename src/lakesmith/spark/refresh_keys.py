"""The refresh of a derived table by touched keys: only the keys that changed rows have are computed anew.

The query itself tells them: run over the changed rows alone, it gives the keys that they can reach (see ``key_columns``).
Run over all rows and asked for those keys, it gives what the table has to have of them. What the table has of them now is
held against that, row by row, and only what differs is replaced, so tables below see no more than what changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Observation, Row
from pyspark.sql import functions as F

from lakesmith.catalog.record import Account
from lakesmith.execute.engine import NotIncremental
from lakesmith.plan.steps import InputRange
from lakesmith.spark.batch import Batch, Draft
from lakesmith.spark.changes import Changes, changed_rows
from lakesmith.spark.iceberg import physical, quoted
from lakesmith.spark.observed import counts_of
from lakesmith.spark.queries import QueryRows, rows_over
from lakesmith.spark.row_delta import by_file, can_replace, place, replace_rows
from lakesmith.spark.staging import LAST_UPDATED, ROW_ID
from lakesmith.spark.versions import read_version

MOST_TOUCHED = 0.5
"""Changes in files that hold more than this part of an input are not looked at one by one."""

_PLACE: Final = "_lakesmith_place"
_PLACES: Final = "_lakesmith_places"
_FRESH: Final = "_lakesmith_fresh"
_UNCOMPARABLE: Final = ("map<", "variant")


@dataclass(frozen=True)
class _Touched:
    """The keys, computed, how many they are, and the counts of the changed rows that were looked at for them."""

    keys: DataFrame
    count: int
    seen: tuple[Observation, ...]

    @property
    def read(self) -> int:
        """The rows that went and came."""
        return sum(counts_of(each)["rows"] for each in self.seen)


def refresh_keys(batch: Batch, rows: QueryRows) -> Draft:
    """Brings what the touched keys have to have into the working branch.

    ``rows`` are the query's over its whole inputs. Raises NotIncremental where rows cannot be compared, or are too many.
    """
    _require_comparable(rows)
    names = tuple(rows.frame.columns[number] for number in rows.told)
    with ExitStack() as stack:
        batch.say("finding the keys that changed rows have")
        touched = _touched(batch, names, stack)
        if not can_replace(batch.state(), batch.step.base.snapshot, touched.count):
            raise NotIncremental(f"{touched.count} keys of it are touched, so it is computed as a whole")
        batch.say(f"computing {touched.count} keys")
        changed = _kept(_differing(batch, rows, touched, names), stack)
        return _write(batch, changed, rows.columns, touched)


def _kept(frame: DataFrame, stack: ExitStack) -> DataFrame:
    kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
    stack.callback(kept.unpersist)
    return kept


def _touched(batch: Batch, names: Sequence[str], stack: ExitStack) -> _Touched:
    """The keys of the rows that went, among the other inputs as they were, and of those that came, as they are."""
    moved = [item for item in batch.step.inputs if item.start != item.end]
    seen: list[Observation] = []
    keys: list[DataFrame] = []
    for item in moved:
        changes = stack.enter_context(changed_rows(batch.spark, item.table, item.start, item.end))
        _require_worth_it(batch, item, changes)
        for frame, as_they_were in ((changes.went, True), (changes.came, False)):
            seen.append(Observation())
            counted = frame.drop(ROW_ID, LAST_UPDATED).observe(seen[-1], F.count(F.lit(1)).alias("rows"))
            views = {other.table: _other(batch, other, as_they_were) for other in batch.step.inputs}
            keys.append(rows_over(batch, {**views, item.table: counted}).frame.select(*map(quoted, names)))
    found = _kept(reduce(DataFrame.union, keys).distinct(), stack)
    return _Touched(found, found.count(), tuple(seen))


def _require_worth_it(batch: Batch, item: InputRange, changes: Changes) -> None:
    """Raises NotIncremental where changes are scattered over most of an input: reading it as a whole is no dearer then."""
    state = batch.catalog.table(item.table.layer, item.table.name)
    head = state.snapshots.get(item.end) if state and item.end is not None else None
    held = head.count("total-files-size") if head else 0
    if changes.bytes > held * MOST_TOUCHED:
        share = f"{changes.bytes / 1e6:,.0f} of {held / 1e6:,.0f} MB"
        raise NotIncremental(f"files of {item.table} that hold {share} changed, so it is computed as a whole")


def _other(batch: Batch, item: InputRange, as_it_was: bool) -> DataFrame:
    return read_version(batch.spark, item.table, item.start if as_it_was else item.end)


def _differing(batch: Batch, rows: QueryRows, touched: _Touched, names: Sequence[str]) -> DataFrame:
    """Each row of the touched keys that is there another number of times than it has to be.

    ``_FRESH``: how many times it has to be there; ``_PLACES``: where it is.
    """
    columns = [F.col(quoted(name)) for name in rows.columns]
    types = {field.name: field.dataType for field in batch.spark.table(physical(batch.name)).schema.fields}
    nowhere = F.lit(None).cast("struct<file: string, pos: bigint, id: bigint>").alias(_PLACE)
    wanted = rows.frame.select(*(F.col(quoted(name)).cast(types[name]).alias(name) for name in rows.columns))
    there = read_version(batch.spark, batch.name, batch.step.base.snapshot).select(
        *columns, place().alias(_PLACE)
    )
    both = (
        _of_keys(wanted, touched, names)
        .select(*columns, nowhere)
        .unionByName(_of_keys(there, touched, names))
    )
    counted = both.groupBy(*columns).agg(
        F.count_if(F.col(_PLACE).isNull()).alias(_FRESH), F.collect_list(_PLACE).alias(_PLACES)
    )
    return counted.where(F.col(_FRESH) != F.size(_PLACES))


def _of_keys(frame: DataFrame, touched: _Touched, names: Sequence[str]) -> DataFrame:
    same = [F.col(f"r.{quoted(name)}").eqNullSafe(F.col(f"k.{quoted(name)}")) for name in names]
    condition: SparkColumn = reduce(lambda one, other: one & other, same)
    return frame.alias("r").join(F.broadcast(touched.keys).alias("k"), condition, "left_semi")


def _write(batch: Batch, changed: DataFrame, columns: Sequence[str], touched: _Touched) -> Draft:
    """Takes away what is there too often, and writes what is not there often enough."""
    fresh, there = F.col(_FRESH).cast("int"), F.size(_PLACES)
    more, less = F.greatest(fresh - there, F.lit(0)), F.greatest(there - fresh, F.lit(0))
    totals: Row = changed.agg(
        *(F.coalesce(F.sum(each), F.lit(0)).alias(name) for each, name in ((more, "came"), (less, "went")))
    ).collect()[0]
    if not can_replace(batch.state(), batch.step.base.snapshot, max(totals.came, totals.went)):
        raise NotIncremental(
            f"{totals.went} of its rows go and {totals.came} come, so it is computed as a whole"
        )
    if totals.came or totals.went:
        batch.say(f"replacing {totals.went} rows by {totals.came}")
        surplus = changed.where(less > 0).select(
            F.explode(F.slice(F.col(_PLACES), fresh + 1, less)).alias(_PLACE)
        )
        gone = by_file((row[0].file, row[0].pos) for row in surplus.collect()) if totals.went else {}
        rows = changed.where(more > 0).withColumn(_FRESH, F.explode(F.sequence(F.lit(1), more)))
        new = F.lit(None).cast("bigint").alias(ROW_ID)
        replace_rows(batch, gone, rows.select(*map(quoted, columns), new), totals.came)
    batch.pass_point("after-data")
    account = Account(read=touched.read, inserted=totals.came, deleted=totals.went)
    return Draft(account=account, by_row=False)


def _require_comparable(rows: QueryRows) -> None:
    for field in rows.frame.schema.fields:
        kind = field.dataType.simpleString()
        if any(part in kind for part in _UNCOMPARABLE):
            raise NotIncremental(
                f"its column {field.name} is of a type, {kind}, whose values cannot be compared"
            )
