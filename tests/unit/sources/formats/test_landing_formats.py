"""The formats by their names: every one is there, and says where its records are lines."""

from collections.abc import Callable

import pytest

from lakesmith.project.definitions import CsvOptions, FileSource
from lakesmith.project.formats import FileFormat
from lakesmith.sources.formats.registry import LANDING_FORMATS, landing_format
from lakesmith.sources.shape import USUAL

Make = Callable[..., FileSource]
LINES = CsvOptions()


def test_every_format_is_there() -> None:
    assert set(LANDING_FORMATS) == set(FileFormat)


@pytest.mark.parametrize(
    ("format", "csv", "expected"),
    [
        (FileFormat.CSV, LINES, True), (FileFormat.TSV, LINES, True),
        (FileFormat.CSV, CsvOptions(multiline=True), False),
        (FileFormat.CSV, CsvOptions(encoding="utf-16le"), False), (FileFormat.JSON, LINES, True),
        (FileFormat.JSON, CsvOptions(multiline=True), False), (FileFormat.PARQUET, LINES, False),
        (FileFormat.AVRO, LINES, False), (FileFormat.CLOUDFRONT, LINES, True),
        (FileFormat.COMBINED, LINES, True),
    ],
)  # fmt: skip
def test_where_records_are_lines(
    format: FileFormat, csv: CsvOptions, expected: bool, make_source: Make
) -> None:
    source = make_source(format=format, csv=csv)
    assert landing_format(source).has_lines(source) is expected


def test_only_what_can_be_counted_apart_is(make_source: Make) -> None:
    sources = [make_source(format=format) for format in FileFormat]
    uncounted = {source.format for source in sources if landing_format(source).counter(source, USUAL) is None}
    assert uncounted == {FileFormat.AVRO}
