"""Two frames held against each other as multisets: how often each row has to be there, and how often it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

WANTED: Final = "_lakesmith_wanted"
THERE: Final = "_lakesmith_there"
SIDES: Final = (WANTED, THERE)
"""The columns that ``side`` adds: one of them is 1."""


def side(rows: DataFrame, which: str) -> DataFrame:
    """Rows that have to be there (``WANTED``) or that are (``THERE``); the union of both is what is grouped by their values."""
    return rows.withColumns({name: F.lit(int(name == which)).cast("bigint") for name in SIDES})


def both_counts() -> list[SparkColumn]:
    """Aggregates, named as ``SIDES``: how often equal rows are wanted, and how often they are there."""
    return [F.sum(name).alias(name) for name in SIDES]


def more(there: SparkColumn | None = None) -> SparkColumn:
    """How many times more a row has to be there than it is; ``there``: in place of the column of that name."""
    return F.greatest(F.col(WANTED) - _count(there), F.lit(0))


def less(there: SparkColumn | None = None) -> SparkColumn:
    """How many times too often a row is there."""
    return F.greatest(_count(there) - F.col(WANTED), F.lit(0))


def totals(sums: Sequence[tuple[SparkColumn, str]]) -> list[SparkColumn]:
    """Aggregates: these sums by their names, 0 where there are no rows."""
    return [F.coalesce(F.sum(each), F.lit(0)).alias(name) for each, name in sums]


def repeated(rows: DataFrame, times: SparkColumn) -> DataFrame:
    """Each row so many times; its count of ``WANTED`` means nothing any more."""
    return rows.where(times > 0).withColumn(WANTED, F.explode(F.sequence(F.lit(1), times.cast("int"))))


def _count(there: SparkColumn | None) -> SparkColumn:
    return F.col(THERE) if there is None else there
