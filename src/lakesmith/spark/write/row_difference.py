"""Rows that have to be there held against rows that are there, as multisets: only what differs is replaced.

So tables below see no more than what changed.
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
"""Of a row that comes in the place of one that goes: that one's id, as the field ``id``, null where rows have none."""


@dataclass(frozen=True)
class Difference:
    """The rows that are there another number of times than they have to be, and how many come and go.

    ``continued``: how many of those that come take the place of one that goes: they are the same row, with other values.
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
    """These columns of rows that are read from the batch's table, and where each is."""
    return rows.select(*map(quoted, columns), place(batch).alias(PLACE))


def difference(
    wanted: DataFrame, there: DataFrame, columns: Sequence[str], identity: Sequence[str], kept: Kept
) -> Difference:
    """What differs in ``columns`` between the rows ``wanted`` and those ``there``, as ``with_places`` gives them.

    ``identity``: columns by which, where just one row of the same values goes and one comes, the two are one row.
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
    """The rows of a ``Difference``, of rows that have what goes from the place ``at`` beside what comes in its stead.

    ``old``, ``new``: the columns of what goes and of what comes, and the name of the one that says whether it does.
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
    """Takes away what is there too often, and writes what is not there often enough, on the working branch.

    Raises NotIncremental where that are too many rows to be replaced by their places.
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
    """``_SAME``: the one row that goes, for the one that comes in its place; null for any other."""
    same = Window.partitionBy(*map(quoted, identity))
    is_one = (F.sum(_less()).over(same) == 1) & (F.sum(_more()).over(same) == 1)
    gone = F.when(_less() > 0, F.get(F.col(_PLACES), F.col(WANTED).cast("int"))["id"])
    return F.when(is_one & (_more() > 0), F.struct(F.max(gone).over(same).alias("id")))


def _more() -> SparkColumn:
    return more(F.size(_PLACES))


def _less() -> SparkColumn:
    return less(F.size(_PLACES))
