"""A batch's slices of topics, where other sources have files."""

from __future__ import annotations

from collections.abc import Iterator

from lakesmith.execute.engine import Outdated
from lakesmith.plan.steps import FileIntake
from lakesmith.project.definitions import KafkaSource
from lakesmith.sources.kafka.broker import topic_state
from lakesmith.sources.kafka.slices import slice_of
from lakesmith.sources.shape import FileShape, ShapeGroup
from lakesmith.spark.batch.context import Batch


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
    """Yields the note on offsets without a record."""
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
