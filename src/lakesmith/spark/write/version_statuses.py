"""The status of each new version of a key, given what a table that keeps versions has of the key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from lakesmith import limits
from lakesmith.project.definitions import IS_CURRENT, VALID_FROM, VALID_TO, VALIDITY_COLUMNS, TableDefinition
from lakesmith.quoting import quoted
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.batch.sidecar import read_tombstones
from lakesmith.spark.frames.comparable import all_true, equal_in
from lakesmith.spark.frames.row_counts import Kept
from lakesmith.spark.iceberg.snapshots import column_types, read_version
from lakesmith.spark.validation.key_versions import Validated, same_key
from lakesmith.spark.validation.rules import DELETE
from lakesmith.spark.write.replace_rows import place

STANDING: Final = "_lakesmith_standing"
"""newer (than all known versions of its key), late (in the past), or without effect: again (it exists),
continued (inside an equal row), absent (a delete where nothing was)."""

STANDINGS: Final = ("newer", "late", "again", "continued", "absent")

PLACE: Final = "_lakesmith_place"

_AGAIN, _INSIDE, _COVERED = "_lakesmith_again", "_lakesmith_inside", "_lakesmith_covered"
_NEWEST: Final = "_lakesmith_newest"


@dataclass(frozen=True)
class Task:
    """A batch of such a table.

    ``columns`` are the query's, ``tracked`` those that distinguish versions, ``ties`` settles ties without
    arrival. ``whole``: the versions of late keys, once they are read.
    """

    batch: Batch
    columns: tuple[str, ...]
    tracked: tuple[str, ...]
    ties: tuple[str, ...]
    kept: Kept
    whole: list[Validated] = field(default_factory=list)

    @property
    def table(self) -> TableDefinition:
        return self.batch.step.table

    @property
    def types(self) -> dict[str, DataType]:
        """The types of the table's columns, by their names in lower case."""
        return column_types(self.batch.spark, self.batch.name)

    def typed(self, frame: DataFrame) -> DataFrame:
        """Returns the frame in the table's types: values of two types are never compared."""
        types = self.types
        return frame.withColumns(
            {name: F.col(quoted(name)).cast(types[name.lower()]) for name in self.columns}
        )

    def rows_of(self, versions: DataFrame, only_current: bool) -> DataFrame:
        """The existing rows of these versions' keys: the table's columns and ``PLACE``."""
        there = read_version(self.batch.spark, self.batch.name, self.batch.step.base.snapshot)
        if only_current:
            there = there.where(IS_CURRENT)
        columns = [F.col(quoted(name)).alias(name) for name in (*self.columns, *VALIDITY_COLUMNS)]
        return only(there.select(*columns, F.expr(place(self.batch)).alias(PLACE)), versions, self.table)

    def same(self, left: str, right: str, names: Sequence[str], frame: DataFrame) -> SparkColumn:
        """Whether two aliased rows are equal in these columns; False if unknown. ``frame`` has the types."""
        return equal_in(left, right, _kinds(frame, names))

    def identical(self, left: str, right: str, names: Sequence[str], frame: DataFrame) -> SparkColumn:
        """As ``same``, and no zero has another sign."""
        return equal_in(left, right, _kinds(frame, names), with_signs=True)


@dataclass(frozen=True)
class Standings:
    """The new versions with ``STANDING``, their ``counts`` by it, and the ``current`` rows of their keys.

    ``late``: the keys computed from their whole history, and ``past`` all of their rows; both None without
    any.
    """

    versions: DataFrame
    counts: Mapping[str, int]
    current: DataFrame
    late: DataFrame | None = None
    past: DataFrame | None = None


def _kinds(frame: DataFrame, names: Sequence[str]) -> dict[str, DataType]:
    types = {field.name.lower(): field.dataType for field in frame.schema.fields}
    return {name: types[name.lower()] for name in names}


def _standing_counts() -> list[SparkColumn]:
    return [F.count_if(F.col(STANDING) == name).alias(name) for name in STANDINGS]


def find_standings(task: Task, new: DataFrame, count: int) -> Standings:
    """Returns the status of the ``count`` new versions, by current rows, for late ones by all rows."""
    current = task.kept.cut(task.rows_of(new, only_current=True))
    few = count <= limits.ROWS_SENT_TO_EVERY_TASK
    held = _against_newest(task, new, F.broadcast(current) if few else current)
    marked, counts = task.kept.cut_and_count(held, *_standing_counts())
    if not counts["late"]:
        return Standings(marked, counts, current)
    task.batch.say(f"looking where {counts['late']} late versions belong")
    behind = marked.where(F.col(STANDING) == "late")
    past = task.kept.cut(task.rows_of(behind, only_current=False))
    found = marked.where(F.col(STANDING) != "late").unionByName(_against_past(task, behind, past))
    marked, counts = task.kept.cut_and_count(found, *_standing_counts())
    if not counts["late"]:
        return Standings(marked, counts, current)
    keys = marked.where(F.col(STANDING) == "late").select(*map(quoted, task.table.key))
    late = task.kept.cut(keys.distinct())
    return Standings(marked, counts, current, late, only(past, late, task.table))


def only(frame: DataFrame, keys: DataFrame, table: TableDefinition) -> DataFrame:
    """The frame's rows with a key in ``keys``, which are few enough to broadcast (``can_replace``)."""
    few = F.broadcast(keys.select(*map(quoted, table.key)).alias("k"))
    return frame.alias("f").join(few, same_key("f", "k", table), "left_semi")


