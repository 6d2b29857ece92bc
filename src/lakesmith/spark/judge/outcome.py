"""What a derived table has to have, given all rows of its query, or all those of some keys."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith.project.definitions import IS_CURRENT, TableDefinition
from lakesmith.spark.judge.key_versions import DELETE, Judged, judge
from lakesmith.spark.judge.rule_misfits import add_reasons
from lakesmith.spark.judge.rules import rule_reasons
from lakesmith.spark.judge.validity import IS_ROW, as_rows, put_in_order, tracked_columns
from lakesmith.spark.query.table_query import QueryRows


@dataclass(frozen=True)
class Outcome:
    """``rows``: the table's. ``deletes``: the newest versions of those keys that are deleted; None where none can be."""

    rows: DataFrame
    deletes: DataFrame | None = None


@dataclass(frozen=True)
class Placed:
    """Versions of keys; ``rows``: whether one is a row of the table, ``deletes``: whether it deletes its key and is the newest."""

    frame: DataFrame
    rows: SparkColumn
    deletes: SparkColumn


def judged_rows(rows: QueryRows, table: TableDefinition) -> Judged:
    """The query's rows with what is wrong with each, and, where the table has a key, whether it deletes.

    Raises QualityError LS802 as ``add_reasons``, LS804 as ``delete_condition``.
    """
    if table.key:
        return judge(rows, table)
    reasoned = add_reasons(rows.frame, rule_reasons(table.checks), table.checks)
    return Judged(reasoned, table, rows.columns, rows.hidden, rows.marks)


def outcome_of(judged: Judged) -> Outcome:
    """What becomes of judged rows. Raises RunError LS615 as ``tracked_columns``."""
    if not judged.table.key:
        return Outcome(judged.good)
    placed = placed_of(judged)
    deletes = placed.frame.where(placed.deletes) if judged.table.delete_when else None
    return Outcome(placed.frame.where(placed.rows), deletes)


def placed_of(judged: Judged) -> Placed:
    """The versions that count, and what each is. Raises RunError LS615 as ``tracked_columns``."""
    table, deletes = judged.table, F.col(DELETE)
    if not table.keeps_versions:
        return Placed(judged.winners(), ~deletes, deletes)
    tracked = tracked_columns(judged.frame, judged.columns, table)
    placed = put_in_order(as_rows(judged.versions(), table), table, tracked)
    return Placed(placed, F.col(IS_ROW), deletes & F.col(IS_CURRENT))
