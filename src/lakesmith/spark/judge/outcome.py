"""What a derived table has to have, given all rows of its query, or all those of some keys.

Rebuilds come to the same by ways of their own, which read each row once.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith.project.definitions import IS_CURRENT, TableDefinition
from lakesmith.spark.batch.quarantine import rule_reasons
from lakesmith.spark.judge.key_versions import DELETE, Judged, judge
from lakesmith.spark.judge.rules import add_reasons
from lakesmith.spark.judge.validity import IS_ROW, as_rows, put_in_order, tracked_columns
from lakesmith.spark.query.table_query import QueryRows


@dataclass(frozen=True)
class Outcome:
    """``rows``: the table's. ``deletes``: the newest versions of those keys that are deleted; None where none can be."""

    rows: DataFrame
    deletes: DataFrame | None = None


def judged_rows(rows: QueryRows, table: TableDefinition) -> Judged:
    """The query's rows with what is wrong with each, and, where the table has a key, whether it deletes.

    Raises QualityError LS802 as ``add_reasons``, LS804 as ``delete_condition``.
    """
    if table.key:
        return judge(rows, table)
    reasoned = add_reasons(rows.frame, rule_reasons(table.checks), table.checks)
    return Judged(reasoned, table, rows.columns, rows.hidden)


def outcome_of(judged: Judged) -> Outcome:
    """What becomes of judged rows. Raises RunError LS615 as ``tracked_columns``."""
    table = judged.table
    if not table.key:
        return Outcome(judged.good)
    if table.keeps_versions:
        tracked = tracked_columns(judged.frame, judged.columns, table)
        placed = put_in_order(as_rows(judged.versions(), table), table, tracked)
        rows, last = placed.where(IS_ROW), F.col(IS_CURRENT)
    else:
        placed = judged.winners()
        rows, last = placed.where(~F.col(DELETE)), F.lit(True)
    return Outcome(rows, placed.where(F.col(DELETE) & last) if table.delete_when else None)
