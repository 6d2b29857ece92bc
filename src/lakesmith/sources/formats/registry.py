"""The landing formats by their names in ``source:``, and what each says of its files without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from lakesmith.project.definitions import Source
from lakesmith.project.formats import FileFormat
from lakesmith.sources.formats.avro import check_avro_blocks, read_avro_shape
from lakesmith.sources.formats.csv import csv_counter, read_csv_shape
from lakesmith.sources.formats.json import json_counter, read_json_shape
from lakesmith.sources.formats.logs import (
    cloudfront_counter,
    read_cloudfront,
    read_cloudfront_shape,
    read_lines_shape,
    shape_of_fields,
)
from lakesmith.sources.formats.parquet import count_parquet_rows, read_parquet_shape
from lakesmith.sources.formats.parquet_pages import read_parquet_pages
from lakesmith.sources.formats.text import line_counter, needs_stream, read_packed
from lakesmith.sources.model import LandingFile
from lakesmith.sources.shape import FileShape, Layout


class ColumnsIn(Enum):
    """Where the files of a format say their columns."""

    SCHEMA = "schema"
    """Names and types, once for the file."""
    HEADER = "header"
    """Names, in the first line, unless the source declares no header. It may turn out to be a row."""
    RECORDS = "records"
    """Names, in each record its own."""


@dataclass(frozen=True, slots=True)
class LandingFormat:
    """One format.

    ``read_shape``: returns the columns of one file. Raises UnreadableFile and OSError. ``read_whole``: reads
    one file, of at least one byte, to its end. Raises UnreadableFile LS422 for damage, and OSError.
    ``counter``: makes a function that counts the records of one file of a layout; None if that is not
    possible. The function raises OSError, and EOFError or zlib.error for a damaged file. ``has_lines``:
    whether the records of the source's files are lines, unless a file has another layout. ``of_fields``: of a
    log returns the shape of a file with these fields (``Layout.fields``). ``check``: as
    ``read_whole``, before Spark reads a file, which takes damaged ones as well; returns the shape with what
    reading it showed.
    """

    read_shape: Callable[[LandingFile, Source], FileShape]
    read_whole: Callable[[LandingFile], object]
    counter: Callable[[Source, Layout], Callable[[LandingFile], int] | None] = lambda *_: None
    has_lines: Callable[[Source], bool] = lambda _: False
    columns_in: ColumnsIn = ColumnsIn.SCHEMA
    of_fields: Callable[[Source, tuple[str, ...]], FileShape] | None = None
    check: Callable[[LandingFile, FileShape], FileShape] | None = None

    @property
    def is_checked(self) -> bool:
        """Whether each file is read to its end before Spark reads it."""
        return self.check is not None

    def has_texts(self, source: Source) -> bool:
        """Returns whether the records of the source's files are texts."""
        return self.columns_in is not ColumnsIn.SCHEMA or self.has_lines(source)


def _has_lines(source: Source) -> bool:
    return not needs_stream(source.csv)


_CSV: Final = LandingFormat(read_csv_shape, read_packed, csv_counter, _has_lines, ColumnsIn.HEADER)

_LINES: Final = LandingFormat(
    read_lines_shape,
    read_packed,
    lambda *_: line_counter(0),
    has_lines=lambda _: True,
    of_fields=shape_of_fields,
)

LANDING_FORMATS: Final[Mapping[FileFormat, LandingFormat]] = {
    FileFormat.CSV: _CSV,
    FileFormat.TSV: _CSV,
    FileFormat.JSON: LandingFormat(read_json_shape, read_packed, json_counter, _has_lines, ColumnsIn.RECORDS),
    FileFormat.PARQUET: LandingFormat(
        lambda path, _: read_parquet_shape(path),
        read_parquet_pages,
        lambda *_: count_parquet_rows,
        check=lambda path, shape: replace(shape, by_rows=read_parquet_pages(path)),
    ),
    FileFormat.AVRO: LandingFormat(lambda path, _: read_avro_shape(path), check_avro_blocks),
    FileFormat.CLOUDFRONT: LandingFormat(
        read_cloudfront_shape,
        read_cloudfront,
        cloudfront_counter,
        has_lines=lambda _: True,
        of_fields=shape_of_fields,
    ),
    FileFormat.ALB: _LINES,
    FileFormat.S3_ACCESS: _LINES,
    FileFormat.COMBINED: _LINES,
}


def landing_format(source: Source) -> LandingFormat:
    return LANDING_FORMATS[source.format]
