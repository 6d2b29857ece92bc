"""What happens to bad rows, as a table's ``on_bad_row`` says.

``fail``: they stop the batch, here, before anything is published. ``quarantine``: the good rows go on, and the bad ones are set aside
with their reasons (``batch.quarantine``).
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith.errors import Problem, QualityError
from lakesmith.project.definitions import OnBadRow
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.batch.quarantine import REASONS


def stop_if_asked(batch: Batch, bad: int, bad_rows: DataFrame) -> None:
    """Raises QualityError LS801 when the table wants its batch stopped by bad rows, naming the first few reasons."""
    table = batch.step.table
    if not bad or table.on_bad_row is not OnBadRow.FAIL:
        return
    samples = bad_rows.select(F.array_join(REASONS, "; ").alias("why")).distinct().limit(5).collect()
    raise QualityError(
        Problem(
            "LS801",
            f"{bad} bad row{'s' if bad > 1 else ''} stopped the batch of {table.name}; nothing was published",
            place=table.place,
            expected="no bad row (on_bad_row: fail)",
            found=" | ".join(sorted(row.why for row in samples)),
            hint="correct the input or the rules, or let bad rows go aside: on_bad_row: quarantine",
        )
    )
