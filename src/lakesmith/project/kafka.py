"""``source: {kafka: ...}`` as a source whose files are slices of a topic."""

from __future__ import annotations

from collections.abc import Iterator

from lakesmith.errors import Problem
from lakesmith.project.definitions import KAFKA_PATH, KafkaSource
from lakesmith.project.formats import FileFormat
from lakesmith.project.models import KafkaSettings
from lakesmith.project.settings import Level


def kafka_source(
    name: str, level: Level[KafkaSettings], avro_schema: str | None, problems: list[Problem]
) -> KafkaSource:
    """The source. Appends problems LS105."""
    settings, place = level.model, level.document.place(*level.path)
    problems += [Problem("LS105", what, place, expected) for what, expected in _faults(settings, avro_schema)]
    is_avro = settings.values == "avro"
    return KafkaSource(
        name=name,
        path=f"{KAFKA_PATH}{settings.topic}",
        format=FileFormat.JSON,
        place=place,
        on_new_column=settings.on_new_column,
        connection=settings.connection,
        topic=settings.topic,
        avro_schema=avro_schema if is_avro else None,
        schema_ids=tuple(settings.schema_ids or ()),
        json_keys=settings.keys == "json",
        from_end=settings.start == "latest",
        skips_gone=settings.on_gone == "skip",
        restarts=settings.on_recreated == "restart",
    )


def _faults(settings: KafkaSettings, avro_schema: str | None) -> Iterator[tuple[str, str]]:
    if settings.values == "avro" and avro_schema is None:
        yield "values in Avro need the schema that they are written with", "avro_schema: a file of the table"
    if any(not 0 <= number < 2**31 for number in settings.schema_ids or ()):
        yield "schema_ids has what is no number of a schema", "whole numbers from 0"
