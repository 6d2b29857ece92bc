"""A batch's slices of topics: what is done with them where files would be looked at."""

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
    """As ``group_by_shape``, of those that have records: like lines of JSON, they name their own columns."""
    some = tuple(file for file in intake.files if file.size)
    return (ShapeGroup(FileShape(empty=not some), some),)


def most_records(batch: Batch) -> int | None:
    """How many offsets the slices have, each of one record at most; None where the batch takes files as well."""
    intakes = [intake for intake in batch.step.intakes if intake.files]
    if any(intake.source.has_files for intake in intakes):
        return None
    return sum(file.size for intake in intakes for file in intake.files)


def fewer_note(most: int | None, read: int) -> Iterator[str]:
    """What is said where there is not a record at each offset."""
    if most is not None and read < most:
        yield (
            f"{most - read} of {most} offsets have no record: the topic is compacted, or they are of transactions"
            " (their marks, or what was given up)"
        )


def slice_notes(batch: Batch) -> tuple[str, ...]:
    """What planning said, for the record: which records are missing is known nowhere else."""
    return batch.step.notes if not all(intake.source.has_files for intake in batch.step.intakes) else ()


def require_same_topics(batch: Batch) -> None:
    """Raises Outdated where a topic was made again since the batch was planned: what was read may be of either."""
    for intake in batch.step.intakes:
        if not isinstance(intake.source, KafkaSource):
            continue
        planned = {each.topic_id for file in intake.files if (each := slice_of(file))}
        if planned and planned != {topic_state(intake.source).id}:
            raise Outdated(f"topic {intake.source.path} was made again while it was read")
