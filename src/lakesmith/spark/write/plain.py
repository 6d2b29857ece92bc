"""Writes derived tables without a key: the query's rows are appended, or replace all rows."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith.catalog.record import Account
from lakesmith.plan.steps import Strategy
from lakesmith.quoting import quoted
from lakesmith.spark.batch.context import Batch, Draft, live_rows, rows_read
from lakesmith.spark.batch.quarantine import set_aside
from lakesmith.spark.frames.row_counts import RowCounts, counts_of
from lakesmith.spark.query.table_query import QueryRows
from lakesmith.spark.validation.outcome import validated_rows
from lakesmith.spark.validation.rules import checks_of, stop_if_asked


def write_plain(batch: Batch, rows: QueryRows) -> Draft:
    """Writes the rows to the working branch in one pass; bad ones, if there are any, in a second.

    Raises QualityError LS802 as ``validated_rows``.
    """
    validated, seen = validated_rows(batch, rows), RowCounts()
    good = validated.observed(seen).good.select(*map(quoted, rows.columns))
    batch.say("writing")
    _write(batch, rows.stored(good))
    batch.pass_point("after-data")
    counts = counts_of(seen)
    stop_if_asked(batch, counts["bad"], validated.bad)
    return Draft(
        account=_account(batch, counts["out"], counts["bad"]),
        by_row=batch.step.row_wise,
        sidecars=set_aside(batch, validated.bad, rows.columns, counts["bad"]),
        checks=checks_of(validated.table.checks, counts),
        unknown=validated.unknown(counts),
    )


def _write(batch: Batch, good: DataFrame) -> None:
    writer = good.writeTo(batch.target)
    if batch.step.strategy is Strategy.FULL:
        writer.overwrite(F.lit(True))
    else:
        writer.append()


def _account(batch: Batch, out: int, bad: int) -> Account:
    read = rows_read(batch)
    if batch.step.strategy is Strategy.FULL:
        gone = live_rows(batch, batch.state(), batch.step.base.snapshot)
        filtered = read - out if batch.step.row_wise else 0
        return Account(read=read, inserted=out - bad, deleted=gone, filtered=filtered, quarantined=bad)
    return Account(read=read, inserted=out - bad, filtered=read - out, quarantined=bad)
