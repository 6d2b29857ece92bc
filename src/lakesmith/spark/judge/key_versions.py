"""Tables with a key: one row per key, the newest version wins, whenever it arrives; deletes stay deleted.

The order of a row's fate: no key -> quarantine; ``delete_when`` -> a delete; ``rules`` -> quarantine (never for deletes);
``latest_by`` -> the newest version of its key. A key that is deleted leaves a *tombstone* (key and ``latest_by``), so that
an older version that arrives later does not come back.

Ties of ``latest_by`` are settled by arrival: batch, file, position. Between a row that is there and one that comes, the one
that comes has the later batch, so it wins; that is the order a rebuild finds too (where it has not, as rows may that others
wrote, only a rebuild tells). Where arrival is not known (a Python function dropped the columns, or the input has none), and
between rows of one arrival, the values themselves settle them, in the same order always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from lakesmith.project.definitions import TableDefinition
from lakesmith.quoting import quoted
from lakesmith.spark.batch.quarantine import REASONS
from lakesmith.spark.frames.comparable import comparable, has_equality
from lakesmith.spark.frames.row_counts import RowCounts
from lakesmith.spark.judge.rule_misfits import add_reasons, delete_condition
from lakesmith.spark.judge.rules import rule_counts, rule_reasons
from lakesmith.spark.query.table_query import QueryRows

DELETE: Final = "_lakesmith_delete"
"""True for a row that deletes its key."""

ARRIVED: Final = "_lakesmith_arrived"
"""The number of the batch that took a row into the input; null where arrival is not known."""

_RANK: Final = "_lakesmith_rank"
_WINS: Final = "_lakesmith_wins"


@dataclass(frozen=True)
class Judged:
    """A query's rows with ``_reasons`` (empty: good) and, where the table has a key, ``DELETE`` added."""

    frame: DataFrame
    table: TableDefinition
    columns: tuple[str, ...]
    hidden: tuple[str, ...]
    marks: tuple[tuple[str, str], ...] = ()

    @property
    def good(self) -> DataFrame:
        """The rows that nothing is wrong with."""
        return self.frame.where(F.size(REASONS) == 0)

    @property
    def bad(self) -> DataFrame:
        """The rows that go to quarantine."""
        return self.frame.where(F.size(REASONS) > 0)

    def counts(self) -> list[SparkColumn]:
        """Aggregates over all rows: ``out``, ``bad`` and one per rule."""
        return [
            F.count(F.lit(1)).alias("out"),
            F.count_if(F.size(REASONS) > 0).alias("bad"),
            *rule_counts(self.table.checks),
            *(F.count_if(F.col(quoted(mark)).isNull()).alias(mark) for _, mark in self.marks),
        ]

    def unknown(self, counts: Mapping[str, int]) -> dict[str, int]:
        """By lookup the rows that found nothing there, of ``counts``."""
        return {name: counts[mark] for name, mark in self.marks}

    def observed(self, seen: RowCounts) -> Judged:
        """The same rows, counted into ``seen`` when they are read."""
        return replace(self, frame=seen.observe(self.frame, *self.counts()))

    def winners(self) -> DataFrame:
        """The newest good version of each key: the table's columns, ``DELETE`` and ``ARRIVED``."""
        window = Window.partitionBy(*map(quoted, self.table.key)).orderBy(
            *map(F.desc_nulls_last, self._newness())
        )
        arrived = F.col(quoted(self.hidden[0])) if self.hidden else F.lit(None).cast("bigint")
        good = self.good.withColumn(_RANK, F.row_number().over(window)).where(F.col(_RANK) == 1)
        return good.select(*map(quoted, self.columns), DELETE, arrived.alias(ARRIVED))

    def versions(self) -> DataFrame:
        """All good versions of each key: the query's columns and ``DELETE``. Of those that tie in ``latest_by`` the winner."""
        window = Window.partitionBy(*map(quoted, self.table.key))
        order = F.struct(*map(F.col, map(quoted, self.table.latest_by)))
        following = F.lead(order).over(window.orderBy(*map(F.asc_nulls_first, self._newness())))
        good = self.good.withColumn(_WINS, ~following.eqNullSafe(order))
        return good.where(_WINS).select(*map(quoted, self.columns), DELETE)

    @property
    def ties(self) -> tuple[str, ...]:
        """What settles ties of ``latest_by`` where arrival is not known: a delete wins, else the greatest values do.

        Empty where arrival is known: the row that comes later wins.
        """
        return () if self.hidden else self._settling

    @property
    def kinds(self) -> dict[str, DataType]:
        """The types of the frame's columns, by their names in lower case."""
        return {field.name.lower(): field.dataType for field in self.frame.schema.fields}

    @property
    def _settling(self) -> tuple[str, ...]:
        settled, kinds = {name.lower() for name in (*self.table.key, *self.table.latest_by)}, self.kinds
        names = (name for name in self.columns if name.lower() not in settled)
        return (DELETE, *(name for name in names if has_equality(kinds[name.lower()])))

    def _newness(self) -> list[SparkColumn]:
        """What the versions of a key are ordered by. Their values come last: a query may give several rows of one arrival."""
        names, kinds = (*self.table.latest_by, *self.hidden, *self._settling), self.kinds
        return [comparable(F.col(quoted(name)), kinds[name.lower()]) for name in names]


def judge(rows: QueryRows, table: TableDefinition) -> Judged:
    """Adds to each row what is wrong with it and whether it deletes its key.

    Raises QualityError LS804 as ``delete_condition``, LS802 as ``add_reasons``.
    """
    frame = rows.frame.withColumn(DELETE, delete_condition(rows.frame, rows.columns, table))
    no_key = F.array_compact(
        F.array(
            *(F.when(F.col(quoted(key)).isNull(), F.lit(f"key column {key} is null")) for key in table.key)
        )
    )
    nothing = F.array().cast("array<string>")
    reasons = (
        F.when(F.size(no_key) > 0, no_key).when(F.col(DELETE), nothing).otherwise(rule_reasons(table.checks))
    )
    return Judged(add_reasons(frame, reasons, table.checks), table, rows.columns, rows.hidden, rows.marks)


def version(alias: str, columns: Sequence[str], kinds: Mapping[str, DataType]) -> SparkColumn:
    """A row's version as one comparable value; nulls are the oldest. Without columns all versions are equal.

    ``kinds``: the columns' types by their names in lower case.
    """
    parts = (comparable(F.col(f"{alias}.{quoted(name)}"), kinds[name.lower()]) for name in columns)
    named = [part.alias(f"v{number}") for number, part in enumerate(parts)]
    return F.struct(*named) if named else F.struct(F.lit(0).alias("none"))


def same_key(left: str, right: str, table: TableDefinition) -> SparkColumn:
    """The join condition of two frames by the table's key (never null)."""
    pairs = [F.col(f"{left}.{quoted(key)}") == F.col(f"{right}.{quoted(key)}") for key in table.key]
    return reduce(lambda one, other: one & other, pairs)
