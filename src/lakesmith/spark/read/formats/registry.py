"""The readers by the names of their formats in ``source:``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lakesmith.project.definitions import Source
from lakesmith.project.formats import FileFormat
from lakesmith.spark.read.formats.avro import AVRO
from lakesmith.spark.read.formats.csv import CSV
from lakesmith.spark.read.formats.interface import FormatReader
from lakesmith.spark.read.formats.json import JSON
from lakesmith.spark.read.formats.parquet import PARQUET

READERS: Final[Mapping[FileFormat, FormatReader]] = {
    FileFormat.CSV: CSV,
    FileFormat.TSV: CSV,
    FileFormat.JSON: JSON,
    FileFormat.PARQUET: PARQUET,
    FileFormat.AVRO: AVRO,
}


def reader_of(source: Source) -> FormatReader:
    """Returns the reader of the source's files."""
    return READERS[source.format]
