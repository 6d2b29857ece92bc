"""The rows that a derived table must have, given all rows of its query, or all rows of some keys."""

from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith.project.definitions import IS_CURRENT
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.query.table_query import QueryRows
from lakesmith.spark.validation.key_versions import Validated, validate
from lakesmith.spark.validation.rules import DELETE, add_reasons, rule_reasons
from lakesmith.spark.validation.validity_periods import IS_ROW, as_rows, put_in_order, tracked_columns


@dataclass(frozen=True)
class Outcome:
    """``rows``: the table's. ``deletes``: the newest versions of deleted keys; None if there can be none."""

    rows: DataFrame
    deletes: DataFrame | None = None


@dataclass(frozen=True)
class Placed:
    """Versions of keys; ``rows``: whether one is a table row; ``deletes``: whether it deletes its key."""

    frame: DataFrame
    rows: SparkColumn
    deletes: SparkColumn


def validated_rows(batch: Batch, rows: QueryRows) -> Validated:
    """Returns the query's rows with their rule violations and, with a key, whether each deletes it.

    Raises QualityError LS802 as ``add_reasons``, LS804 as ``delete_condition``.
    """
    table = batch.step.table
    if table.key:
        return validate(batch, rows)
    reasoned = add_reasons(batch, rows.frame, rule_reasons(table.checks))
    return Validated(reasoned, table, rows.columns, rows.hidden, rows.marks)


def outcome_of(validated: Validated) -> Outcome:
    """Returns the outcome of validated rows. Raises RunError LS615 as ``tracked_columns``."""
    if not validated.table.key:
        return Outcome(validated.good)
    placed = placed_of(validated)
    deletes = placed.frame.where(placed.deletes) if validated.table.delete_when else None
    return Outcome(placed.frame.where(placed.rows), deletes)


def placed_of(validated: Validated) -> Placed:
    """Returns the versions that count, and their status. Raises RunError LS615 as ``tracked_columns``."""
    table, deletes = validated.table, F.col(DELETE)
    if not table.keeps_versions:
        return Placed(validated.winners(), ~deletes, deletes)
    tracked = tracked_columns(validated.frame, validated.columns, table)
    placed = put_in_order(as_rows(validated.versions(), table), table, tracked)
    return Placed(placed, F.col(IS_ROW), deletes & F.col(IS_CURRENT))
