"""Tables with a key: one row per key, the newest version wins, whenever it arrives; deletes stay deleted.

The order of a row's fate: no key -> quarantine; ``delete_when`` -> a delete; ``rules`` -> quarantine (never for deletes);
``latest_by`` -> the newest version of its key. A key that is deleted leaves a *tombstone* (key and ``latest_by``), so that
an older version that arrives later does not come back.

Ties of ``latest_by`` are settled by arrival: batch, file, position. Between a row that is there and one that comes, the one
that comes has the later batch, so it wins; that is the order a rebuild finds too. Where arrival is not known (a Python
function dropped the columns, or the input has none), the values themselves settle them, in the same order always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Observation, Window
from pyspark.sql import functions as F

from lakesmith.project.definitions import TableDefinition
from lakesmith.spark.iceberg import quoted
from lakesmith.spark.quarantine import REASONS, rule_counts, rule_reasons
from lakesmith.spark.queries import QueryRows
from lakesmith.spark.rules import add_reasons, delete_condition

DELETE: Final = "_lakesmith_delete"
"""True for a row that deletes its key."""

_RANK: Final = "_lakesmith_rank"
_WINS: Final = "_lakesmith_wins"


@dataclass(frozen=True)
class Judged:
    """A query's rows with ``_reasons`` (empty: good) and, where the table has a key, ``DELETE`` added."""

    frame: DataFrame
    table: TableDefinition
    columns: tuple[str, ...]
    hidden: tuple[str, ...]

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
        ]

    def observed(self, seen: Observation) -> Judged:
        """The same rows, counted into ``seen`` when they are read."""
        return Judged(self.frame.observe(seen, *self.counts()), self.table, self.columns, self.hidden)

    def winners(self) -> DataFrame:
        """The newest good version of each key: the table's columns and ``DELETE``."""
        order = [
            F.desc_nulls_last(quoted(name)) for name in (*self.table.latest_by, *(self.hidden or self.ties))
        ]
        window = Window.partitionBy(*map(quoted, self.table.key)).orderBy(*order)
        good = self.good.withColumn(_RANK, F.row_number().over(window))
        return good.where(F.col(_RANK) == 1).select(*map(quoted, self.columns), DELETE)

    def versions(self) -> DataFrame:
        """All good versions of each key: the query's columns and ``DELETE``. Of those that tie in ``latest_by`` the winner."""
        names = (*self.table.latest_by, *(self.hidden or self.ties))
        window = Window.partitionBy(*map(quoted, self.table.key))
        order = F.struct(*map(F.col, map(quoted, self.table.latest_by)))
        following = F.lead(order).over(window.orderBy(*(F.asc_nulls_first(quoted(name)) for name in names)))
        good = self.good.withColumn(_WINS, ~following.eqNullSafe(order))
        return good.where(_WINS).select(*map(quoted, self.columns), DELETE)

    @property
    def ties(self) -> tuple[str, ...]:
        """What settles ties of ``latest_by`` where arrival is not known: a delete wins, else the greatest values do.

        Empty where arrival is known: the row that comes later wins.
        """
        if self.hidden:
            return ()
        settled = {*self.table.key, *self.table.latest_by}
        return (DELETE, *(name for name in self.columns if name not in settled and self._is_orderable(name)))

    def _is_orderable(self, name: str) -> bool:
        kind = self.frame.schema[name].dataType.simpleString()
        return "map<" not in kind and "variant" not in kind


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
    return Judged(add_reasons(frame, reasons, table.checks), table, rows.columns, rows.hidden)


def version(alias: str, columns: Sequence[str]) -> SparkColumn:
    """A row's version as one comparable value; nulls are the oldest. Without columns all versions are equal."""
    parts = [F.col(f"{alias}.{quoted(name)}") for name in columns]
    return F.struct(*parts) if parts else F.struct(F.lit(0).alias("none"))


def same_key(left: str, right: str, table: TableDefinition) -> SparkColumn:
    """The join condition of two frames by the table's key (never null)."""
    pairs = [F.col(f"{left}.{quoted(key)}") == F.col(f"{right}.{quoted(key)}") for key in table.key]
    return reduce(lambda one, other: one & other, pairs)
