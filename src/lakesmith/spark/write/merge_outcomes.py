"""The merge outcome of each new version of a key, given the existing versions and the tombstones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from lakesmith import limits
from lakesmith.quoting import literal, quoted
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.batch.sidecar import read_tombstones, tombstone_columns
from lakesmith.spark.frames.comparable import equal_in, has_equality
from lakesmith.spark.frames.sql_text import all_of, case
from lakesmith.spark.iceberg.snapshots import read_version
from lakesmith.spark.validation.key_versions import ARRIVED, Validated, same_key, version, version_parts
from lakesmith.spark.validation.rules import DELETE
from lakesmith.spark.write.replace_rows import by_file, place
from lakesmith.spark.write.rows_at import rows_at

OUTCOME: Final = "_lakesmith_outcome"
"""insert, update, delete, unchanged, older (than the known version) or absent (nothing to delete)."""

PLACES: Final = "_lakesmith_places"
"""The places of existing rows with a version's key, as ``replace_rows.place`` has them; empty without any."""

REPLACED: Final = f"{OUTCOME} IN ('update', 'delete')"
"""SQL that is true for the versions whose key loses its row."""

_THERE = "_lakesmith_there"
_TIE = "_lakesmith_tie"
_SETTLED = "_lakesmith_settled"
_VERSION = "_lakesmith_version"
_TIED = f"{_TIE} AND {OUTCOME} = 'update'"


@dataclass(frozen=True)
class Outcomes:
    """The number of winning versions by outcome; ``ties`` have the known version.

    ``settled``: the ties settled by values. ``oldest``: the first batch that ingested one of the ties, 0 if
    not known of each; None without any. ``places``: the rows to update or delete, if requested; ``tied``:
    those of them with the version of their new row.
    """

    insert: int
    update: int
    delete: int
    unchanged: int
    older: int
    absent: int
    ties: int
    settled: int
    oldest: int | None
    places: list[Row]
    tied: list[Row]

    @property
    def keys(self) -> int:
        """The keys of the new rows' versions."""
        return self.insert + self.update + self.delete + self.unchanged + self.older + self.absent


@dataclass(frozen=True)
class Winners:
    """The newest new version of each key (``Validated.winners``, computed), and how many they are."""

    frame: DataFrame
    count: int


def find_outcomes(batch: Batch, validated: Validated, winners: Winners, with_places: bool) -> DataFrame:
    """Returns the winning versions with their outcomes, and the places of their rows if requested.

    One scan of the table's key and version columns.
    """
    table, order = batch.step.table, (*batch.step.table.latest_by, *validated.ties)
    keys = winners.frame.select(*map(quoted, table.key))
    known = _known_versions(batch, validated.ties, with_places)
    hits = known.alias("k").join(sent(keys.alias("w"), winners.count), same_key("k", "w", table), "left_semi")
    newest = hits.groupBy(*map(quoted, table.key)).agg(
        F.expr(f"max({version('k', order, validated.kinds, table)}) AS {_VERSION}"),
        F.expr(f"max({_THERE}) AS {_THERE}"),
        *([F.expr(f"collect_list({PLACES}) AS {PLACES}")] if with_places else []),
    )
    hit = sent(newest, winners.count).alias("k")
    joined = winners.frame.alias("n").join(hit, same_key("n", "k", table), "left")
    places = [f"k.{PLACES}"] if with_places else []
    new, there = version("n", order, validated.kinds, table), f"k.{_VERSION}"
    ties = f"coalesce({new} = {there}, false)"
    parts = (f"{new}.{name} <=> {there}.{name}" for name in version_parts(table.latest_by))
    settled = all_of((f"{there} IS NOT NULL", f"NOT {ties}", *parts)) if validated.ties else "false"
    outcome = f"{_outcome(f'{new} < {there}')} AS {OUTCOME}"
    return joined.selectExpr("n.*", *places, outcome, f"{ties} AS {_TIE}", f"{settled} AS {_SETTLED}")


