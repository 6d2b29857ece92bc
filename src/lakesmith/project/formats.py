"""The formats that landing files can have, and what a source may say of each. To add a format, begin here.

A new format is a name in ``FileFormat`` and a line in ``FORMATS``. How its files are read is said in one file each below
``lakesmith.sources.formats`` (without Spark) and ``lakesmith.spark.read.formats``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final


class FileFormat(StrEnum):
    """The file formats a source can have. ``tsv`` is ``csv`` with a tab as its delimiter."""

    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    PARQUET = "parquet"
    AVRO = "avro"


_ANY: Final = ("time_zone",)
_TEXT: Final = ("encoding", "timestamp_format", "date_format", *_ANY)
_DELIMITED: Final = (
    *("header", "delimiter", "quote", "escape", "null_value", "multiline"),
    *("skip_lines", "skip_last", "comment", "decimal", *_TEXT),
)

OF_SOME_FORMATS: Final = _DELIMITED
"""The options of a source that not every format has; all others go with each."""


@dataclass(frozen=True, slots=True)
class FormatSettings:
    """What a source of one format may say.

    ``endings`` of file names that tell the format, before ``.gz``; ``options``: those of ``OF_SOME_FORMATS`` that it has;
    ``delimiter``: the usual one.
    """

    endings: tuple[str, ...]
    options: tuple[str, ...] = ()
    delimiter: str = ","


FORMATS: Final[Mapping[FileFormat, FormatSettings]] = {
    FileFormat.CSV: FormatSettings((".csv",), _DELIMITED),
    FileFormat.TSV: FormatSettings((".tsv",), _DELIMITED, delimiter="\t"),
    FileFormat.JSON: FormatSettings((".json", ".jsonl", ".ndjson"), ("multiline", *_TEXT)),
    FileFormat.PARQUET: FormatSettings((".parquet",), _ANY),
    FileFormat.AVRO: FormatSettings((".avro",), _ANY),
}


def format_by_ending(name: str) -> FileFormat | None:
    """The format that the ending of a file's name tells; None when it tells none.

    >>> format_by_ending("Orders.JSONL.gz")
    <FileFormat.JSON: 'json'>
    """
    ending = PurePosixPath(name.lower().removesuffix(".gz")).suffix
    return next((it for it, settings in FORMATS.items() if ending in settings.endings), None)
