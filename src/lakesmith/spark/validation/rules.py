"""What rules say of rows: for each row the rules that it breaks, and for each rule how many rows break it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F

from lakesmith.quality.model import Rule
from lakesmith.spark.batch.quarantine import REASONS


def rule_reasons(rules: Sequence[Rule]) -> SparkColumn:
    """The texts of the rules that a row breaks: an array of strings."""
    broken = [F.when(~F.expr(rule.predicate), F.lit(rule.text)) for rule in rules]
    return F.array_compact(F.array(*broken)) if broken else F.array().cast("array<string>")


def rule_counts(rules: Sequence[Rule]) -> list[SparkColumn]:
    """For each rule an aggregate: the number of rows whose reasons name it. Named ``rule_0``, ``rule_1``, ..."""
    return [
        F.count_if(F.array_contains(REASONS, rule.text)).alias(f"rule_{number}")
        for number, rule in enumerate(rules)
    ]


def checks_of(rules: Sequence[Rule], counts: Mapping[str, int | None]) -> dict[str, int]:
    """The counts of ``rule_counts`` by the rules' texts."""
    return {rule.text: int(counts[f"rule_{number}"] or 0) for number, rule in enumerate(rules)}
