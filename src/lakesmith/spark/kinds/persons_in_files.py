"""Counts the persons' records in landing files, ingested or not, by reading them as a batch does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith.errors import LakesmithError
from lakesmith.execute.lake import Lake
from lakesmith.plan.steps import FileIntake, Strategy, TableStep
from lakesmith.project.definitions import OnNewColumn, Source, TableDefinition
from lakesmith.sources.model import FileIdentity
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.kinds.erase import in_quarantine
from lakesmith.spark.kinds.intake import open_intake
from lakesmith.spark.read.request import RAW, REASONS, SOURCE_FILE
from lakesmith.spark.read.sessions import ReadingSessions
from lakesmith.spark.start.session import SessionHandle
from lakesmith.sql.erasure_filter import ErasureFilter


@dataclass
class InFiles:
    """By path, the number of the persons' records and of all records; and the files that cannot be read."""

    records: dict[str, tuple[int, int]] = field(default_factory=dict)
    unread: list[FileIdentity] = field(default_factory=list)


def persons_in_files(
    session: SessionHandle,
    lake: Lake,
    table: TableDefinition,
    files: Sequence[tuple[Source, Sequence[FileIdentity]]],
    persons: ErasureFilter,
) -> InFiles:
    """Reads the files of the table's sources."""
    sessions, found = ReadingSessions(session.spark), InFiles()
    base = lake.facts(table.name).base
    try:
        for source, listed in files:
            # An undeclared column would stop a batch, but does not matter here.
            intake = FileIntake(replace(source, on_new_column=OnNewColumn.IGNORE), take=tuple(listed))
            step = TableStep(table, Strategy.FILES, "", base, "", intakes=(intake,))
            spark = sessions.of(step, lake.project.root)
            batch = Batch(spark, lake.catalog, lake.project, step, lambda _event: None)
            _look(batch, intake, persons, found)
    finally:
        sessions.close()
    return found


def _look(batch: Batch, intake: FileIntake, persons: ErasureFilter, found: InFiles) -> None:
    """Halves the files that cannot be read together, until only the unreadable ones are left."""
    files = intake.take
    if not files:
        return
    try:
        step = replace(batch.step, intakes=(intake,))
        read = open_intake(replace(batch, step=step))
        names = frozenset(column.name.lower() for column in read.plan.columns)
        found.records |= _counted(read.rows, persons, names)
    except (LakesmithError, PySparkException, Py4JError, OSError):
        if not files[1:]:
            found.unread += files
            return
        middle = len(files) // 2
        for part in (files[:middle], files[middle:]):
            _look(batch, replace(intake, take=part), persons, found)


def _counted(rows: DataFrame, persons: ErasureFilter, names: frozenset[str]) -> dict[str, tuple[int, int]]:
    good = persons.condition() if persons.within(names) else "false"
    bad = in_quarantine(persons, (RAW,))
    theirs = f"IF(size({REASONS}) = 0, coalesce({good}, false), {bad})"
    each = rows.selectExpr(SOURCE_FILE, f"{theirs} AS theirs").groupBy(SOURCE_FILE)
    counted = each.agg(F.count_if("theirs"), F.count(F.lit(1))).collect()
    return {str(row[0]): (int(row[1]), int(row[2])) for row in counted}
