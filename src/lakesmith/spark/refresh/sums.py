"""Updates aggregates by what the changed rows add to them and remove (see ``catalyst.summable``).

A group's current row, its added and its removed values give its new row, or it is not *certain*: a sum that
is zero may be null if the number of its values is unknown; and if the least value was removed, only the rows
show the next. Groups that are not certain are computed from their rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DecimalType

from lakesmith.quoting import quoted
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.catalyst.summable import Adding, Role
from lakesmith.spark.frames.comparable import all_true
from lakesmith.spark.frames.row_counts import Kept, RowCounts
from lakesmith.spark.iceberg.snapshots import column_types, in_types, read_version
from lakesmith.spark.query.table_query import at_occurrences, rows_over
from lakesmith.spark.refresh.key_ranges import values_of
from lakesmith.spark.refresh.touched_keys import Touched, counted, moved_inputs, only_came, went_and_came
from lakesmith.spark.write.row_difference import PLACE, Difference, one_for_one

_SIDE: Final = "_lakesmith_side"
_WAS, _CAME, _WENT = "w", "c", "g"
"""The current row, the added values, and the removed ones."""
_TOTAL: Final = "t"

_AT: Final = "_lakesmith_at"
_CERTAIN: Final = "_lakesmith_certain"
_EXISTS: Final = "_lakesmith_exists"
_GOES: Final = "_lakesmith_goes"
_COMES: Final = "_lakesmith_comes"


@dataclass(frozen=True)
class Sums:
    """The result over the changed rows alone: for each group a row with the added and the removed values.

    ``columns``: the kind of each column of the table. ``sides``: those of the two that occur.
    """

    rows: DataFrame
    columns: Mapping[str, Adding]
    types: Mapping[str, DataType]
    sides: tuple[str, ...]

    @property
    def groups(self) -> list[str]:
        """The columns that identify a row's group."""
        return _of_group(self.columns)

    @property
    def values(self) -> list[str]:
        """The others."""
        return _of_values(self.columns)

    @property
    def added(self) -> list[str]:
        """The columns that are sums or counts."""
        return [name for name, each in self.columns.items() if each.role in (Role.ROWS, Role.COUNT, Role.SUM)]

    def counted_by(self, name: str) -> str | None:
        """The column with the number of values of a sum or an average."""
        return self._at(self.columns[name].counted_by)

    def summed_by(self, name: str) -> str | None:
        """The column with the sum of an average's values."""
        return self._at(self.columns[name].summed_by)

    def _at(self, number: int | None) -> str | None:
        return None if number is None else list(self.columns)[number]


def _of_group(columns: Mapping[str, Adding]) -> list[str]:
    return [name for name, each in columns.items() if each.role is Role.GROUP]


def _of_values(columns: Mapping[str, Adding]) -> list[str]:
    return [name for name, each in columns.items() if each.role is not Role.GROUP]


def find_sums(batch: Batch, columns: Mapping[str, Adding], kept: Kept) -> tuple[Sums, Touched]:
    """Returns the sums of the added and removed rows of the one changed input, and their groups.

    Raises NotIncremental as ``changed_rows``.
    """
    changed = _changed(batch, kept)
    seen = {side: RowCounts() for side in changed}
    added = {side: _added(batch, columns, counted(rows, seen[side])) for side, rows in changed.items()}
    groups = [F.col(quoted(name)) for name in _of_group(columns)]
    cut, counts = kept.cut_and_count(_beside(added, columns), F.count(F.lit(1)).alias("groups"))
    keys, count = cut.select(*groups), counts["groups"]
    sums = Sums(cut, columns, column_types(batch.spark, batch.name), tuple(changed))
    return sums, Touched(keys, count, values_of(keys, count), tuple(seen.values()))


def _changed(batch: Batch, kept: Kept) -> dict[str, DataFrame]:
    """The changed rows of the one changed input, by side."""
    (moved,) = moved_inputs(batch)
    came = only_came(batch, moved)
    if came is not None:
        return {_CAME: came}
    went, came = went_and_came(batch, moved, kept)
    return {_WENT: went, _CAME: came}


def _added(batch: Batch, columns: Mapping[str, Adding], rows: DataFrame) -> DataFrame:
    """The query's result over these rows of the changed input, in the table's types."""
    (moved,) = moved_inputs(batch)
    others = (item for item in batch.step.inputs if item is not moved)
    ends = {item.table: read_version(batch.spark, item.table, item.end) for item in others}
    found = rows_over(batch, at_occurrences(batch, {**ends, moved.table: rows})).frame
    return in_types(found, columns, column_types(batch.spark, batch.name))


