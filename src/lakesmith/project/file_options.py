"""What a source declares of its files: how they are read, and what happens to files and values that do not
fit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Literal

from lakesmith.project.declaring import ColumnName, WrongValue, setting
from lakesmith.project.formats import WrongFormat, parts_of, usual_name, wrong_pattern
from lakesmith.project.schedules import zone_key

OBJECT_SCHEME: Final = "s3://"
"""The scheme of a source whose files are objects in S3."""


class OnNewColumn(StrEnum):
    """What to do with a column that a file has and the table does not."""

    EVOLVE = "evolve"
    IGNORE = "ignore"
    FAIL = "fail"


class OnChangedFile(StrEnum):
    """What to do with an ingested file that has changed since."""

    FAIL = "fail"
    IGNORE = "ignore"
    REPLACE = "replace"


class OnMovedFile(StrEnum):
    """What to do with an ingested file that has another path now."""

    SAME = "same"
    NEW = "new"


class OnBadFile(StrEnum):
    """What to do with a file that cannot be read."""

    FAIL = "fail"
    SKIP = "skip"


class OnErase(StrEnum):
    """What happens to landing files with rows of erased people."""

    KEEP = "keep"
    REMOVE = "remove"
    REWRITE = "rewrite"


class OnInexact(StrEnum):
    """What to do with a value of more digits than its column's type holds."""

    QUARANTINE = "quarantine"
    ROUND = "round"


class OnTypeChange(StrEnum):
    """What to do with a value of another type than its column's."""

    WIDEN = "widen"
    FAIL = "fail"
    QUARANTINE = "quarantine"


class QuotedEmpty(StrEnum):
    """What an empty text in quotes is in a column of texts."""

    EMPTY = "empty"
    NULL = "null"


def is_object(path: str) -> bool:
    """Returns whether a path is that of one or several objects in S3."""
    return path.startswith(OBJECT_SCHEME)


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """Access to objects in S3. The environment (``AWS_REGION``, a profile, a role) gives what is None.

    ``endpoint``: the address of a server other than Amazon's. ``key_id``, ``secret``, ``token``: credentials.
    """

    endpoint: str | None = None
    region: str | None = None
    key_id: str | None = None
    secret: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)


def _delimiter(text: str) -> str:
    return "\t" if text == "\\t" else text


def _date_pattern(text: str) -> str:
    if (fault := wrong_pattern(text)) is not None:
        expected = "a pattern as Spark has them, such as dd.MM.yyyy HH:mm:ss"
        raise WrongValue("{} is not a valid pattern", expected, f"{text!r}, in which {fault}")
    return text


def _zone(name: str) -> str:
    zone_key(name)
    return name


def _log_format(text: str) -> str:
    try:
        parts_of(text)
    except WrongFormat as error:
        raise WrongValue("{} is not a format of lines", "a format of Apache or nginx", str(error)) from error
    return text


def _part(text: str) -> float:
    return int(text.rstrip("% ")) / 100


