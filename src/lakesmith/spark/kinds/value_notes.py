"""Notes about values: which columns were rounded, and which hold values that are not of their type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import Row
from pyspark.sql import functions as F

from lakesmith.catalog.family import sidecar_of
from lakesmith.catalog.record import Pin
from lakesmith.errors import Problem, SourceError
from lakesmith.project.definitions import OnInexact, OnTypeChange, TableDefinition
from lakesmith.project.formats import FORMATS
from lakesmith.quoting import literal
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.batch.quarantine import REASONS
from lakesmith.spark.batch.sidecar import SidecarKind
from lakesmith.spark.iceberg.commits import physical
from lakesmith.spark.read.request import ROUNDED

_REASON: Final = r"(?s)^(.+?): not an? (.+?): ('.*')$"
"""A reason of ``exact_text.reason``, except for digits alone, which are for ``on_inexact``."""
_MOST_TOLD: Final = 20
_CHOICES: Final = (
    "correct the files; or `on_type_change: quarantine` sets such rows aside, and "
    "`lakesmith files TABLE --skip FILE` leaves a file out. A type that Iceberg cannot widen to needs a"
    " table of another name"
)


def check_types(batch: Batch, pins: Mapping[str, Pin]) -> tuple[str, ...]:
    """Returns notes on the columns with inferred types whose values in the batch's bad rows do not fit.

    ``pins``: of the quarantine that the batch wrote. Raises SourceError LS437 if a source stops at such
    values.
    """
    pin = pins.get(SidecarKind.QUARANTINE.value)
    table = batch.step.table
    declared = {column.name.lower() for column in table.columns}
    stopping = [it for it in batch.step.intakes if it.source.on_type_change is OnTypeChange.FAIL]
    known = declared or all(FORMATS[it.format].is_log for it in table.sources)
    if pin is None or pin.snapshot is None or (known and not stopping):
        return ()
    found = _misfits(batch, pin)
    files = {file.path for intake in stopping for file in intake.files}
    if stops := [row for row in found if row.source_file in files]:
        raise SourceError([_problem(batch, row) for row in stops])
    rows: dict[tuple[str, str], int] = {}
    for row in found:
        if row.place.partition(".")[0].strip("`").lower() not in declared:
            rows[row.place, row.type] = rows.get((row.place, row.type), 0) + row.rows
    return tuple(_note(place, type_, count) for (place, type_), count in rows.items())


def _misfits(batch: Batch, pin: Pin) -> Sequence[Row]:
    """By column, type and file, how many rows do not fit, and the first of them."""
    name = physical(sidecar_of(batch.name, SidecarKind.QUARANTINE))
    parts = [
        f"regexp_extract(reason, {literal(_REASON)}, {part}) AS {title}"
        for part, title in ((1, "place"), (2, "type"), (3, "text"))
    ]
    each = f"""SELECT source_file, source_position, {", ".join(parts)} FROM (
        SELECT source_file, source_position, explode(reasons) AS reason
        FROM {name} VERSION AS OF {pin.snapshot}
        WHERE attempt = {literal(batch.attempt)})"""
    return batch.spark.sql(f"""
        SELECT place, type, source_file, count(*) AS rows, min(struct(source_position, text)) AS first
        FROM ({each}) WHERE place != '' GROUP BY ALL ORDER BY place, source_file LIMIT {_MOST_TOLD}
        """).collect()


def _problem(batch: Batch, row: Row) -> Problem:
    return Problem(
        "LS437",
        f"values of {row.place} in {row.source_file} are not of its type, so nothing of {batch.name} was"
        " published",
        place=batch.step.table.place,
        expected=f"{row.place} {row.type} (on_type_change: fail)",
        found=f"{row.first.text} in row {row.first.source_position}, and {row.rows - 1:,} more like it",
        hint=_CHOICES.replace("TABLE", str(batch.name)).replace("FILE", row.source_file),
    )


def _note(place: str, type_: str, rows: int) -> str:
    their = "1 row, which is" if rows == 1 else f"{rows:,} rows, which are"
    return (
        f"{place} is not of its inferred type {type_} in {their} in quarantine: Iceberg cannot widen it to"
        " hold them; "
        "a table of another name with the type you want under `columns` ingests the files from scratch"
    )


def rounded_counts(table: TableDefinition, columns: Sequence[str]) -> list[SparkColumn]:
    """Returns aggregates: how many good rows were rounded, in all and by column; or none."""
    if all(source.on_inexact is not OnInexact.ROUND for source in table.sources):
        return []
    good = F.size(REASONS) == 0
    each = [
        F.count_if(good & F.array_contains(ROUNDED, column)).alias(f"rounded_{number}")
        for number, column in enumerate(columns)
    ]
    return [F.count_if(good & F.col(ROUNDED).isNotNull()).alias("rounded"), *each]


def rounded_note(columns: Sequence[str], counts: Mapping[str, int]) -> tuple[str, ...]:
    """Returns the note on the counts of ``rounded_counts``; empty if nothing was rounded."""
    found = [(column, counts.get(f"rounded_{number}", 0)) for number, column in enumerate(columns)]
    said = ", ".join(
        f"{column} in {count:,} row{'s' if count > 1 else ''}" for column, count in found if count
    )
    return (f"rounded (on_inexact: round): {said}",) if said else ()