def _beside(added: Mapping[str, DataFrame], columns: Mapping[str, Adding]) -> DataFrame:
    """Of each group the values of its sides in one row."""
    groups, values = [F.col(quoted(name)) for name in _of_group(columns)], _of_values(columns)
    if len(added) == 1:
        # A query has one row of each group.
        ((side, rows),) = added.items()
        named = (F.col(quoted(name)).alias(_of(side, name)) for name in values)
        return rows.select(*groups, F.lit(1).cast("bigint").alias(_has(side)), *named)
    parts = [rows.withColumn(_SIDE, F.lit(side)) for side, rows in added.items()]
    return reduce(DataFrame.union, parts).groupBy(*groups).agg(*_side_by_side(tuple(added), values))


@dataclass(frozen=True)
class Forward:
    """The changed rows of the groups that are certain; ``open``: the other groups."""

    differing: Difference
    open: Touched


def bring_forward(sums: Sums, touched: Touched, there: DataFrame, kept: Kept) -> Forward:
    """Returns the new rows. ``there``: the table's rows of the ``touched`` groups, with places."""
    rows, counts = kept.cut_and_count(
        _forward(sums, there),
        F.count_if(_GOES).alias("went"),
        F.count_if(_COMES).alias("came"),
        F.count_if(F.col(_GOES) & F.col(_COMES)).alias("continued"),
        F.count_if(~F.col(_CERTAIN)).alias("open"),
    )
    old = [
        _value(_WAS, name).alias(name) if name in sums.values else F.col(quoted(name))
        for name in sums.columns
    ]
    differing = Difference(
        one_for_one(rows, (old, _GOES), ([F.col(quoted(name)) for name in sums.columns], _COMES), F.col(_AT)),
        tuple(sums.columns),
        counts["came"],
        counts["went"],
        counts["continued"],
    )
    keys = rows.where(~F.col(_CERTAIN)).select(*map(quoted, sums.groups))
    open_values = values_of(keys, counts["open"]) if counts["open"] else {}
    return Forward(differing, Touched(keys, counts["open"], open_values, touched.seen))


def _forward(sums: Sums, there: DataFrame) -> DataFrame:
    """Joins each group's new values with its current row, and whether either is removed or new."""
    groups = [F.col(quoted(name)) for name in sums.groups]
    was = (F.col(quoted(name)).alias(_of(_WAS, name)) for name in sums.values)
    here = there.select(*groups, F.lit(1).alias(_has(_WAS)), *was, F.col(PLACE).alias(_AT))
    # Step by step: in one expression a value used several times would be generated and compiled each time.
    sides = sums.rows.unionByName(here, allowMissingColumns=True).groupBy(*groups).agg(*_together(sums))
    totals = sides.withColumns(_absent(sums)).withColumns(
        {_of(_TOTAL, name): _summed(name, sums) for name in sums.added}
    )
    known = totals.withColumn(_EXISTS, _exists(sums)).withColumn(_CERTAIN, _is_certain(sums))
    new = known.withColumns({name: _new(name, sums) for name in sums.values})
    return new.withColumns(
        {_GOES: F.col(_CERTAIN) & _row_goes(sums), _COMES: F.col(_CERTAIN) & _row_comes(sums)}
    )


def _side_by_side(sides: Sequence[str], values: Sequence[str]) -> list[SparkColumn]:
    """For each side the number of a group's rows, at most one, and their values."""
    return [
        *(F.count_if(F.col(_SIDE) == side).alias(_has(side)) for side in sides),
        *(
            F.max(F.when(F.col(_SIDE) == side, F.col(quoted(name)))).alias(_of(side, name))
            for side in sides
            for name in values
        ),
    ]


def _together(sums: Sums) -> list[SparkColumn]:
    """The changed values and the current ones in one row: each from one of them, null in the other."""
    sides = (_WAS, *sums.sides)
    given = [_AT, *(_of(side, name) for side in sides for name in sums.values)]
    return [
        *(F.coalesce(F.sum(_has(side)), F.lit(0)).alias(_has(side)) for side in sides),
        *(F.max(quoted(name)).alias(name) for name in given),
    ]


def _absent(sums: Sums) -> dict[str, SparkColumn]:
    """The values of a side without rows."""
    sides = {_CAME, _WENT}.difference(sums.sides)
    nothing = {
        _of(side, name): F.lit(None).cast(sums.types[name.lower()]) for side in sides for name in sums.values
    }
    return {**{_has(side): F.lit(0).cast("bigint") for side in sides}, **nothing}