def _one_group(pattern: str) -> str:
    try:
        if re.compile(pattern).groups == 1:
            return pattern
    except re.error:
        pass
    expected = "a regular expression with one group, such as _(\\d{8})\\.csv$"
    raise WrongValue("{} does not match a time", expected, pattern)


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """Options of text formats. ``time_zone`` and the patterns apply to values in files of several formats."""

    header: bool = setting(True, shared=True)
    """CSV and TSV: whether the first line of each file names the columns. Columns are then matched by name,
    never by position; without it they are taken by position, and `columns` is needed. Default: true."""
    delimiter: str = setting(",", shared=True, read=_delimiter, min_length=1)
    """CSV: the text between two values. Default: a comma, and a tab for `tsv`."""
    quote: str = setting('"', shared=True, max_length=1)
    """CSV and TSV: the character around values that contain the delimiter. Default: `"`. An empty text: there
    are no quotes."""
    escape: str = setting('"', shared=True, max_length=1)
    """CSV and TSV: the character that makes a quote inside quotes part of the value. Default: `"` (quotes are
    doubled)."""
    encoding: str = setting("UTF-8", shared=True, read=usual_name)
    """CSV, TSV and JSON: the encoding of the text. Default: `UTF-8`."""
    null_value: str | None = setting(None, shared=True)
    """CSV and TSV: the text that means NULL besides nothing at all, such as `\\N`. In quotes it is a text."""
    quoted_empty: QuotedEmpty = setting(QuotedEmpty.EMPTY, shared=True)
    """CSV and TSV: what `""` is in a column of type string or binary: `empty`, the empty text, as PostgreSQL,
    Snowflake, Spark and DuckDB write it; or `null`, as programs mean it that put every value in quotes, NULL
    too. In other columns `""` is NULL, and nothing at all is NULL in each. Default: `empty`."""
    multiline: bool = setting(False, shared=True)
    """CSV and TSV: whether values in quotes may contain line breaks. Default: false. JSON: true reads all
    files as a stream of values. Default: the beginning of each file decides."""
    skip_lines: int = setting(0, shared=True, ge=0, le=1000)
    """CSV and TSV: how many lines at the beginning of each file are left out, such as a title or `sep=;`. The
    header is the next line that is not blank. Default: 0."""
    skip_last: int = setting(0, shared=True, ge=0, le=1000)
    """CSV and TSV: how many rows at the end of each file are left out, such as totals. Default: 0."""
    comment: str = setting("", shared=True, min_length=1, max_length=1)
    """CSV and TSV: the first character of lines that are comments, such as `#`. Default: none."""
    decimal: Literal[".", ","] = setting(".", shared=True)
    """CSV and TSV: the decimal separator of numbers. With `,` a point or a space may separate groups of three
    digits: `1.234,50`. Default: `.`, and no groups."""
    timestamp_format: str | None = setting(None, shared=True, read=_date_pattern)
    """CSV, TSV and JSON: Spark's pattern for timestamps, such as `dd.MM.yyyy HH:mm`."""
    date_format: str | None = setting(None, shared=True, read=_date_pattern)
    """CSV, TSV and JSON: Spark's pattern for dates, such as `dd.MM.yyyy`."""
    log_format: str | None = setting(None, shared=True, read=_log_format)
    """`combined`: the format of the log's lines as the server declares it, in Apache's words (`%h %l %u %t
    \\"%r\\" %>s %b`) or nginx's (`$remote_addr [$time_local]`). Default: the combined format of both."""
    time_zone: str | None = setting(None, shared=True, read=_zone)
    """The time zone of times without one in columns of type `timestamp`, such as `Europe/Paris`. Local times
    that it skips or repeats are inexact. Default: `UTC`."""


@dataclass(frozen=True, slots=True)
class FullExport:
    """The time that a full export is of: see [full exports](../full-exports.md).

    Each file is the whole table. ``path``: its group is the time, with the pattern ``format`` (None: ISO
    8601). Without ``column`` and ``path``, the time is that of arrival. ``max_deletes``: the part of the keys
    (1: all) that a batch may delete without approval.
    """

    column: str | None = setting(None, form=ColumnName)
    """A column of the files with the time, the same in all rows of an export."""
    path: str | None = setting(None, read=_one_group, min_length=1)
    """A regular expression with one group, which matches the time in the file's path, such as
    `_(\\d{8})\\.csv$`."""
    format: str | None = setting(None, min_length=1)
    """With `path`: Spark's pattern of the group, such as `yyyyMMdd`. Default: ISO 8601."""
    max_deletes: float = setting(usual="50%", form=str, read=_part, pattern=r"^(100|\d{1,2}) ?%$")
    """The part of the keys that a batch may delete; above it the table waits for `lakesmith run --approve
    TABLE` (LS524). Default: `50%`."""

    def __str__(self) -> str:
        by = (
            f"by {self.column}" if self.column else f"by the path: {self.path}" if self.path else "by arrival"
        )
        return f"{by}, at most {self.max_deletes:.0%} deleted"

    @property
    def is_dated(self) -> bool:
        """Whether exports contain their time."""
        return self.column is not None or self.path is not None


def export_of(given: Any) -> FullExport | None:
    """Reads ``snapshot`` of a source. None: its files are not full exports."""
    from lakesmith.project.written import meant

    return FullExport() if given is True else meant(FullExport, given) if given else None


REGION = ("AWS_REGION", "AWS_DEFAULT_REGION")
ENDPOINT = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")


def as_here(store: ObjectStore, environ: Mapping[str, str] = os.environ) -> ObjectStore:
    """Returns the store, with region and endpoint from the environment where it has none."""
    return replace(
        store,
        region=store.region or _first(REGION, environ),
        endpoint=store.endpoint or _first(ENDPOINT, environ),
    )


def _first(names: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)
