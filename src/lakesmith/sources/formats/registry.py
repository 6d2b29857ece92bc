"""The landing formats by their names in ``source:``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lakesmith.project.definitions import Source
from lakesmith.project.formats import FileFormat
from lakesmith.sources.formats.avro import AVRO
from lakesmith.sources.formats.csv import CSV
from lakesmith.sources.formats.interface import LandingFormat
from lakesmith.sources.formats.json import JSON
from lakesmith.sources.formats.parquet import PARQUET

LANDING_FORMATS: Final[Mapping[FileFormat, LandingFormat]] = {
    FileFormat.CSV: CSV,
    FileFormat.TSV: CSV,
    FileFormat.JSON: JSON,
    FileFormat.PARQUET: PARQUET,
    FileFormat.AVRO: AVRO,
}


def landing_format(source: Source) -> LandingFormat:
    """Returns the format of the source's files."""
    return LANDING_FORMATS[source.format]
