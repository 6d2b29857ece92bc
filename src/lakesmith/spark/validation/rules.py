"""Rules and rows: which rules each row breaks, and when bad rows stop the batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith.errors import QualityError
from lakesmith.project.definitions import OnBadRow
from lakesmith.quality.model import Rule
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.batch.quarantine import REASONS


def rule_reasons(rules: Sequence[Rule]) -> SparkColumn:
    """The texts of the rules that a row breaks: an array of strings."""
    broken = [F.when(~F.expr(rule.predicate), F.lit(rule.text)) for rule in rules]
    return F.array_compact(F.array(*broken)) if broken else F.array().cast("array<string>")


def rule_counts(rules: Sequence[Rule]) -> list[SparkColumn]:
    """Returns an aggregate for each rule, ``rule_0``, ``rule_1``, ...: how many rows break it."""
    return [
        F.count_if(F.array_contains(REASONS, rule.text)).alias(f"rule_{number}")
        for number, rule in enumerate(rules)
    ]


def checks_of(rules: Sequence[Rule], counts: Mapping[str, int | None]) -> dict[str, int]:
    """The counts of ``rule_counts`` by the rules' texts."""
    return {rule.text: int(counts[f"rule_{number}"] or 0) for number, rule in enumerate(rules)}


def stop_if_asked(batch: Batch, bad: int, bad_rows: DataFrame) -> None:
    """Raises QualityError LS801 with the first few reasons if bad rows stop the table's batch."""
    table = batch.step.table
    if not bad or table.on_bad_row is not OnBadRow.FAIL:
        return
    samples = bad_rows.select(F.array_join(REASONS, "; ").alias("why")).distinct().limit(5).collect()
    raise QualityError.of(
        "LS801",
        f"{bad} bad row{'s' if bad > 1 else ''} stopped the batch of {table.name}; nothing was published",
        place=table.place,
        expected="no bad row (on_bad_row: fail)",
        found=" | ".join(sorted(row.why for row in samples)),
        hint="correct the input or the rules, or let bad rows go aside: on_bad_row: quarantine",
    )
