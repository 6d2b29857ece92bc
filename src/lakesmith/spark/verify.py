"""Verifies tables in one session: each is computed again and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from lakesmith.errors import LakesmithError
from lakesmith.execute.decide import UNDECLARED
from lakesmith.execute.lake import Lake
from lakesmith.execute.verify import (
    RowDifference,
    Verdict,
    Verification,
    VerifyStarted,
    Watcher,
    failed,
    skipped,
)
from lakesmith.plan.steps import TableStep
from lakesmith.project.definitions import PythonQuery, SqlQuery, TableName
from lakesmith.quoting import own, quoted
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.catalyst.tree import analysed, chance_in
from lakesmith.spark.engine import explained
from lakesmith.spark.frames.comparable import (
    SIDES,
    THERE,
    WANTED,
    both_counts,
    comparable,
    has_equality,
    has_fractions,
    less,
    more,
    side,
    totals,
)
from lakesmith.spark.frames.rounding import agreeing_in_neither, as_it_was, rounded, rounded_elsewhere
from lakesmith.spark.iceberg.snapshots import column_types, read_version
from lakesmith.spark.jvm.failures import FAILURES, is_loss
from lakesmith.spark.query.table_query import query_rows
from lakesmith.spark.start.session import SessionHandle
from lakesmith.spark.validation.outcome import outcome_of, validated_rows
from lakesmith.sql.analysis import analyse


def verify_steps(
    session: SessionHandle, lake: Lake, steps: Sequence[TableStep], watcher: Watcher = lambda _event: None
) -> dict[TableName, Verification]:
    found = {}
    session.enter()
    for number, step in enumerate(steps, 1):
        watcher(VerifyStarted(step.name, number, len(steps)))
        found[step.name] = _verified(session, lake, step)
    return found


def _verified(session: SessionHandle, lake: Lake, step: TableStep) -> Verification:
    batch = Batch(session.spark, lake.catalog, lake.project, step, lambda _event: None)
    try:
        batch.meet_inputs()
        return verify_table(batch)
    except LakesmithError as error:
        found = error
    except FAILURES as error:
        found = explained(session, lake, batch, error)
    if is_loss(found.problems):
        # None of the tables can be verified in this JVM any more.
        raise found
    return failed(step.name, found)


_OTHER: Final = own("other")
_EXAMPLES: Final = 20


def verify_table(batch: Batch) -> Verification:
    """Computes the table of the batch's step again, beside it, and compares the two as multisets. Writes
    nothing.

    Doubles and floats are compared to ten and five digits: a sum of them depends on the order of its rows.
    """
    rows = query_rows(batch, with_arrival=bool(batch.step.table.key))
    types = column_types(batch.spark, batch.name)
    columns = (*rows.columns, *batch.step.table.added_columns)
    missing = [name for name in columns if name.lower() not in types]
    if missing:
        return skipped(batch.name, f"it has no column {missing[0]} yet: run it first")
    if unfit := [name for name in columns if not has_equality(types[name.lower()])]:
        return skipped(batch.name, f"values of its column {unfit[0]} cannot be compared")
    expected = outcome_of(validated_rows(batch, rows)).rows
    there = read_version(batch.spark, batch.name, batch.step.base.snapshot)
    kinds = {name: types[name.lower()] for name in columns}
    both = side(_in_comparable(expected, kinds), WANTED).unionByName(
        side(_in_comparable(there, kinds), THERE)
    )
    found = _verdict(batch, both.groupBy(*map(quoted, columns), _OTHER).agg(*both_counts()), kinds)
    if found.verdict is Verdict.DIFFERS and (chance := _chance(batch, rows.frame)) is not None:
        return skipped(batch.name, f"{chance}: each time it is computed it may have other rows")
    return found


def _chance(batch: Batch, frame: DataFrame) -> str | None:
    query = batch.step.table.query
    named = analyse(query.text).nondeterministic if isinstance(query, SqlQuery) else ()
    called = named[0].name if named else chance_in(analysed(frame))
    if called is not None:
        return f"its query calls {called}"
    return UNDECLARED if isinstance(query, PythonQuery) and not query.deterministic else None


def _in_comparable(frame: DataFrame, kinds: Mapping[str, DataType]) -> DataFrame:
    """Returns the rows in comparable values, fractions in the other rounding."""
    cast = frame.select(*(F.col(quoted(name)).cast(kind).alias(name) for name, kind in kinds.items()))
    names = {quoted(name): kind for name, kind in kinds.items()}
    values = [f"{comparable(name, kind, rounded)} AS {name}" for name, kind in names.items()]
    others = ", ".join(
        f"{comparable(name, kind, rounded_elsewhere)} AS {name}" for name, kind in names.items()
    )
    other = f"struct({others})" if any(map(has_fractions, kinds.values())) else "NULL"
    return cast.selectExpr(*values, f"{other} AS {_OTHER}")


def _verdict(batch: Batch, counted: DataFrame, kinds: Mapping[str, DataType]) -> Verification:
    found = _totals(counted)
    if (found.missing or found.unexpected) and any(map(has_fractions, kinds.values())):
        counted = agreeing_in_neither(counted, tuple(kinds), _OTHER, SIDES)
        found = Row(**{**_totals(counted).asDict(), "rows": found.rows})
    if not found.missing and not found.unexpected:
        return Verification(batch.name, Verdict.SAME, found.rows)
    shown = _examples(counted, kinds)
    return Verification(batch.name, Verdict.DIFFERS, found.rows, found.missing, found.unexpected, shown)


def _totals(counted: DataFrame) -> Row:
    """Returns the existing rows, and the rows that only one side has."""
    sums = ((F.col(THERE), "rows"), (more(), "missing"), (less(), "unexpected"))
    return counted.agg(*totals(sums)).collect()[0]


def _examples(counted: DataFrame, kinds: Mapping[str, DataType]) -> tuple[RowDifference, ...]:
    values = [as_it_was(F.col(quoted(name)), kind).alias(name) for name, kind in kinds.items()]
    text = F.to_json(F.struct(*values), {"ignoreNullFields": "false"})
    rows = counted.where(F.col(WANTED) != F.col(THERE)).select(text.alias("row"), *SIDES)
    return tuple(RowDifference(*row) for row in rows.orderBy("row").limit(_EXAMPLES).collect())
