"""The readers by the names of their formats: every format has one."""

from lakesmith.project.formats import FileFormat
from lakesmith.spark.read.files import READERS


def test_every_format_has_a_reader() -> None:
    assert set(READERS) == set(FileFormat)
