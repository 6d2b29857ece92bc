"""Values that were rounded on their way in, because their source lets them be (``on_inexact: round``): counted, and said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F

from lakesmith.project.definitions import OnInexact, TableDefinition
from lakesmith.spark.batch.quarantine import REASONS
from lakesmith.spark.read.request import ROUNDED


def rounded_counts(table: TableDefinition, columns: Sequence[str]) -> list[SparkColumn]:
    """Aggregates over rows as read: how many good ones were rounded, and in which column; none where no source rounds."""
    if all(source.on_inexact is not OnInexact.ROUND for source in table.sources):
        return []
    good = F.size(REASONS) == 0
    each = [
        F.count_if(good & F.array_contains(ROUNDED, column)).alias(f"rounded_{number}")
        for number, column in enumerate(columns)
    ]
    return [F.count_if(good & F.col(ROUNDED).isNotNull()).alias("rounded"), *each]


def rounded_note(columns: Sequence[str], counts: Mapping[str, int]) -> tuple[str, ...]:
    """What the counts of ``rounded_counts`` say, for people; nothing where nothing was rounded."""
    found = [(column, counts.get(f"rounded_{number}", 0)) for number, column in enumerate(columns)]
    said = ", ".join(
        f"{column} in {count:,} row{'s' if count > 1 else ''}" for column, count in found if count
    )
    return (f"rounded (on_inexact: round): {said}",) if said else ()
