"""What touched keys have in a table's sidecars, brought to what they have to have there: bad rows, and deletes.

Only what differs is written, so that a bad row which stays bad stays the row that it was, of the batch that found it.
"""

from __future__ import annotations

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
"""As what Java reads bytes that are no UTF-8."""
_ROW: Final = ("row", "row_types")
"""What a bad row of a derived table is, which decides its reasons: all else of it says where it came from, which such rows do not
know."""
_CONTENT: Final = ("reasons", *_ROW)


@dataclass(frozen=True)
class SidecarChange:
    """The pins that changed, the bad rows that came, and of these how many break which rule."""

    pins: Mapping[str, Pin]
    bad: int
    checks: Mapping[str, int]


def refresh_quarantine(
    batch: Batch, validated: Validated, touched: Touched, kept: Kept, bad: int
) -> SidecarChange:
    """Brings the quarantine's rows of the touched keys to the ``bad`` ones among ``validated``, which are all of those keys.

    Raises QualityError LS801 when the batch is to be stopped by bad rows and some came; RunError LS611 when the quarantine
    did not take what it was given; NotIncremental where what it has cannot be held against them.
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
    """Brings the tombstones of the touched keys to these ``deletes``, the newest versions of keys; gives the pin if it changed."""
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
    """Those of a quarantine's rows that have one of the keys. They are kept as JSON, which is read in the query's types."""
    types = types_of(validated.frame.schema, touched.names)
    parsed = held.withColumn(_PARSED, F.expr(read_json("row", types)))
    _require_texts(touched)
    keyed = parsed.withColumn(_KEY, F.struct(*map(F.expr, restored(_PARSED, types))))
    return touched.among(keyed, _KEY).select(*_CONTENT)


def _require_texts(touched: Touched) -> None:
    """Raises NotIncremental where a key has bytes that are no text: JSON has one sign for all of them."""
    fields = touched.keys.schema.fields
    known = touched.values if touched.count <= limits.KEYS_LOOKED_AT_UP_TO else {}
    texts = [
        quoted(field.name)
        for number, field in enumerate(fields)
        if "string" in field.dataType.simpleString() and number not in known
    ]
    if texts and not touched.keys.where(F.to_json(F.struct(*texts)).contains(_NO_TEXT)).isEmpty():
        raise NotIncremental("its bad rows are kept as JSON, in which bytes of its keys are not told apart")


def _differing(
    both: DataFrame,
    names: Sequence[str],
    kept: Kept,
    besides: Sequence[tuple[SparkColumn, str]],
    *carried: SparkColumn,
) -> tuple[DataFrame, Mapping[str, int]]:
    """The rows that are there another number of times than they have to be, and how many come and go.

    ``besides``: sums over them; ``carried``: aggregates that they have.
    """
    counted = both.groupBy(*map(quoted, names)).agg(*both_counts(), *carried)
    differing = counted.where(F.col(WANTED) != F.col(THERE))
    return kept.cut_and_count(differing, *totals([(more(), "came"), (less(), "went"), *besides]))


def _write_bad(batch: Batch, differing: DataFrame, came: int, went: int) -> dict[str, Pin]:
    """Takes all rows away that are there too often, and writes them again as often as they have to be there."""
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
