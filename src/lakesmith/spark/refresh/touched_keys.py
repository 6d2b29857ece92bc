"""The keys of changed rows, which an incremental refresh by key recomputes.

The query itself gives them: run over the changed rows alone, it returns the keys they can reach
(``catalyst.key_columns``).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial, reduce

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith import limits
from lakesmith.catalog.progress import AppendRange, append_only_since
from lakesmith.plan.cost import held, is_small_part
from lakesmith.plan.steps import InputRange
from lakesmith.project.definitions import TableName
from lakesmith.quoting import quoted
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.catalyst.key_columns import relaxed
from lakesmith.spark.catalyst.key_origins import Origins
from lakesmith.spark.catalyst.tree import Occurrence, occurrences_of
from lakesmith.spark.frames.row_counts import Kept, RowCounts, counts_of
from lakesmith.spark.iceberg.change_feed import changed_rows
from lakesmith.spark.iceberg.others import place_of
from lakesmith.spark.iceberg.snapshot_files import Bound
from lakesmith.spark.iceberg.snapshots import read_appended, read_version
from lakesmith.spark.iceberg.uncommitted_files import LAST_UPDATED, ROW_ID
from lakesmith.spark.query.table_query import at_occurrences, rows_over
from lakesmith.spark.refresh.key_ranges import (
    Values,
    has_fixed_clock,
    input_conditions,
    own_condition,
    values_of,
)


@dataclass(frozen=True)
class Touched:
    """The computed keys, their number and values, and the counts of the changed rows they come from."""

    keys: DataFrame
    count: int
    values: Mapping[int, Values]
    seen: tuple[RowCounts, ...]

    @property
    def names(self) -> list[str]:
        return self.keys.columns

    @property
    def read(self) -> int:
        """The rows removed and added."""
        return sum(counts_of(each)["rows"] for each in self.seen)

    def among(self, frame: DataFrame, within: str | None = None) -> DataFrame:
        """Returns the frame's rows with one of the keys, in columns of their names or in ``within``."""
        prefix = "r." if within is None else f"r.{quoted(within)}."
        pairs = [
            F.col(f"{prefix}{quoted(name)}").eqNullSafe(F.col(f"k.{quoted(name)}")) for name in self.names
        ]
        same: SparkColumn = reduce(lambda one, other: one & other, pairs)
        return frame.alias("r").join(F.broadcast(self.keys).alias("k"), same, "left_semi")

    def among_stored(self, rows: DataFrame) -> DataFrame:
        """Returns a table's rows that can have one of the keys, by statistics of its files."""
        return rows.where(own_condition(self.names, self.values))

    def inputs(self, batch: Batch, origins: Sequence[Origins]) -> dict[Occurrence, DataFrame]:
        """Returns by input the rows that can have one of the keys, by statistics of files.

        ``origins``: of each of the keys' columns its origin.
        """
        conditions = input_conditions(origins, self.values, has_fixed_clock(batch.spark))
        ends = {item.table: read_version(batch.spark, item.table, item.end) for item in batch.step.inputs}
        whole = at_occurrences(batch, ends)
        return {
            occurrence: rows.where(conditions.get(occurrence, F.lit(True)))
            for occurrence, rows in whole.items()
        }


@dataclass(frozen=True)
class Turn:
    """The change of one input: its ``changed`` occurrences are restricted to its changed rows.

    ``seen`` counts them when they are read; None if another turn counts them.
    """

    changed: frozenset[Occurrence]
    views: Mapping[Occurrence, DataFrame]
    seen: RowCounts | None


def find_touched(batch: Batch, names: Sequence[str], alone: frozenset[TableName], kept: Kept) -> Touched:
    """Returns the keys, columns ``names`` of the query, that the changed rows of any input can reach.

    ``alone``: the tables whose changed rows are given to one occurrence at a time. Raises NotIncremental as
    ``changed_rows``.
    """
    seen: list[RowCounts] = []
    found: list[DataFrame] = []
    for turn in _turns(batch, alone, kept):
        rows = rows_over(batch, turn.views)
        reached = relaxed(rows.frame, rows.occurrences, turn.changed)
        if reached is None:
            # Rows that nothing reads are never counted.
            found.append(rows.frame.select(*map(quoted, names)).limit(0))
            continue
        found.append(reached.select(*map(quoted, names)))
        seen += [turn.seen] if turn.seen else []
    return distinct_keys(reduce(DataFrame.union, found), kept, tuple(seen))