def without(frame: DataFrame, keys: DataFrame | None, table: TableDefinition) -> DataFrame:
    """The frame's rows with a key not in ``keys``."""
    if keys is None:
        return frame
    few = F.broadcast(keys.select(*map(quoted, table.key)).alias("k"))
    return frame.alias("f").join(few, same_key("f", "k", table), "left_anti")


def same_version(left: str, right: str, names: Sequence[str], table: TableDefinition) -> SparkColumn:
    """The join condition of two frames by key and, null-safe, the columns ``names``."""
    pairs = [F.col(f"{left}.{quoted(name)}").eqNullSafe(F.col(f"{right}.{quoted(name)}")) for name in names]
    return all_true([same_key(left, right, table), *pairs])


def _order(alias: str, table: TableDefinition) -> SparkColumn:
    """The position of a version in its key as one comparable value; nulls are the oldest."""
    parts = (F.col(f"{alias}.{quoted(name)}").alias(f"o{at}") for at, name in enumerate(table.latest_by))
    return F.struct(*parts)


def _against_newest(task: Task, new: DataFrame, current: DataFrame) -> DataFrame:
    """newer, again or late: compared with the current row or delete, the newest known version of the key."""
    table = task.table
    joined = new.alias("n").join(current.alias("c"), same_key("n", "c", table), "left")
    order, is_there = _order("n", table), F.col(f"c.{PLACE}").isNotNull()
    newest = F.when(is_there, _order("c", table))
    again = is_there & ~F.col(f"n.{DELETE}") & task.identical("n", "c", task.columns, new)
    if (tombstones := _tombstones(task, new)) is not None:
        joined = joined.join(tombstones.alias("b"), same_key("n", "b", table), "left")
        newest = newest.otherwise(F.col(f"b.{_NEWEST}"))
        again = F.when(is_there, again).otherwise(F.col(f"n.{DELETE}"))
    standing = (
        F.when(newest.isNull() | (order > newest), "newer")
        .when(again & (order == newest), "again")
        .otherwise("late")
    )
    return joined.select("n.*", standing.alias(STANDING))


def _tombstones(task: Task, new: DataFrame) -> DataFrame | None:
    """The newest tombstone of each key of the new versions, in the table's types."""
    tombstones = read_tombstones(task.batch)
    if tombstones is None:
        return None
    names = dict.fromkeys((*task.table.key, *task.table.latest_by))
    types = task.types
    cast = tombstones.select(*(F.col(quoted(name)).cast(types[name.lower()]).alias(name) for name in names))
    newest = F.max(_order("b", task.table)).alias(_NEWEST)
    return only(cast, new, task.table).alias("b").groupBy(*map(quoted, task.table.key)).agg(newest)


def _against_past(task: Task, behind: DataFrame, past: DataFrame) -> DataFrame:
    """again, continued, absent or late: compared with all rows of the key.

    A version without effect needs no other version: it exists, or lies between the first and the newest
    version of a row with its tracked values, or deletes at a time without a row.
    """
    names, by = behind.columns, list(dict.fromkeys((*task.table.key, *task.table.latest_by)))
    settled = {STANDING, *map(str.lower, by)}
    joined = behind.alias("n").join(past.alias("r"), same_key("n", "r", task.table), "left")
    flagged = joined.select(
        "n.*",
        (~F.col(f"n.{DELETE}") & _is_again(task, behind)).alias(_AGAIN),
        (~F.col(f"n.{DELETE}") & _is_inside(task, behind)).alias(_INSIDE),
        _is_covered(task.table).alias(_COVERED),
    )
    flags = [F.coalesce(F.bool_or(flag), F.lit(False)).alias(flag) for flag in (_AGAIN, _INSIDE, _COVERED)]
    others = [F.first(quoted(name)).alias(name) for name in names if name.lower() not in settled]
    standing = (
        F.when(F.col(DELETE), F.when(F.col(_COVERED), "late").otherwise("absent"))
        .when(F.col(_AGAIN), "again")
        .when(F.col(_INSIDE), "continued")
        .otherwise("late")
    )
    found = flagged.groupBy(*map(quoted, by)).agg(*others, *flags).withColumn(STANDING, standing)
    return found.select(*map(quoted, names))


def _is_again(task: Task, behind: DataFrame) -> SparkColumn:
    is_at = _order("n", task.table) == _order("r", task.table)
    return is_at & task.identical("n", "r", task.columns, behind)


def _is_inside(task: Task, behind: DataFrame) -> SparkColumn:
    """Of a row's first version only the first ``latest_by`` is known: with more, it must be later."""
    after, at = _time("n", task.table.latest_by[0]), _time("r", VALID_FROM)
    begun = after >= at if len(task.table.latest_by) == 1 else after > at
    before = _order("n", task.table) < _order("r", task.table)
    return begun & before & task.same("n", "r", task.tracked, behind)


def _is_covered(table: TableDefinition) -> SparkColumn:
    """Whether a row is valid at a version's time, and at its ends if other columns order versions."""
    time, end = _time("n", table.latest_by[0]), _time("r", VALID_TO)
    ends_after = end > time if len(table.latest_by) == 1 else end >= time
    return (time >= _time("r", VALID_FROM)) & (F.col(f"r.{IS_CURRENT}") | ends_after)


def _time(alias: str, name: str) -> SparkColumn:
    """A time as a value with null as the oldest."""
    return F.struct(F.col(f"{alias}.{quoted(name)}").alias("at"))
