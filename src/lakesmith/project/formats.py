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
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final


class FileFormat(StrEnum):
    """The file formats a source can have. ``tsv`` is ``csv`` with a tab as its delimiter."""

    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    PARQUET = "parquet"
    AVRO = "avro"
    CLOUDFRONT = "cloudfront"
    ALB = "alb"
    S3_ACCESS = "s3_access"
    COMBINED = "combined"


_ANY: Final = ("time_zone",)
_TEXT: Final = ("encoding", "timestamp_format", "date_format", *_ANY)
_DELIMITED: Final = (
    *("header", "delimiter", "quote", "escape", "null_value", "quoted_empty", "multiline"),
    *("skip_lines", "skip_last", "comment", "decimal", *_TEXT),
)

OF_SOME_FORMATS: Final = (*_DELIMITED, "log_format")
"""The options of a source that not every format has; all others go with each."""


@dataclass(frozen=True, slots=True)
class FormatSettings:
    """The settings of one format.

    ``endings``: the file name endings that identify it, before ``.gz``. ``options``: those of
    ``OF_SOME_FORMATS`` that it has. ``delimiter``: its default delimiter. ``comment``: the first character of
    lines that are not records. ``packed``: how its files begin if values do not stand in them as they are.
    ``is_log``: its columns are known, and new fields of them are added.
    """

    endings: tuple[str, ...]
    options: tuple[str, ...] = ()
    delimiter: str = ","
    comment: str = ""
    packed: bytes = b""
    is_log: bool = False


FORMATS: Final[Mapping[FileFormat, FormatSettings]] = {
    FileFormat.CSV: FormatSettings((".csv",), _DELIMITED),
    FileFormat.TSV: FormatSettings((".tsv",), _DELIMITED, delimiter="\t"),
    FileFormat.JSON: FormatSettings((".json", ".jsonl", ".ndjson"), ("multiline", *_TEXT)),
    FileFormat.PARQUET: FormatSettings((".parquet",), _ANY, packed=b"PAR1"),
    FileFormat.AVRO: FormatSettings((".avro",), _ANY, packed=b"Obj\x01"),
    FileFormat.CLOUDFRONT: FormatSettings((), ("delimiter",), delimiter="\t", comment="#", is_log=True),
    FileFormat.ALB: FormatSettings((), is_log=True),
    FileFormat.S3_ACCESS: FormatSettings((), is_log=True),
    FileFormat.COMBINED: FormatSettings((), ("log_format",), is_log=True),
}


LOGS: Final = tuple(kind for kind, settings in FORMATS.items() if settings.is_log)


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


_NGINX: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_APACHE: Final = re.compile(r"%(?:[!\d,]*)[<>]?(?:\{(?P<of>[^}]*)\})?(?P<kind>\^t[io]|[a-zA-Z%])")

_APACHE_NAMES: Final = {
    "h": "remote_address",
    "a": "remote_address",
    "l": "ident",
    "u": "remote_user",
    "t": "time_local",
    "r": "request",
    "s": "status",
    "b": "body_bytes_sent",
    "B": "body_bytes_sent",
    "O": "bytes_sent",
    "I": "bytes_received",
    "D": "duration_us",
    "T": "duration_s",
    "v": "server_name",
    "V": "server_name",
    "p": "server_port",
    "m": "request_method",
    "U": "request_path",
    "q": "request_query",
    "H": "request_protocol",
    "f": "file_name",
    "k": "keepalive_requests",
    "P": "process_id",
    "X": "connection_status",
    "L": "error_log_id",
    "R": "handler",
    "S": "bytes_total",
    "A": "local_address",
}
_COLUMN_NAMES: Final = {
    "remote_addr": "remote_address",
    "http_referer": "referer",
    "http_user_agent": "user_agent",
    "body_bytes": "body_bytes_sent",
}
_VARIABLE_TYPES: Final = {
    **dict.fromkeys(("status", "server_port", "remote_port", "keepalive_requests", "process_id"), "int"),
    **dict.fromkeys(("body_bytes_sent", "bytes_sent", "bytes_received", "bytes_total"), "bigint"),
    **dict.fromkeys(("request_length", "duration_us", "connection", "connection_requests"), "bigint"),
    **dict.fromkeys(("request_time", "duration_s"), "double"),
}
"""The variables that are not texts."""


@dataclass(frozen=True, slots=True)
class FormatPart:
    """A part of a format: a text that is in each line, or a variable with its column and type."""

    text: str
    is_variable: bool = False
    type: str = "string"


class WrongFormat(ValueError):
    """A format that lines cannot be read by; its message says why."""


def parts_of(log_format: str) -> tuple[FormatPart, ...]:
    r"""Returns the parts of a format. Raises WrongFormat.

    >>> [part.text for part in parts_of("$remote_addr [$time_local]") if part.is_variable]
    ['remote_address', 'time_local']
    >>> [part.text for part in parts_of(r'%h \"%{User-Agent}i\" %>s') if part.is_variable]
    ['remote_address', 'user_agent', 'status']
    """
    text = log_format.replace('\\"', '"').replace("\\t", "\t")
    is_nginx = "$" in text
    variable = _NGINX if is_nginx else _APACHE
    parts: list[FormatPart] = []
    at = 0
    for found in variable.finditer(text):
        parts.append(FormatPart(text[at : found.start()]))
        parts += [_variable(found[1] or found[2])] if is_nginx else _of_apache(found)
        at = found.end()
    parts.append(FormatPart(text[at:]))
    kept = tuple(part for part in parts if part.text)
    _check(kept)
    return kept


def _of_apache(found: re.Match[str]) -> list[FormatPart]:
    of, kind = found["of"], found["kind"]
    if kind == "%":
        return [FormatPart("%")]
    if kind in ("i", "o", "e", "n", "C") and of:
        prefix = {"i": "http", "o": "sent_http", "e": "env", "n": "note", "C": "cookie"}[kind]
        return [_variable(f"{prefix}_{re.sub(r'[^A-Za-z0-9]+', '_', of).lower()}")]
    if kind == "t" and of:
        raise WrongFormat(f"%{{{of}}}t writes times in a format of its own; only %t is read")
    if kind == "T" and of in ("ms", "us"):
        return [FormatPart(f"duration_{of}", True, "bigint")]
    if kind not in _APACHE_NAMES:
        raise WrongFormat(f"{found[0]} is not a variable of Apache")
    # Apache itself puts the time into brackets.
    around = ("[", "]") if kind == "t" else ("", "")
    return [FormatPart(around[0]), _variable(_APACHE_NAMES[kind]), FormatPart(around[1])]


def _variable(name: str) -> FormatPart:
    name = _COLUMN_NAMES.get(name, name)
    return FormatPart(name, True, _VARIABLE_TYPES.get(name, "string"))


def _check(parts: tuple[FormatPart, ...]) -> None:
    names = [part.text for part in parts if part.is_variable]
    if len(names) < 2:
        raise WrongFormat("it has fewer than two variables, such as %h or $remote_addr")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise WrongFormat(f"{twice} is in it twice")
    for part, after in pairwise(parts):
        if part.is_variable and after.is_variable:
            raise WrongFormat(f"nothing divides {part.text} from {after.text}")
