"""The table of formats: every one has its line, and each option that depends on the format is one of a
source.
"""

import pytest

from lakesmith.project.formats import FORMATS, OF_SOME_FORMATS, FileFormat, format_by_ending
from lakesmith.project.written import options_model


def test_every_format_has_a_line() -> None:
    assert set(FORMATS) == set(FileFormat)


def test_no_ending_tells_two_formats() -> None:
    endings = [ending for settings in FORMATS.values() for ending in settings.endings]
    assert sorted(endings) == sorted(set(endings))


def test_options_of_formats_are_options_of_sources() -> None:
    assert set(OF_SOME_FORMATS) <= set(options_model().model_fields)
    assert all(set(settings.options) <= set(OF_SOME_FORMATS) for settings in FORMATS.values())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("*.csv", FileFormat.CSV), ("Orders.JSONL.gz", FileFormat.JSON), ("a.parquet", FileFormat.PARQUET),
        ("landing/orders/", None), ("", None), (".csv", None),
    ],
)  # fmt: skip
def test_the_ending_tells_the_format(name: str, expected: FileFormat | None) -> None:
    assert format_by_ending(name) is expected
