"""The refresh of a derived table by touched keys: only the keys that changed rows have are computed anew.

The query itself tells them: run over the changed rows alone, it gives the keys that they can reach (see ``key_columns``).
Run over all rows and asked for those keys, it gives what the table has to have of them. What the table has of them now is
held against that, row by row, and only what differs is replaced, so tables below see no more than what changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from lakesmith.catalog.record import Account
from lakesmith.execute.engine import NotIncremental
from lakesmith.plan.steps import InputRange
from lakesmith.spark.batch import Batch, Draft
from lakesmith.spark.changes import changed_rows
from lakesmith.spark.comparable import has_equality
from lakesmith.spark.iceberg import quoted
from lakesmith.spark.kept import Kept
from lakesmith.spark.key_columns import Keys, relaxed
from lakesmith.spark.key_ranges import Values, input_conditions, own_condition, values_of
from lakesmith.spark.observed import counts_of
from lakesmith.spark.queries import QueryRows, rows_over
from lakesmith.spark.row_delta import by_file, can_replace, nowhere, place, replace_rows
from lakesmith.spark.staging import LAST_UPDATED, ROW_ID
from lakesmith.spark.versions import column_types, read_version

MOST_TOUCHED = 0.5
"""Changes in files that hold more than this part of an input are not looked at one by one."""

MOST_KEYS = 1_000_000
"""More keys than that are not sent to every task."""

_PLACE: Final = "_lakesmith_place"
_PLACES: Final = "_lakesmith_places"
_FRESH: Final = "_lakesmith_fresh"


@dataclass(frozen=True)
class _Touched:
    """The keys, computed, how many they are, what their values are, and the counts of the changed rows that tell them."""

    keys: DataFrame
    count: int
    values: Mapping[int, Values]
    seen: tuple[Observation, ...]

    @property
    def names(self) -> list[str]:
        """The keys' columns."""
        return self.keys.columns

    @property
    def read(self) -> int:
        """The rows that went and came."""
        return sum(counts_of(each)["rows"] for each in self.seen)


@dataclass(frozen=True)
class _Changed:
    """Changed rows of one input, counted when they are read; ``as_they_were``: the other inputs are to be as they were."""

    item: InputRange
    rows: DataFrame
    as_they_were: bool


@dataclass(frozen=True)
class _Difference:
    """The rows that are there another number of times than they have to be, and how many come and go."""

    rows: DataFrame
    came: int
    went: int


def refresh_keys(batch: Batch, rows: QueryRows, keys: Keys) -> Draft:
    """Brings what the touched keys have to have into the working branch.

    ``rows`` are the query's over its whole inputs. Raises NotIncremental where rows cannot be compared, or are too many.
    """
    _require_comparable(rows, keys)
    if not can_replace(batch.state(), batch.step.base.snapshot, 0):
        raise NotIncremental("it has too many files to replace rows in, so it is computed as a whole")
    with Kept() as kept:
        batch.say("finding the keys that changed rows have")
        touched = _touched(batch, [rows.frame.columns[number] for number in keys.positions], kept)
        if touched.count > MOST_KEYS:
            raise NotIncremental(f"{touched.count} keys of it are touched, so it is computed as a whole")
        if not touched.count:
            return Draft(Account(read=touched.read), by_row=False)
        batch.say(f"computing {touched.count} keys")
        changed, counts = kept.cut_and_count(_differing(batch, rows, touched, keys), *_totals())
        return _write(batch, _Difference(changed, counts["came"], counts["went"]), rows.columns, touched)


def _touched(batch: Batch, names: Sequence[str], kept: Kept) -> _Touched:
    """The keys that the changed rows of any input can reach."""
    seen: list[Observation] = []
    found: list[DataFrame] = []
    for changed in _changed(batch, kept):
        seen.append(Observation())
        counted = changed.rows.observe(seen[-1], F.count(F.lit(1)).alias("rows"))
        views = {
            other.table: _other(batch, other, changed.as_they_were)
            for other in batch.step.inputs
            if other is not changed.item
        }
        of_all = {item.table: views.get(item.table, counted) for item in batch.step.inputs}
        rows = rows_over(batch, of_all)
        reached = relaxed(rows.frame, rows.inputs, changed.item.table)
        found.append(reached.select(*map(quoted, names)))
    distinct = reduce(DataFrame.union, found).distinct()
    keys, counts = kept.cut_and_count(distinct, F.count(F.lit(1)).alias("keys"))
    return _Touched(keys, counts["keys"], values_of(keys, counts["keys"]), tuple(seen))


def _changed(batch: Batch, kept: Kept) -> Iterator[_Changed]:
    """What went, among the other inputs as they were, and what came, as they are; both at once where no other moved."""
    moved = [item for item in batch.step.inputs if item.start != item.end]
    for item in moved:
        feed = changed_rows(batch.spark, item.table, item.start, item.end, _worth_it(batch, item))
        changes = kept.enter_context(feed)
        went, came = (frame.drop(ROW_ID, LAST_UPDATED) for frame in (changes.went, changes.came))
        if len(moved) == 1:
            yield _Changed(item, went.unionByName(came), False)
        else:
            yield _Changed(item, went, True)
            yield _Changed(item, came, False)


