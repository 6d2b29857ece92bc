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
from functools import cached_property, reduce
from itertools import chain
from operator import or_
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from lakesmith.project.definitions import Nulls, TableDefinition
from lakesmith.quoting import own, quoted
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.batch.quarantine import REASONS
from lakesmith.spark.catalyst.arrival import batch_of
from lakesmith.spark.frames.comparable import comparable, has_equality
from lakesmith.spark.frames.row_counts import RowCounts, counts_of
from lakesmith.spark.frames.sql_text import all_of
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
        return self.frame.where(f"size({REASONS}) = 0")

    @property
    def bad(self) -> DataFrame:
        """The rows that go to quarantine."""
        return self.frame.where(f"size({REASONS}) > 0")

    def counts(self) -> list[SparkColumn]:
        """Aggregates over all rows: ``out``, ``bad`` and one per rule."""
        return [
            F.expr("count(1) AS out"),
            F.expr(f"count_if(size({REASONS}) > 0) AS bad"),
            *rule_counts(self.table.checks),
            *(F.expr(f"count_if({mark} IS NULL) AS {mark}") for _, mark in self.marks),
        ]

    def unknown(self, counts: Mapping[str, int]) -> dict[str, int]:
        """By lookup the number of rows without a match there, of ``counts``."""
        return {name: counts[mark] for name, mark in self.marks}

    def observed(self, seen: RowCounts) -> Validated:
        """The same rows, counted into ``seen`` when they are read."""
        return replace(self, frame=seen.observe(self.frame, *self.counts()))

    def winners(self) -> DataFrame:
        """The newest good version of each key: the table's columns, ``DELETE`` and ``ARRIVED``."""
        arrived = batch_of(self.hidden[0]) if self.hidden else "CAST(NULL AS bigint)"
        rank = f"row_number() OVER ({self._newest_first}) AS {_RANK}"
        ranked = self.good.selectExpr("*", rank, f"{self._by_values()} AS {_BY_VALUES}")
        good = self._counting(ranked.where(f"{_RANK} = 1"))
        return good.selectExpr(*map(quoted, self.columns), DELETE, f"{arrived} AS {ARRIVED}")

    def versions(self) -> DataFrame:
        """All valid versions of each key with ``DELETE``. One winner of each tie in ``latest_by``."""
        order = f"struct({', '.join(map(quoted, self.table.latest_by))})"
        wins = f"NOT (lag({order}) OVER ({self._newest_first}) <=> {order}) AS {_WINS}"
        good = self.good.selectExpr("*", wins, f"{self._by_values()} AS {_BY_VALUES}")
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

    @cached_property
    def kinds(self) -> dict[str, DataType]:
        """The types of the frame's columns, by their names in lower case."""
        return {field.name.lower(): field.dataType for field in self.frame.schema.fields}

    @property
    def _settling(self) -> tuple[str, ...]:
        settled, kinds = {name.lower() for name in (*self.table.key, *self.table.latest_by)}, self.kinds
        names = (name for name in self.columns if name.lower() not in settled)
        return (DELETE, *(name for name in names if has_equality(kinds[name.lower()])))

    @property
    def _newest_first(self) -> str:
        """SQL of the window that has the versions of a key in order. Values come last: a query may give
        several rows of one arrival."""
        newness = self._compared((*self.table.latest_by, *self.hidden, *self._settling))
        order = ", ".join(f"{value} DESC NULLS LAST" for value in newness)
        return f"PARTITION BY {', '.join(map(quoted, self.table.key))} ORDER BY {order}"

    def _by_values(self) -> str:
        """SQL of whether nothing but its values puts a version before the next one."""
        parts = (self.table.latest_by, self.hidden), (self._settling,)
        tied, values = (f"struct({', '.join(('0', *self._compared(chain(*names))))})" for names in parts)
        window = self._newest_first
        return (
            f"(lead({tied}) OVER ({window}) <=> {tied}) AND NOT (lead({values}) OVER ({window}) <=> {values})"
        )

    def _counting(self, versions: DataFrame) -> DataFrame:
        return self.settled.observe(versions, F.expr(f"count_if({_BY_VALUES}) AS {_BY_VALUES}"))

    def _compared(self, names: Iterable[str]) -> list[str]:
        kinds = self.kinds
        return [newness(quoted(name), kinds[name.lower()], name, self.table) for name in names]


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


def version(alias: str, columns: Sequence[str], kinds: Mapping[str, DataType], table: TableDefinition) -> str:
    """Returns SQL of a row's version as one comparable value. Without columns all versions are equal.

    ``kinds``: the columns' types by their names in lower case. ``table``: says how nulls are ordered.
    """
    parts = (newness(f"{alias}.{quoted(name)}", kinds[name.lower()], name, table) for name in columns)
    named = [f"{part} AS {name}" for part, name in zip(parts, version_parts(columns), strict=True)]
    return f"struct({', '.join(named) or '0 AS none'})"


def newness(value: str, kind: DataType, name: str, table: TableDefinition) -> str:
    """Returns SQL of a value in version order: NULL is the oldest, or the newest if the table says so."""
    found = comparable(value, kind)
    if table.nulls is Nulls.OLDEST or name.lower() not in map(str.lower, table.latest_by):
        return found
    return f"struct({value} IS NULL AS none, {found} AS value)"


def version_parts(columns: Sequence[str]) -> list[str]:
    """The names of a version's fields, for so many columns."""
    return [f"v{number}" for number in range(len(columns))]


def same_key(left: str, right: str, table: TableDefinition) -> SparkColumn:
    """The join condition of two frames by the table's key (never null)."""
    return F.expr(all_of(f"{left}.{quoted(key)} = {right}.{quoted(key)}" for key in table.key))
