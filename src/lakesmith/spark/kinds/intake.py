"""A batch's files as one frame of rows, read by the plan of their columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakesmith.execute.engine import Outdated
from lakesmith.plan.steps import FileIntake
from lakesmith.project.definitions import KafkaSource
from lakesmith.sources.columns.plan import ColumnPlan, plan_columns
from lakesmith.sources.columns.reading import ReadGroup, SourceFiles
from lakesmith.sources.columns.types import known_columns
from lakesmith.sources.inspect import group_by_shape
from lakesmith.sources.kafka.broker import topic_state
from lakesmith.sources.kafka.slices import slice_of
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.shape import USUAL, FileShape, Layout, ShapeGroup
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.frames.exact_json import frame_of
from lakesmith.spark.read.files import SparkRecords, read_files, request_of
from lakesmith.spark.read.request import SOURCE_FILE, ReadRequest, types_read


@dataclass(frozen=True)
class Intake:
    """A batch's rows as read: the columns of ``plan``, the source columns, ``_raw`` and ``_reasons``."""

    rows: DataFrame
    plan: ColumnPlan
    requests: tuple[ReadRequest, ...]

    @property
    def groups(self) -> tuple[ReadGroup, ...]:
        """The files that are read, by shape."""
        return tuple(group for request in self.requests for group in request.groups)

    @property
    def files(self) -> tuple[FileIdentity, ...]:
        return tuple(file for group in self.groups for file in group.files)

    @property
    def layouts(self) -> dict[str, Layout]:
        """Where the records are in files that do not have the usual layout, by path."""
        odd = (group for group in self.groups if group.layout != USUAL)
        return {file.path: group.layout for group in odd for file in group.files}

    def only(self, paths: Collection[str]) -> DataFrame:
        """Returns the rows of the files at ``paths``."""
        return _rows(self.rows.sparkSession, [_only(request, paths) for request in self.requests])

    def with_raw_columns(self, rows: DataFrame) -> DataFrame:
        """Adds what a row's raw text needs to be read again.

        ``_raw_columns`` are the names of its fields; ``_raw_types`` their types as DDL, where the file has
        types.
        """
        files = [
            {
                "_source_file": file.path,
                "_raw_columns": group.layout.fields or group.file_columns,
                "_raw_types": types_read(group),
            }
            for group in self.groups
            for file in group.files
        ]
        types = "_source_file string, _raw_columns array<string>, _raw_types string"
        names = frame_of(rows.sparkSession, files, types)
        return rows.join(F.broadcast(names), "_source_file", "left")


def open_intake(batch: Batch) -> Intake:
    """Plans the columns of the step's files, and their rows; rows are read when the frame is.

    Raises SourceError as ``group_by_shape`` and ``plan_columns``.
    """
    table, there, root = batch.step.table, batch.there(), batch.project.root
    files = [_files_of(batch, intake) for intake in batch.step.intakes if intake.files]
    if not known_columns(table, there):
        batch.say("inferring the columns")
    plan = plan_columns(table, there, files)
    requests = tuple(request_of(batch.spark, read, root) for read in plan.reads)
    return Intake(_rows(batch.spark, requests), plan, requests)


def _files_of(batch: Batch, intake: FileIntake) -> SourceFiles:
    root = batch.project.root
    groups = (
        slice_shapes(intake)
        if not intake.source.has_files
        else group_by_shape(intake.files, intake.source, root, batch.name)
    )
    return SourceFiles(intake.source, groups, SparkRecords(batch.spark, root))


def _rows(spark: SparkSession, requests: Sequence[ReadRequest]) -> DataFrame:
    return reduce(DataFrame.unionByName, (read_files(spark, request) for request in requests))


def _only(request: ReadRequest, paths: Collection[str]) -> ReadRequest:
    kept = (
        replace(group, files=tuple(file for file in group.files if file.path in paths))
        for group in request.groups
    )
    records = None if request.records is None else request.records.where(F.col(SOURCE_FILE).isin(*paths))
    return replace(request, groups=tuple(group for group in kept if group.files), records=records)


def slice_shapes(intake: FileIntake) -> tuple[ShapeGroup, ...]:
    """As ``group_by_shape``, of slices that have records: like lines of JSON, they name their own columns."""
    some = tuple(file for file in intake.files if file.size)
    return (ShapeGroup(FileShape(empty=not some), some),)


def most_records(batch: Batch) -> int | None:
    """Returns how many offsets the slices have; None if the batch ingests files as well."""
    intakes = [intake for intake in batch.step.intakes if intake.files]
    if any(intake.source.has_files for intake in intakes):
        return None
    return sum(file.size for intake in intakes for file in intake.files)


def fewer_note(most: int | None, read: int) -> Iterator[str]:
    if most is not None and read < most:
        yield (
            f"{most - read} of {most} offsets have no record: the topic is compacted, or they belong"
            " to transactions (their marks, or aborted ones)"
        )


def slice_notes(batch: Batch) -> tuple[str, ...]:
    """Returns the notes of planning, for the record: only they say which records are missing."""
    return batch.step.notes if not all(intake.source.has_files for intake in batch.step.intakes) else ()


def require_same_topics(batch: Batch) -> None:
    """Raises Outdated if a topic was created again since the batch was planned."""
    for intake in batch.step.intakes:
        if not isinstance(intake.source, KafkaSource):
            continue
        planned = {each.topic_id for file in intake.files if (each := slice_of(file))}
        if planned and planned != {topic_state(intake.source).id}:
            raise Outdated(f"topic {intake.source.path} was made again while it was read")