def _worth_it(batch: Batch, item: InputRange) -> float:
    """The bytes in changed files of an input up to which it is worth it to look at what changed in them."""
    state = batch.catalog.table(item.table.layer, item.table.name)
    head = state.snapshots.get(item.end) if state and item.end is not None else None
    return (head.count("total-files-size") if head else 0) * MOST_TOUCHED


def _other(batch: Batch, item: InputRange, as_it_was: bool) -> DataFrame:
    return read_version(batch.spark, item.table, item.start if as_it_was else item.end)


def _differing(batch: Batch, rows: QueryRows, touched: _Touched, keys: Keys) -> DataFrame:
    """Each row of the touched keys that is there another number of times than it has to be.

    ``_FRESH``: how many times it has to be there; ``_PLACES``: where it is.
    """
    columns = [F.col(quoted(name)) for name in rows.columns]
    both = (
        _of_keys(_wanted(batch, rows, touched, keys), touched)
        .select(*columns, nowhere().alias(_PLACE))
        .unionByName(_of_keys(_there(batch, columns, touched), touched))
    )
    counted = both.groupBy(*columns).agg(
        F.count_if(F.col(_PLACE).isNull()).alias(_FRESH), F.collect_list(_PLACE).alias(_PLACES)
    )
    return counted.where(F.col(_FRESH) != F.size(_PLACES))


def _wanted(batch: Batch, rows: QueryRows, touched: _Touched, keys: Keys) -> DataFrame:
    """The query's rows, in the table's types, over those rows of its inputs that can have a touched key."""
    conditions = input_conditions(keys.origins, touched.values)
    views = {
        item.table: read_version(batch.spark, item.table, item.end).where(
            conditions.get(item.table, F.lit(True))
        )
        for item in batch.step.inputs
    }
    types = column_types(batch.spark, batch.name)
    found = rows_over(batch, views).frame
    return found.select(*(F.col(quoted(name)).cast(types[name]).alias(name) for name in rows.columns))


def _there(batch: Batch, columns: Sequence[SparkColumn], touched: _Touched) -> DataFrame:
    """The rows that the table has now and that can have a touched key, with their places."""
    there = read_version(batch.spark, batch.name, batch.step.base.snapshot)
    return there.where(own_condition(touched.names, touched.values)).select(*columns, place().alias(_PLACE))


def _of_keys(frame: DataFrame, touched: _Touched) -> DataFrame:
    same = [F.col(f"r.{quoted(name)}").eqNullSafe(F.col(f"k.{quoted(name)}")) for name in touched.names]
    condition: SparkColumn = reduce(lambda one, other: one & other, same)
    return frame.alias("r").join(F.broadcast(touched.keys).alias("k"), condition, "left_semi")


def _more() -> SparkColumn:
    """How many times more a row has to be there than it is."""
    return F.greatest(F.col(_FRESH) - F.size(_PLACES), F.lit(0)).cast("int")


def _less() -> SparkColumn:
    """How many times too often a row is there."""
    return F.greatest(F.size(_PLACES) - F.col(_FRESH), F.lit(0)).cast("int")


def _totals() -> list[SparkColumn]:
    return [
        F.coalesce(F.sum(each), F.lit(0)).alias(name) for each, name in ((_more(), "came"), (_less(), "went"))
    ]


def _write(batch: Batch, changed: _Difference, columns: Sequence[str], touched: _Touched) -> Draft:
    """Takes away what is there too often, and writes what is not there often enough."""
    came, went = changed.came, changed.went
    if not can_replace(batch.state(), batch.step.base.snapshot, max(came, went)):
        raise NotIncremental(f"{went} of its rows go and {came} come, so it is computed as a whole")
    if came or went:
        batch.say(f"replacing {went} rows by {came}")
        surplus = F.slice(F.col(_PLACES), F.col(_FRESH).cast("int") + 1, _less())
        gone = (
            changed.rows.where(_less() > 0).select(F.explode(surplus).alias(_PLACE)).collect() if went else []
        )
        rows = changed.rows.where(_more() > 0).withColumn(_FRESH, F.explode(F.sequence(F.lit(1), _more())))
        new = F.lit(None).cast("bigint").alias(ROW_ID)
        places = by_file((row[0].file, row[0].pos) for row in gone)
        replace_rows(batch, places, rows.select(*map(quoted, columns), new), came)
    batch.pass_point("after-data")
    return Draft(account=Account(read=touched.read, inserted=came, deleted=went), by_row=False)


def _require_comparable(rows: QueryRows, keys: Keys) -> None:
    for number, field in enumerate(rows.frame.schema.fields):
        kind = field.dataType.simpleString()
        if not has_equality(field.dataType) or (number in keys.positions and "map<" in kind):
            raise NotIncremental(
                f"its column {field.name} is of a type, {kind}, whose values cannot be compared"
            )