def _is_same(sums: Sums) -> SparkColumn:
    same = (F.col(quoted(name)).eqNullSafe(_value(_WAS, name)) for name in sums.values)
    return all_true([F.col(_has(_WAS)) == 1, *same])


def _row_goes(sums: Sums) -> SparkColumn:
    return (F.col(_has(_WAS)) == 1) & ~(F.col(_EXISTS) & _is_same(sums))


def _row_comes(sums: Sums) -> SparkColumn:
    return F.col(_EXISTS) & ~_is_same(sums)


def _has(side: str) -> str:
    return f"_lakesmith_has_{side}"


def _of(side: str, name: str) -> str:
    return f"_lakesmith_{side}_{name}"


def _value(side: str, name: str) -> SparkColumn:
    return F.col(quoted(_of(side, name)))


def _summed(name: str, sums: Sums) -> SparkColumn:
    """Current plus added minus removed values, as decimals, so that nothing overflows."""
    kind = sums.types[name.lower()]
    wide = kind if isinstance(kind, DecimalType) else DecimalType(20, 0)
    was, came, went = (
        F.coalesce(_value(side, name).cast(wide), F.lit(0).cast(wide)) for side in (_WAS, _CAME, _WENT)
    )
    return was + came - went


def _new(name: str, sums: Sums) -> SparkColumn:
    """The column's value in the group's new row, in the table's type."""
    was, came = _value(_WAS, name), _value(_CAME, name)
    total = _value(_TOTAL, name).cast(sums.types[name.lower()]) if name in sums.added else None
    match sums.columns[name].role:
        case Role.MIN:
            return F.least(was, came)
        case Role.MAX:
            return F.greatest(was, came)
        case Role.SUM:
            counting = sums.counted_by(name)
            is_null = _value(_TOTAL, counting) == 0 if counting else was.isNull() & came.isNull()
            return F.when(F.col(_CERTAIN) & ~is_null, total)
        case Role.MEAN:
            return F.when(F.col(_CERTAIN), _mean(name, sums))
    return F.when(F.col(_CERTAIN), total)


def _mean(name: str, sums: Sums) -> SparkColumn:
    """An average of the new sum and the new count."""
    mean, summed, counted = sums.columns[name].mean, sums.summed_by(name), sums.counted_by(name)
    assert mean is not None and summed is not None and counted is not None
    total, count = (quoted(_of(_TOTAL, each)) for each in (summed, counted))
    return F.expr(mean.of(total, count)).cast(sums.types[name.lower()])


def _exists(sums: Sums) -> SparkColumn:
    """Whether the group has rows left; null if unknown."""
    nothing_went = F.col(_has(_WENT)) == 0
    rows = [name for name, each in sums.columns.items() if each.role is Role.ROWS]
    if rows:
        return nothing_went | (_value(_TOTAL, rows[0]) > 0)
    some = [_value(_TOTAL, name) != 0 for name in sums.added]
    return F.when(reduce(lambda one, other: one | other, [nothing_went, *some]), F.lit(True))


def _is_certain(sums: Sums) -> SparkColumn:
    """Whether the new row is certain. If rows were removed from a missing group, it is recomputed."""
    went, was = F.col(_has(_WENT)), F.col(_has(_WAS))
    was_there = (was == 1) | ((went == 0) & (was == 0))
    each = [_is_known(name, sums) for name in sums.columns]
    known = all_true(known for known in each if known is not None)
    # The values of a removed group do not matter.
    return was_there & F.coalesce(~F.col(_EXISTS) | (F.col(_EXISTS) & known), F.lit(False))


def _is_known(name: str, sums: Sums) -> SparkColumn | None:
    """Whether a column's new value is certain; None if it always is."""
    was, came, went = (_value(side, name) for side in (_WAS, _CAME, _WENT))
    nothing_went = went.isNull()
    match sums.columns[name].role:
        case Role.MIN:
            return nothing_went | F.coalesce((went > was) | (came <= was), F.lit(False))
        case Role.MAX:
            return nothing_went | F.coalesce((went < was) | (came >= was), F.lit(False))
        case Role.SUM:
            counted = F.lit(sums.counted_by(name) is not None)
            return nothing_went | counted | (_value(_TOTAL, name) != 0)
        case Role.ROWS | Role.COUNT:
            return _value(_TOTAL, name) >= 0
        case Role.MEAN:
            mean, values = sums.columns[name].mean, sums.counted_by(name)
            assert mean is not None and values is not None
            return _value(_TOTAL, values) <= mean.most
    return None
