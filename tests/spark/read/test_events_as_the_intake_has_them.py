"""The intake and the batch validate alike: an event acknowledged as good is a row with the same values."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from landing_files import one, rows
from pyspark.sql import Row, SparkSession
from soaking import SOAK, seeds

from exact_values import CASES, LEAVES, random_type, random_value
from lakesmith.project.definitions import Column, HttpSource
from lakesmith.project.formats import FileFormat
from lakesmith.project.spark_types import parse_type
from lakesmith.serve.intake.events import EventReader
from lakesmith.spark.read.files import read_files

VALUES = 10_000 if SOAK else 600


def read(
    spark: SparkSession, root: Path, types: dict[str, str], events: list[str], posted: bool = True
) -> list[Row]:
    """The rows of a segment, or of a landing file, in its order."""
    request = one(
        root, "\n".join(events), (), tuple(types.items()), name="landing/a.jsonl", format_=FileFormat.JSON
    )
    if posted:
        source = request.source
        request = replace(
            request, source=HttpSource(source.name, source.path, source.format, source.place, url_path="/a")
        )
    frame = read_files(spark, request)
    return rows(frame.select("_source_file", "_source_position", "_reasons"))


def disagreements(spark: SparkSession, root: Path, types: dict[str, str], events: list[str]) -> list[Any]:
    """The events of which the intake and the batch think differently."""
    reader = EventReader([Column(name, kind) for name, kind in types.items()])
    found = []
    for text, row in zip(events, read(spark, root, types, events), strict=True):
        event = reader.read(text.encode())
        if event.broken or (not row._reasons) is bool(event.faults):
            found.append((text, "door:", event.faults, "batch:", list(row._reasons)))
    return found


def event(*values: tuple[str, str]) -> str:
    return f"{{{', '.join(f'{json.dumps(column)}: {text}' for column, text in values)}}}"


def test_the_batch_keeps_the_rules_of_exactness(spark: SparkSession, tmp_path: Path) -> None:
    """``tests/unit/serve/intake/test_exact.py`` has the intake keep them, case by case."""
    assert [case[:2] for case in otherwise(spark, tmp_path)] == []


ONLY_IN_FILES = {
    ("timestamp", '"2024-02-29T10:15:00 Europe/Paris"'): "this machine and Java may know different regions",
    ("timestamp", '"2024-02-29T10:15:00+2"'): "an offset that only Java reads",
    ("struct<a:int,b:string>", '{"c":1}'): "a new field is a matter of on_new_column",
    ("struct<a:int,b:string>", '{"a":1,"c":null}'): "a new field is a matter of on_new_column",
    (
        "struct<p:array<struct<q:decimal(5,1)>>>",
        '{"p":[{"r":1}]}',
    ): "a new field is a matter of on_new_column",
    ("struct<a:int,b:string>", '{"A":1}'): "names are matched in any case, before a batch reads",
}
"""What files may hold and events may not, with the reason."""


def test_files_keep_the_rules_of_exactness(spark: SparkSession, tmp_path: Path) -> None:
    """The same table of cases: what the intake refuses, files refuse as well."""
    found = {case[:2] for case in otherwise(spark, tmp_path, posted=False)}
    assert found == {*ONLY_IN_FILES}


def otherwise(spark: SparkSession, root: Path, posted: bool = True) -> list[tuple[str, str, list[str]]]:
    """The cases of the table that the batch reads in another way, with its reasons."""
    names = {
        type_: f"c{number}" for number, type_ in enumerate(dict.fromkeys(type_ for type_, _, _ in CASES))
    }
    types = {name: type_ for type_, name in names.items()}
    events = [event((names[type_], text)) for type_, text, _ in CASES]
    return [
        (type_, text, list(row._reasons))
        for (type_, text, exact), row in zip(CASES, read(spark, root, types, events, posted), strict=True)
        if (not row._reasons) is not exact
    ]


@pytest.mark.parametrize("seed", seeds(20261125))
def test_the_intake_and_the_batch_agree_on_values_made_at_random(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    random = Random(seed)
    kinds = [*LEAVES, *(random_type(random) for _ in range(27))]
    types = {f"c{number}": type_ for number, type_ in enumerate(kinds)}
    parsed = {name: parse_type(type_) for name, type_ in types.items()}
    chosen = [random.sample(list(types), random.choice((1, 1, 1, 2, 4))) for _ in range(VALUES)]
    events = [event(*((name, random_value(random, parsed[name])) for name in names)) for names in chosen]
    found = disagreements(spark, tmp_path, types, events)
    assert found == [], f"{len(found)} of {VALUES}"
