"""What a table exports after each refresh."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, Literal

from lakesmith.errors import Problem
from lakesmith.project.declaring import ColumnNames, WrongValue, duration, setting, size
from lakesmith.project.file_options import OBJECT_SCHEME

if TYPE_CHECKING:
    from lakesmith.project.definitions import TableDefinition, TableName

MANIFEST: Final = "manifest.json"
"""The file of an export that names its files. It is written last."""


class ExportFormat(StrEnum):
    """The format of exported files."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


def _plain_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", text) or text == MANIFEST or text.startswith("v="):
        expected = "the name of a file, of letters, digits, ., _ and -, such as daily.json"
        raise WrongValue("{} is not a name that a file of an export can have", expected)
    return text


@dataclass(frozen=True, slots=True)
class Export:
    """Files with the table's rows, for readers that are no engine: see [exports](../exports.md). They are
    written after each refresh that changed rows.

    ``keep_seconds``: how long a version stays after the next one replaced it. ``target_file_size`` in bytes.
    """

    format: ExportFormat = setting()
    """The format: `parquet`, `csv` with a line of names, or `json`, one object a line."""
    to: str | None = setting(None, min_length=1)
    """The folder, relative to the project's or absolute, or `s3://bucket/prefix/`. No other table may have
    it. Default: `exports/LAYER/NAME/`."""
    columns: tuple[str, ...] = setting((), form=ColumnNames, min_length=1)
    """The columns to export, in their order. Default: all."""
    partition_by: tuple[str, ...] = setting((), form=ColumnNames, min_length=1)
    """Columns whose values become folders, such as `day=2026-01-31/`. Only folders whose rows changed are
    written again."""
    order_by: tuple[str, ...] = setting((), form=ColumnNames, min_length=1)
    """Columns by which the rows of each file are sorted."""
    single_file: str | None = setting(None, read=_plain_name)
    """The name of one file with all rows, such as `daily.csv`, replaced at once. Not with
    `partition_by`."""
    compression: Literal["none", "gzip", "snappy", "zstd"] | None = setting(None)
    """How files are compressed: `none`, `gzip`; Parquet also `snappy`, `zstd`. Default: `zstd` for Parquet,
    else `none`."""
    target_file_size: int = setting(
        128 * 1024**2, form=str, read=size(1024, expected="a size of 1 KiB or more, such as 128 MB")
    )
    """About how large a file becomes, such as `256 MB`. Default: `128 MiB`."""
    keep_seconds: float = setting(key="keep", usual="1 day", form=str, read=duration())
    """How long the files of a version stay once the next one has replaced it, so that whoever reads them can
    finish. Default: `1 day`."""

    @property
    def codec(self) -> str:
        """The compression in effect."""
        return self.compression or ("zstd" if self.format is ExportFormat.PARQUET else "none")


def usual_place(name: TableName) -> str:
    """Returns the folder of a table's export where none is declared."""
    return f"exports/{name.layer}/{name.name}/"


def place_of_export(table: TableDefinition) -> str:
    """Returns the folder of the table's export, or its prefix in S3, with a slash at its end."""
    assert table.export is not None
    given = table.export.to or usual_place(table.name)
    return given.rstrip("/") + "/"


def export_problems(tables: Iterable[TableDefinition]) -> Iterator[Problem]:
    """Yields what is wrong with exports: LS105 settings that exclude each other, LS138 a shared folder."""
    places: list[tuple[str, TableDefinition]] = []
    for table in tables:
        if table.export is None:
            continue
        yield from _contradictions(table, table.export)
        place = place_of_export(table)
        known = place if place.startswith(OBJECT_SCHEME) else f"{PurePosixPath(place)}/"
        for other, first in places:
            if known.startswith(other) or other.startswith(known):
                what = f"{first.name} and {table.name} would be exported to one folder"
                yield Problem("LS138", what, table.place, "a folder for each table", place)
        places.append((known, table))


def _contradictions(table: TableDefinition, export: Export) -> Iterator[Problem]:
    if export.single_file and export.partition_by:
        what = "single_file excludes partition_by"
        yield Problem("LS105", what, table.place, "one of the two", "both, in export")
    if export.format is not ExportFormat.PARQUET and export.codec not in ("none", "gzip"):
        what = f"{export.format.value} files are not compressed by {export.codec}"
        yield Problem("LS105", what, table.place, "none or gzip", export.codec)
    place = export.to or ""
    if re.match(r"[a-z][a-z0-9+.-]*://", place, re.IGNORECASE) and not place.startswith(OBJECT_SCHEME):
        yield Problem(
            "LS105", "the place of an export is not supported", table.place, "a folder, or s3://…", place
        )
    if place.startswith(OBJECT_SCHEME) and not place.removeprefix(OBJECT_SCHEME).strip("/").partition("/")[2]:
        what = "an export needs a prefix in its bucket"
        yield Problem("LS105", what, table.place, "s3://bucket/prefix/", place)
