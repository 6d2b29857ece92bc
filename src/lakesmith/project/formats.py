"""The formats of landing files and the options that each has. To add a format, begin here.

A new format is a name in ``FileFormat`` and a line in ``FORMATS``. One file each in
``lakesmith.sources.formats`` (without Spark) and in ``lakesmith.spark.read.formats`` says how its files are
read.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
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
    """The settings of one format.

    ``endings``: the file name endings that identify it, before ``.gz``. ``options``: those of
    ``OF_SOME_FORMATS`` that it has. ``delimiter``: its default delimiter.
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
    """Returns the format that a file name's ending identifies; None if it identifies no format.

    >>> format_by_ending("Orders.JSONL.gz")
    <FileFormat.JSON: 'json'>
    """
    ending = PurePosixPath(name.lower().removesuffix(".gz")).suffix
    return next((it for it, settings in FORMATS.items() if ending in settings.endings), None)


_UNICODE: Final = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16LE",
    "utf-16-be": "UTF-16BE",
    "utf-32": "UTF-32",
    "utf-32-le": "UTF-32LE",
    "utf-32-be": "UTF-32BE",
}


def usual_name(encoding: str) -> str:
    """Returns the name of an encoding that both Python and Java know; an unknown encoding stays as it is.

    >>> usual_name("utf16"), usual_name("latin-1"), usual_name("windows_1252"), usual_name("Shift_JIS")
    ('UTF-16', 'ISO-8859-1', 'windows-1252', 'Shift_JIS')
    """
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        return encoding
    if family := re.fullmatch(r"(iso8859-|cp)(\d+)", name):
        number = family[2]
        if family[1] == "iso8859-":
            return f"ISO-8859-{number}"
        return f"windows-{number}" if number.startswith("125") else encoding
    return _UNICODE.get(name, encoding)


_KNOWN: Final = frozenset("GyMLdDQqEFaKkHhmsSVzOXx")
_RUNS: Final = re.compile(r"([A-Za-z])\1*")
_QUOTED: Final = re.compile(r"'[^']*'")


def wrong_pattern(pattern: str) -> str | None:
    """Returns what is wrong with a date pattern; None if no fault is found.

    >>> wrong_pattern("dd/MM/yyyy HH:mm"), wrong_pattern("yyyy-MM-dd'T'HH:mm:ss")
    (None, None)
    >>> wrong_pattern("DD/MM/YYYY")
    "'Y' is not known: 'yyyy' is the year"
    >>> wrong_pattern("dd/mm/yyyy")
    "'mm' are minutes: 'MM' is the month"
    """
    return next(_faults(pattern), None)


def _faults(pattern: str) -> Iterator[str]:
    bare = _QUOTED.sub(" ", pattern)
    runs = [run[1] for run in _RUNS.finditer(bare)]
    letters = frozenset(runs)
    if "%" in bare:
        yield "'%' begins nothing here: 'dd/MM/yyyy' is '%d/%m/%Y'"
    if unknown := [letter for letter in runs if letter not in _KNOWN]:
        hints = {"Y": ": 'yyyy' is the year", "T": ": a text is in quotes, as in yyyy-MM-dd'T'HH:mm:ss"}
        yield f"'{unknown[0]}' is not known{hints.get(unknown[0], '')}"
    if "m" in letters and "d" in letters and not letters & {"M", "L"}:
        yield "'mm' are minutes: 'MM' is the month"
    if "D" in letters and letters & {"M", "L"}:
        yield "'DD' is the day of the year: 'dd' is that of the month"
    if letters & {"h", "K"} and "a" not in letters:
        yield "'hh' are hours of half a day, and there is no 'a' (AM or PM): 'HH' are those of a day"
    if "[" not in bare and (twice := [letter for letter in runs if runs.count(letter) > 1]):
        yield f"'{twice[0]}' is in it twice"