def settle_ties(
    batch: Batch, with_outcome: DataFrame, validated: Validated, rows: int, tied: Sequence[Row]
) -> DataFrame:
    """Returns the same with the outcome ``unchanged`` for a key that equals its current row.

    Such a row must not be written again: downstream tables would see a change. Rows with a column that Spark
    cannot compare are written. The current rows are read at the places ``tied``, or by a scan.
    """
    if not all(has_equality(validated.kinds[name.lower()]) for name in validated.columns):
        return with_outcome
    table = batch.step.table
    again = with_outcome.where(_TIED).select(*map(quoted, validated.columns))
    version_there = read_version(batch.spark, batch.name, batch.step.base.snapshot)
    stored = {field.name.lower(): field.dataType for field in version_there.schema.fields}
    kinds = {name: validated.kinds[name.lower()] for name in validated.columns}
    places = by_file((each.file, each.pos) for each in tied)
    at_places = rows_at(batch, places, {name: stored[name.lower()] for name in kinds})
    there = version_there if at_places is None else at_places
    same = equal_in("t", "s", kinds, with_signs=True)
    both = there.alias("t").join(sent(again.alias("s"), rows), [same_key("t", "s", table), same], "left_semi")
    kept = both.select(*map(quoted, table.key)).distinct().withColumn(_THERE, F.lit(True))
    marked = with_outcome.alias("n").join(sent(kept.alias("k"), rows), same_key("n", "k", table), "left")
    outcome = F.when(F.col(f"k.{_THERE}"), "unchanged").otherwise(F.col(f"n.{OUTCOME}"))
    return marked.select("n.*", outcome.alias(_THERE)).drop(OUTCOME).withColumnRenamed(_THERE, OUTCOME)


def count_outcomes(with_outcome: DataFrame) -> Outcomes:
    """Counts them, and collects the places of changes, in one pass."""
    names = ("insert", "update", "delete", "unchanged", "older", "absent")
    counts = [f"count_if({OUTCOME} = '{name}') AS {name}" for name in names]
    ties = f"count_if({_TIE}) AS ties", f"count_if({_SETTLED}) AS settled"
    oldest = f"min(IF({_TIE}, coalesce({ARRIVED}, 0), NULL)) AS oldest"
    has_places = PLACES in with_outcome.columns
    gathered = [
        f"{_gathered(of, has_places)} AS {name}" for of, name in ((REPLACED, "places"), (_TIED, "tied"))
    ]
    row: Row = with_outcome.selectExpr(*counts, *ties, oldest, *gathered).collect()[0]
    return Outcomes(**row.asDict())


def sent(rows: DataFrame, count: int) -> DataFrame:
    """Rows for a join: broadcast, unless they are too many for the driver's memory."""
    return F.broadcast(rows) if count <= limits.KEYS_SENT_TO_EVERY_TASK else rows


def _gathered(of: str, has_places: bool) -> str:
    return f"flatten(collect_list(IF({of}, {PLACES}, NULL)))" if has_places else "array()"


def _known_versions(batch: Batch, ties: tuple[str, ...], with_places: bool) -> DataFrame:
    """Key and version of the existing rows (``_THERE``) and of the tombstones."""
    columns = tombstone_columns(batch)
    # Pinned, not read from the branch: if Spark computes this again after the merge, it must not see the
    # merge.
    there = read_version(batch.spark, batch.name, batch.step.base.snapshot)
    names = (quoted(name) for name in dict.fromkeys((*columns, *ties)) if name != DELETE)
    deletes = [f"false AS {DELETE}"] if DELETE in ties else []
    places = [f"{place(batch)} AS {PLACES}"] if with_places else []
    there = there.selectExpr(*names, *deletes, f"true AS {_THERE}", *places)
    tombstones = read_tombstones(batch)
    if tombstones is None:
        return there
    tombstones = tombstones.withColumn(_THERE, F.lit(False))
    if DELETE in ties:
        tombstones = tombstones.withColumn(DELETE, F.lit(True))
    return there.unionByName(tombstones, allowMissingColumns=True)


def _outcome(older: str) -> str:
    is_there, deletes = f"coalesce(k.{_THERE}, false)", f"n.{DELETE}"
    outcomes = (
        (older, "older"),
        (f"{is_there} AND {deletes}", "delete"),
        (is_there, "update"),
        (deletes, "absent"),
    )
    return case(((test, literal(outcome)) for test, outcome in outcomes), literal("insert"))
