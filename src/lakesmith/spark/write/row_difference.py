"""Compares wanted rows with current rows as multisets, and replaces only differences.

So downstream tables see no other changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lakesmith.execute.engine import NotIncremental
from lakesmith.quoting import quoted
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.frames.comparable import WANTED, less, more, repeated, totals
from lakesmith.spark.frames.rounding import grouped_exactly
from lakesmith.spark.frames.row_counts import Kept
from lakesmith.spark.iceberg.uncommitted_files import ROW_ID
from lakesmith.spark.write.replace_rows import PLACE_TYPE, by_file, can_replace, nowhere, place, replace_rows

PLACE: Final = "_lakesmith_place"
"""The column that ``with_places`` adds."""

_PLACES: Final = "_lakesmith_places"
_SAME: Final = "_lakesmith_same"
"""The id of the removed row that a new row replaces, as the field ``id``; null if rows have none."""


@dataclass(frozen=True)
class Difference:
    """The rows whose current count differs from the wanted one, and how many come and go.

    ``continued``: the number of new rows that replace a removed one: the same row with other values.
    """

    rows: DataFrame
    columns: tuple[str, ...]
    came: int
    went: int
    continued: int

    def __add__(self, other: Difference) -> Difference:
        """Both, of the same columns and of different rows."""
        return Difference(
            self.rows.union(other.rows),
            self.columns,
            self.came + other.came,
            self.went + other.went,
            self.continued + other.continued,
        )


def with_places(batch: Batch, rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Returns these columns of rows read from the batch's table, and each row's place."""
    return rows.select(*map(quoted, columns), F.expr(place(batch)).alias(PLACE))


def difference(
    wanted: DataFrame, there: DataFrame, columns: Sequence[str], identity: Sequence[str], kept: Kept
) -> Difference:
    """Returns the difference in ``columns`` between ``wanted`` rows and ``there``, of ``with_places``.

    ``identity``: columns that identify one removed and one new row as the same row.
    """
    names = [F.col(quoted(name)) for name in columns]
    both = wanted.select(*names, nowhere().alias(PLACE)).unionByName(there)
    fresh, places = F.count_if(F.col(PLACE).isNull()).alias(WANTED), F.collect_list(PLACE).alias(_PLACES)
    counted = grouped_exactly(both, columns, fresh, places).select(*names, WANTED, _PLACES)
    differing = counted.where(F.col(WANTED) != F.size(_PLACES)).withColumn(_SAME, _continued(identity))
    sums = ((_more(), "came"), (_less(), "went"), (F.col(_SAME).isNotNull().cast("int"), "continued"))
    rows, counts = kept.cut_and_count(differing, *totals(sums))
    return Difference(rows, tuple(columns), counts["came"], counts["went"], counts["continued"])


def one_for_one(
    rows: DataFrame,
    old: tuple[Sequence[SparkColumn], str],
    new: tuple[Sequence[SparkColumn], str],
    at: SparkColumn,
) -> DataFrame:
    """Returns the rows of a ``Difference``: removed values, at place ``at``, beside new ones.

    ``old``, ``new``: the columns of either, and the name of the column that says whether it exists.
    """
    nothing = F.lit(None)
    (had, goes), (has, comes) = old, new
    gone = rows.where(goes).select(*had, *_differing(0, F.array(at), nothing))
    come = rows.where(comes).select(
        *has, *_differing(1, F.array(), F.when(F.col(goes), F.struct(at["id"].alias("id"))))
    )
    return gone.union(come)


def _differing(fresh: int, places: SparkColumn, same: SparkColumn) -> list[SparkColumn]:
    return [
        F.lit(fresh).cast("bigint").alias(WANTED),
        places.cast(f"array<{PLACE_TYPE}>").alias(_PLACES),
        same.cast("struct<id: bigint>").alias(_SAME),
    ]


def replace_differing(batch: Batch, differing: Difference) -> None:
    """Deletes surplus rows and writes missing ones on the working branch.

    Raises NotIncremental if too many rows would be replaced by place.
    """
    came, went = differing.came, differing.went
    if not can_replace(batch.state(), batch.step.base.snapshot, max(came, went)):
        raise NotIncremental(f"{went} of its rows go and {came} come, so it is refreshed in full")
    if not came and not went:
        return
    batch.say(f"replacing {went} rows by {came}")
    surplus = F.explode(F.slice(F.col(_PLACES), F.col(WANTED).cast("int") + 1, _less().cast("int"))).alias(
        PLACE
    )
    gone = differing.rows.where(_less() > 0).select(surplus).collect() if went else []
    new = repeated(differing.rows, _more()).select(
        *map(quoted, differing.columns), F.col(_SAME)["id"].alias(ROW_ID)
    )
    replace_rows(batch, by_file((row[0].file, row[0].pos) for row in gone), new, came)


def _continued(identity: Sequence[str]) -> SparkColumn:
    """``_SAME``: the one removed row, for the new one that replaces it; null for any other."""
    same = Window.partitionBy(*map(quoted, identity))
    is_one = (F.sum(_less()).over(same) == 1) & (F.sum(_more()).over(same) == 1)
    gone = F.when(_less() > 0, F.get(F.col(_PLACES), F.col(WANTED).cast("int"))["id"])
    return F.when(is_one & (_more() > 0), F.struct(F.max(gone).over(same).alias("id")))


def _more() -> SparkColumn:
    return more(F.size(_PLACES))


def _less() -> SparkColumn:
    return less(F.size(_PLACES))
