"""The formats by their names: every one is there, and says where its records are lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lakesmith.project.definitions import CsvOptions, FileSource
from lakesmith.project.formats import FileFormat
from lakesmith.sources.formats.registry import LANDING_FORMATS, landing_format

Make = Callable[..., FileSource]
LINES = CsvOptions()


def test_every_format_is_there() -> None:
    assert set(LANDING_FORMATS) == set(FileFormat)


@pytest.mark.parametrize(
    ("format", "csv", "expected"),
    [
        (FileFormat.CSV, LINES, 1),
        (FileFormat.TSV, LINES, 1),
        (FileFormat.CSV, CsvOptions(header=False), 0),
        (FileFormat.CSV, CsvOptions(multiline=True), None),
        (FileFormat.CSV, CsvOptions(encoding="utf-16le"), None),
        (FileFormat.JSON, LINES, 0),
        (FileFormat.PARQUET, LINES, None),
        (FileFormat.AVRO, LINES, None),
    ],
)
def test_the_lines_before_the_records(
    format: FileFormat, csv: CsvOptions, expected: int | None, make_source: Make
) -> None:
    source = make_source(format=format, csv=csv)
    assert landing_format(source).lines_before(source) == expected


def test_only_what_can_be_counted_apart_is(make_source: Make) -> None:
    sources = [make_source(format=format) for format in FileFormat]
    uncounted = {source.format for source in sources if landing_format(source).counter(source) is None}
    assert uncounted == {FileFormat.AVRO}
