"""Updates the bad rows and deletes of touched keys in a table's sidecars.

Only differences are written: a bad row that stays bad stays the row of the batch that found it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith import limits
from lakesmith.catalog.record import Pin
from lakesmith.execute.engine import NotIncremental
from lakesmith.quoting import quoted
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.batch.quarantine import COLUMNS, content_of, miscounted, with_batch
from lakesmith.spark.batch.sidecar import (
    SidecarKind,
    SidecarWriter,
    read_pinned,
    read_tombstones,
    tombstone_columns,
    write_tombstones,
)
from lakesmith.spark.frames.comparable import THERE, WANTED, both_counts, less, more, repeated, side, totals
from lakesmith.spark.frames.exact_json import read_json, restored, types_of
from lakesmith.spark.frames.row_counts import Kept, RowCounts, counts_of
from lakesmith.spark.refresh.touched_keys import Touched
from lakesmith.spark.validation.key_versions import Validated
from lakesmith.spark.validation.rules import stop_if_asked

_KEY: Final = "_lakesmith_key"
_PARSED: Final = "_lakesmith_parsed"
_NO_TEXT: Final = "\ufffd"
"""Java's value for bytes that are not UTF-8."""
_ROW: Final = ("row", "row_types")
"""The columns that identify a bad row of a derived table and determine its reasons."""
_CONTENT: Final = ("reasons", *_ROW)


@dataclass(frozen=True)
class SidecarChange:
    """The changed pins, the number of new bad rows, and how many of these break which rule."""

    pins: Mapping[str, Pin]
    bad: int
    checks: Mapping[str, int]


def refresh_quarantine(
    batch: Batch, validated: Validated, touched: Touched, kept: Kept, bad: int
) -> SidecarChange:
    """Replaces the quarantined rows of the touched keys by the ``bad`` ones of ``validated``.

    Raises QualityError LS801 if the batch is stopped by new bad rows; RunError LS611 if the quarantine did
    not accept rows; NotIncremental if its rows cannot be compared.
    """
    checks = {rule.text: 0 for rule in validated.table.checks}
    held = read_pinned(batch, SidecarKind.QUARANTINE)
    if not bad and held is None:
        return SidecarChange({}, 0, checks)
    wanted = content_of(validated.bad, validated.columns)
    both, others = side(wanted, WANTED), RowCounts()
    if held is not None:
        types = types_of(validated.frame.schema, validated.columns)
        seen = others.observe(held, F.count_if(F.col("row_types") != types).alias("others"))
        both = both.unionByName(side(_of_keys(seen, validated, touched), THERE))
    broken = [
        (F.when(F.array_contains("reasons", rule), more()), f"rule_{number}")
        for number, rule in enumerate(checks)
    ]
    # Of one row the reasons may be written in other words, or in another order, than when it was found.
    reasons = F.max_by("reasons", WANTED).alias("reasons")
    differing, counts = _differing(both, _ROW, kept, broken, reasons)
    if held is not None and counts_of(others)["others"]:
        raise NotIncremental("its bad rows are kept in other types than its query gives now")
    if not counts["came"] and not counts["went"]:
        return SidecarChange({}, 0, checks)
    stop_if_asked(batch, counts["came"], validated.bad)
    pins = _write_bad(batch, differing, counts["came"], counts["went"])
    return SidecarChange(
        pins, counts["came"], {rule: counts[f"rule_{number}"] for number, rule in enumerate(checks)}
    )


def refresh_tombstones(
    batch: Batch, deletes: DataFrame | None, touched: Touched, kept: Kept
) -> dict[str, Pin]:
    """Replaces the tombstones of the touched keys by ``deletes``; returns a changed pin."""
    held = read_tombstones(batch)
    names = tombstone_columns(batch)
    columns = [F.col(quoted(name)) for name in names]
    found = [side(deletes.select(*columns), WANTED)] if deletes is not None else []
    if held is not None:
        found.append(side(touched.among(touched.among_stored(held)).select(*columns), THERE))
    if not found:
        return {}
    both = found[0] if len(found) == 1 else found[0].unionByName(found[1])
    differing, counts = _differing(both, names, kept, [])
    new = differing.where(more() > 0)
    stale = differing.where(F.col(WANTED) == 0).select(*columns) if counts["went"] else None
    return write_tombstones(batch, new, counts["came"], stale)


def _of_keys(held: DataFrame, validated: Validated, touched: Touched) -> DataFrame:
    """Returns the quarantined rows that have one of the keys, read from JSON in the query's types."""
    types = types_of(validated.frame.schema, touched.names)
    parsed = held.withColumn(_PARSED, F.expr(read_json("row", types)))
    _require_texts(touched)
    keyed = parsed.withColumn(_KEY, F.struct(*map(F.expr, restored(_PARSED, types))))
    return touched.among(keyed, _KEY).select(*_CONTENT)


def _require_texts(touched: Touched) -> None:
    """Raises NotIncremental if a key has bytes that are not text: JSON has one sign for all of them."""
    fields = touched.keys.schema.fields
    known = touched.values if touched.count <= limits.KEYS_LOOKED_AT_UP_TO else {}
    texts = [
        quoted(field.name)
        for number, field in enumerate(fields)
        if "string" in field.dataType.simpleString() and number not in known
    ]
    if texts and not touched.keys.where(F.to_json(F.struct(*texts)).contains(_NO_TEXT)).isEmpty():
        raise NotIncremental("its bad rows are kept as JSON, which does not distinguish bytes of its keys")


def _differing(
    both: DataFrame,
    names: Sequence[str],
    kept: Kept,
    besides: Sequence[tuple[SparkColumn, str]],
    *carried: SparkColumn,
) -> tuple[DataFrame, Mapping[str, int]]:
    """Returns the rows whose current count differs from the wanted one, and how many come and go.

    ``besides``: sums over them; ``carried``: their aggregates.
    """
    counted = both.groupBy(*map(quoted, names)).agg(*both_counts(), *carried)
    differing = counted.where(F.col(WANTED) != F.col(THERE))
    return kept.cut_and_count(differing, *totals([(more(), "came"), (less(), "went"), *besides]))


def _write_bad(batch: Batch, differing: DataFrame, came: int, went: int) -> dict[str, Pin]:
    """Deletes all rows that are there too often, and writes them again as often as wanted."""
    batch.say(f"setting {came} bad rows aside, and taking {went} out")
    writer = SidecarWriter(batch, SidecarKind.QUARANTINE, COLUMNS)
    writer.open()
    before = writer.live_rows()
    if went:
        writer.take_out(differing.where(less() > 0).select(*_ROW))
    again = repeated(differing, F.when(less() > 0, F.col(WANTED)).otherwise(more()))
    writer.append(with_batch(batch, again.select(*_CONTENT)))
    if writer.live_rows() != before + came - went:
        raise miscounted(batch, before + came - went, writer.live_rows())
    batch.pass_point("after-quarantine")
    return {writer.kind.value: writer.pin()}
