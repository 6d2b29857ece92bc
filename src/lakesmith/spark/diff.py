"""The rows that changed in a table between two points of its history, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from lakesmith.errors import RunError
from lakesmith.execute.engine import NotIncremental
from lakesmith.project.definitions import TableName
from lakesmith.quoting import own, quoted
from lakesmith.spark.frames.comparable import equal_in
from lakesmith.spark.iceberg.change_feed import Changes, changed_rows, require_comparable, without_equal
from lakesmith.spark.iceberg.refs import explaining
from lakesmith.spark.iceberg.uncommitted_files import LAST_UPDATED, ROW_ID
from lakesmith.spark.start.session import SessionHandle

CHANGE = own("change")
"""The column that says what became of a row: one of the texts below."""
DELETED, INSERTED, BEFORE, AFTER = "deleted", "inserted", "before", "after"


@dataclass(frozen=True, slots=True)
class Span:
    """The table and two snapshots. ``key``: the columns that identify rows; empty: nothing declared."""

    name: TableName
    start: int
    end: int
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows by outcome; ``columns``: for updated rows, in how many each column differs."""

    inserted: int
    deleted: int
    updated: int
    columns: Mapping[str, int]


@dataclass(frozen=True)
class Difference:
    """``rows``: the table's columns after ``CHANGE``; an updated row twice: before and after."""

    counts: Counts
    rows: DataFrame


@contextmanager
def difference(session: SessionHandle, span: Span, secrets: Sequence[str]) -> Iterator[Difference]:
    """Yields the changed rows in the table's present columns. Rows are one before and after an update if they
    have the same key, else the same row id. Compactions are no change. Raises RunError LS622."""
    with explaining(session, secrets):
        try:
            with changed_rows(session.spark, span.name, span.start, span.end) as changes:
                yield _compared(changes, span)
        except NotIncremental as refused:
            what = f"what changed in {span.name} cannot be computed"
            hint = "compare the two by a query with EXCEPT ALL, each read with query --as-of"
            raise RunError.of("LS622", what, None, found=refused.reason, hint=hint) from refused


def _compared(changes: Changes, span: Span) -> Difference:
    went, came = changes.went, changes.came
    columns = [name for name in went.columns if name not in (ROW_ID, LAST_UPDATED)]
    keys = list(span.key) if set(span.key) <= set(columns) else []
    pairing = keys or ([ROW_ID] if changes.by_id else [])
    kinds = {field.name: field.dataType for field in came.schema.fields if field.name in columns}
    require_comparable(span.name, came)
    updated = _pairs(went, came, pairing, kinds) if pairing else None
    went, came = (_without(rows, other, pairing) for rows, other in ((went, came), (came, went)))
    gone, new = without_equal(went, came)
    parts = [_said(gone, columns, DELETED), _said(new, columns, INSERTED)]
    if updated is not None:
        parts += [_side(updated, "w", columns, BEFORE), _side(updated, "c", columns, AFTER)]
    rows = parts[0]
    for part in parts[1:]:
        rows = rows.unionByName(part)
    rows = rows.persist()
    return Difference(_counts(rows, updated, kinds), _in_order(rows, keys))


def _pairs(
    went: DataFrame, came: DataFrame, pairing: Sequence[str], kinds: Mapping[str, DataType]
) -> DataFrame:
    """Returns pairs of rows before (``w``) and after (``c``) that differ."""
    same = _same(pairing, "w", "c")
    return went.alias("w").join(came.alias("c"), same).where(~equal_in("w", "c", kinds, with_signs=True))


def _same(columns: Sequence[str], one: str, other: str) -> SparkColumn:
    found = F.lit(True)
    for name in columns:
        found &= F.col(f"{one}.{quoted(name)}").eqNullSafe(F.col(f"{other}.{quoted(name)}"))
    return found


def _without(rows: DataFrame, others: DataFrame, pairing: Sequence[str]) -> DataFrame:
    if not pairing:
        return rows
    return rows.alias("r").join(others.alias("o"), _same(pairing, "r", "o"), "left_anti")


def _said(rows: DataFrame, columns: Sequence[str], change: str) -> DataFrame:
    return rows.select(F.lit(change).alias(CHANGE), *map(quoted, columns))


def _side(pairs: DataFrame, side: str, columns: Sequence[str], change: str) -> DataFrame:
    return pairs.select(F.lit(change).alias(CHANGE), *(F.col(f"{side}.{quoted(name)}") for name in columns))


def _counts(rows: DataFrame, updated: DataFrame | None, kinds: Mapping[str, DataType]) -> Counts:
    by_change = {row[0]: row[1] for row in rows.groupBy(CHANGE).count().collect()}
    columns: dict[str, int] = {}
    if updated is not None and by_change.get(AFTER):
        differs = [
            F.count_if(~equal_in("w", "c", {name: kind}, with_signs=True)).alias(name)
            for name, kind in kinds.items()
        ]
        found = updated.agg(*differs).collect()[0].asDict()
        columns = {name: number for name, number in found.items() if number}
    return Counts(by_change.get(INSERTED, 0), by_change.get(DELETED, 0), by_change.get(AFTER, 0), columns)


def _in_order(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    order = F.array_position(F.array(*map(F.lit, (DELETED, BEFORE, AFTER, INSERTED))), F.col(CHANGE))
    return rows.orderBy(*map(quoted, keys), order)
