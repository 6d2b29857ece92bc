"""Tables with a key: one row per key, the newest version wins, whenever it arrives; deletes stay deleted.

The order of checks: no key -> quarantine; ``delete_when`` -> a delete; ``rules`` -> quarantine (never for
deletes); ``latest_by`` -> the newest version of its key. A deleted key leaves a *tombstone* (key and
``latest_by``), so that an older version that arrives later does not return.

Arrival settles ties of ``latest_by`` (``catalyst.arrival``). A new row has a later batch than an existing
one, so it wins; a rebuild finds the same order, unless others wrote rows. If arrival is unknown (the query
merges rows, or no input has it), and between rows of one arrival, the values settle ties, always in the same
order; such ties are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from operator import or_
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DataType
from pyspark.sql.window import WindowSpec

from lakesmith.project.definitions import Nulls, TableDefinition
from lakesmith.quoting import own, quoted
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.batch.quarantine import REASONS
from lakesmith.spark.catalyst.arrival import batch_of
from lakesmith.spark.frames.comparable import all_true, comparable, has_equality
from lakesmith.spark.frames.row_counts import RowCounts, counts_of
from lakesmith.spark.query.table_query import QueryRows
from lakesmith.spark.validation.rules import DELETE, add_reasons, delete_condition, rule_counts, rule_reasons

ARRIVED: Final = own("arrived")
"""The number of the batch that ingested a row into the input; null if arrival is unknown."""

_RANK: Final = own("rank")
_WINS: Final = own("wins")
_BY_VALUES: Final = own("by_values")


@dataclass(frozen=True)
class Validated:
    """Query rows plus ``_reasons``, a list of rule violations, and, with a key, ``DELETE``."""

    frame: DataFrame
    table: TableDefinition
    columns: tuple[str, ...]
    hidden: tuple[str, ...]
    marks: tuple[tuple[str, str], ...] = ()
    settled: RowCounts = field(default_factory=RowCounts)

    @property
    def good(self) -> DataFrame:
        """The valid rows."""
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
        """By lookup the number of rows without a match there, of ``counts``."""
        return {name: counts[mark] for name, mark in self.marks}

    def observed(self, seen: RowCounts) -> Validated:
        """The same rows, counted into ``seen`` when they are read."""
        return replace(self, frame=seen.observe(self.frame, *self.counts()))

    def winners(self) -> DataFrame:
        """The newest good version of each key: the table's columns, ``DELETE`` and ``ARRIVED``."""
        arrived = batch_of(F.col(self.hidden[0])) if self.hidden else F.lit(None).cast("bigint")
        ranked = {_RANK: F.row_number().over(self._newest_first), _BY_VALUES: self._by_values()}
        good = self._counting(self.good.withColumns(ranked).where(F.col(_RANK) == 1))
        return good.select(*map(quoted, self.columns), DELETE, arrived.alias(ARRIVED))

    def versions(self) -> DataFrame:
        """All valid versions of each key with ``DELETE``. One winner of each tie in ``latest_by``."""
        order = F.struct(*map(F.col, map(quoted, self.table.latest_by)))
        newer = F.lag(order).over(self._newest_first)
        good = self.good.withColumns({_WINS: ~newer.eqNullSafe(order), _BY_VALUES: self._by_values()})
        return self._counting(good.where(_WINS)).select(*map(quoted, self.columns), DELETE)

    @property
    def ties_by_values(self) -> int:
        """How many ties were settled by values, once the winners or versions were computed."""
        return counts_of(self.settled)[_BY_VALUES]

    @property
    def ties(self) -> tuple[str, ...]:
        """Settles ties of ``latest_by`` if arrival is unknown: a delete wins, else the greatest values.

        Empty if arrival is known: the later row wins.
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

    @property
    def _newest_first(self) -> WindowSpec:
        """The versions of a key in order. Values come last: a query may give several rows of one arrival."""
        newness = self._compared((*self.table.latest_by, *self.hidden, *self._settling))
        return Window.partitionBy(*map(quoted, self.table.key)).orderBy(*map(F.desc_nulls_last, newness))

    def _by_values(self) -> SparkColumn:
        """Whether nothing but its values puts a version before the next one."""
        parts = (self.table.latest_by, self.hidden), (self._settling,)
        tied, values = (F.struct(F.lit(0), *self._compared(chain(*names))) for names in parts)
        window = self._newest_first
        return F.lead(tied).over(window).eqNullSafe(tied) & ~F.lead(values).over(window).eqNullSafe(values)

    def _counting(self, versions: DataFrame) -> DataFrame:
        return self.settled.observe(versions, F.count_if(_BY_VALUES).alias(_BY_VALUES))

    def _compared(self, names: Iterable[str]) -> list[SparkColumn]:
        kinds = self.kinds
        return [newness(F.col(quoted(name)), kinds[name.lower()], name, self.table) for name in names]


def note_of_ties(count: int) -> tuple[str, ...]:
    """Returns the note on so many ties settled by values."""
    if not count:
        return ()
    ties, verb = ("1 tie", "was") if count == 1 else (f"{count:,} ties", "were")
    return (f"{ties} of latest_by {verb} settled by the values, as arrival does not tell the rows apart",)


def validate(batch: Batch, rows: QueryRows) -> Validated:
    """Adds to each row its rule violations and whether it deletes its key.

    Raises QualityError LS804 as ``delete_condition``, LS802 as ``add_reasons``.
    """
    table = batch.step.table
    frame = rows.frame.withColumn(DELETE, delete_condition(rows.frame, rows.columns, table))
    without = [(F.col(quoted(key)).isNull(), F.lit(f"key column {key} is null")) for key in table.key]
    # Spark interprets array_compact, which for every row costs more than all else here.
    no_key = F.array_compact(F.array(*(F.when(*each) for each in without)))
    deletes = F.when(F.col(DELETE), _no_time(table))
    has_no_key = reduce(or_, (is_null for is_null, _ in without))
    reasons = F.when(has_no_key, no_key).otherwise(F.coalesce(deletes, rule_reasons(table.checks)))
    return Validated(add_reasons(batch, frame, reasons), table, rows.columns, rows.hidden, rows.marks)


def _no_time(table: TableDefinition) -> SparkColumn:
    """The reason against a delete without a time: it would lose against every version that has one."""
    named = () if table.nulls is Nulls.NEWEST else table.latest_by
    said = "it deletes, and latest_by column {} is null (nulls: newest lets such a delete win)"
    missing = (F.when(F.col(quoted(name)).isNull(), F.lit(said.format(name))) for name in named)
    return F.array_compact(F.array(*missing).cast("array<string>"))


def version(
    alias: str, columns: Sequence[str], kinds: Mapping[str, DataType], table: TableDefinition
) -> SparkColumn:
    """Returns a row's version as one comparable value. Without columns all versions are equal.

    ``kinds``: the columns' types by their names in lower case. ``table``: says how nulls are ordered.
    """
    parts = (newness(F.col(f"{alias}.{quoted(name)}"), kinds[name.lower()], name, table) for name in columns)
    named = [part.alias(name) for part, name in zip(parts, version_parts(columns), strict=True)]
    return F.struct(*named) if named else F.struct(F.lit(0).alias("none"))


def newness(value: SparkColumn, kind: DataType, name: str, table: TableDefinition) -> SparkColumn:
    """Returns a column's value in version order: NULL is the oldest, or the newest if the table says so."""
    found = comparable(value, kind)
    if table.nulls is Nulls.OLDEST or name.lower() not in map(str.lower, table.latest_by):
        return found
    return F.struct(value.isNull().alias("none"), found.alias("value"))


def version_parts(columns: Sequence[str]) -> list[str]:
    """The names of a version's fields, for so many columns."""
    return [f"v{number}" for number in range(len(columns))]


def same_key(left: str, right: str, table: TableDefinition) -> SparkColumn:
    """The join condition of two frames by the table's key (never null)."""
    return all_true(F.col(f"{left}.{quoted(key)}") == F.col(f"{right}.{quoted(key)}") for key in table.key)