def distinct_keys(rows: DataFrame, kept: Kept, seen: tuple[RowCounts, ...]) -> Touched:
    """The keys of these rows, computed now."""
    keys, counts = kept.cut_and_count(rows.distinct(), F.count(F.lit(1)).alias("keys"))
    return Touched(keys, counts["keys"], values_of(keys, counts["keys"]), seen)


def moved_inputs(batch: Batch) -> list[InputRange]:
    return [item for item in batch.step.inputs if item.start != item.end]


def went_and_came(batch: Batch, item: InputRange, kept: Kept) -> tuple[DataFrame, DataFrame]:
    """The rows of an input that were removed, and those added. Raises NotIncremental as ``changed_rows``."""
    bound = Bound(limits.COMPUTED_WHOLE_ABOVE_CHANGED_PART, _held_besides(batch, item))
    feed = changed_rows(batch.spark, item.table, item.start, item.end, bound)
    changes = kept.enter_context(feed)
    return changes.went.drop(ROW_ID, LAST_UPDATED), changes.came.drop(ROW_ID, LAST_UPDATED)


def only_came(batch: Batch, item: InputRange) -> DataFrame | None:
    """Returns the rows an input gained, if it only gained rows: found without comparing its files.

    None if it did not, or if there may be so many that ``changed_rows`` must decide.
    """
    state = batch.catalog.table(item.table.layer, item.table.name)
    if (
        state is None
        or item.start is None
        or item.end is None
        or place_of(batch.spark, item.table) is not None
    ):
        return None
    added = append_only_since(state, item.start, item.end)
    if not isinstance(added, AppendRange):
        return None
    if not is_small_part(added, state.snapshots[item.end], _held_besides(batch, item)):
        return None
    return read_appended(batch.spark, item.table, item.start, item.end)


def _held_besides(batch: Batch, item: InputRange) -> int:
    return sum(_held(batch, each) for each in batch.step.inputs if each is not item)


def _held(batch: Batch, item: InputRange) -> int:
    """The bytes that an input holds, as far as its summaries say."""
    there = held(batch.catalog.table(item.table.layer, item.table.name), item.end)
    return (there.bytes if there else None) or 0


def counted(rows: DataFrame, seen: RowCounts) -> DataFrame:
    """The rows, counted when they are read."""
    return seen.observe(rows, F.count(F.lit(1)).alias("rows"))


def _turns(batch: Batch, alone: frozenset[TableName], kept: Kept) -> Iterator[Turn]:
    """The turns in which inputs change one after the other: those before are new, those after old.

    What differs between the first result and the last differs before and after one of the turns. (Not so if
    each changed among the others as they are now: a key that both sides of a join have lost is in neither.)
    """
    feeds = {item: went_and_came(batch, item, kept) for item in moved_inputs(batch)}
    positions = {item.table: (item.start, item.end) for item in batch.step.inputs}
    read = cache(partial(read_version, batch.spark))
    moved_on: frozenset[Occurrence] = frozenset()
    for item, (went, came) in feeds.items():
        rows = went.unionByName(came)
        for number, changed in enumerate(_given_at(batch, item.table, one_by_one=item.table in alone)):
            seen = None if number else RowCounts()
            given = rows if seen is None else counted(rows, seen)
            views = {
                each: given if each in changed else read(each.table, positions[each.table][each in moved_on])
                for each in occurrences_of(batch.step)
            }
            yield Turn(changed, views, seen)
            moved_on |= changed


def _given_at(batch: Batch, table: TableName, one_by_one: bool) -> list[frozenset[Occurrence]]:
    """The occurrences of a table for which its changed rows are given at once."""
    occurrences = [occurrence for occurrence in occurrences_of(batch.step) if occurrence.table == table]
    return [frozenset({occurrence}) for occurrence in occurrences] if one_by_one else [frozenset(occurrences)]
