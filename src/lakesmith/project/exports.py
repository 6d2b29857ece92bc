"""Full exports: sources of which each file is the whole table, and the query of a keyed table that is made from them.

The table of files keeps all rows of all files. The keyed table works out from them what each export changed: a key that an export has not
and the one before it has is deleted at the export's time. So a late export takes its place, and one that is taken out leaves no trace.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from lakesmith.errors import Place, Problem
from lakesmith.project.definitions import ADDED_COLUMNS, FullExport, SqlQuery, TableName
from lakesmith.project.models import ExportSettings, SourceSettings
from lakesmith.quoting import literal, quoted

EXPORTED_AT: Final = "_exported_at"
"""The column with the time of the export that a version is of."""

CHANGE: Final = "_change"
DELETED: Final = f"{CHANGE} = 'delete'"
_OWN: Final = ("_lakesmith_at", "_lakesmith_export", "_lakesmith_next", "_lakesmith_again", "_lakesmith_this")


def export_of(settings: bool | ExportSettings | None) -> FullExport | None:
    """What ``snapshot`` of a source says; None: its files are no full exports."""
    if not settings:
        return None
    if settings is True:
        return FullExport()
    limit = int(settings.max_deletes.rstrip("% ")) / 100
    return FullExport(settings.column, settings.path, settings.format, limit)


def export_of_source(settings: object) -> FullExport | None:
    """That of a table's one source, as its file has it."""
    if isinstance(settings, dict):
        settings = next(iter(settings.values()), None)
    files = settings.files if isinstance(settings, SourceSettings) else None
    return export_of(files.snapshot) if files is not None else None


def wrong_settings(settings: bool | ExportSettings | None, place: Place) -> list[Problem]:
    """LS105: what is wrong with a source's ``snapshot``."""
    if not isinstance(settings, ExportSettings):
        return []
    found = []
    if settings.column is not None and settings.path is not None:
        what = "an export's time is in a column, or in its path"
        found.append(Problem("LS105", what, place, "one of column and path", "both"))
    if settings.format is not None and settings.path is None:
        found.append(Problem("LS105", "format is that of a time in the path", place, "path: a pattern"))
    if settings.path is not None and not _has_one_group(settings.path):
        expected = "a regular expression with one group, such as _(\\d{8})\\.csv$"
        found.append(
            Problem("LS105", "the pattern of the path does not tell a time", place, expected, settings.path)
        )
    return found


def _has_one_group(pattern: str) -> bool:
    try:
        return re.compile(pattern).groups == 1
    except re.error:
        return False


def keyed_query(table: TableName, key: Sequence[str], export: FullExport, place: Place) -> SqlQuery:
    """The versions of each key: one for each export that has it, and a delete at the time of the first export after those that has not."""
    at, this, following, again, other = map(quoted, (_OWN[0], _OWN[1], _OWN[2], _OWN[3], _OWN[4]))
    keys = ", ".join(map(quoted, key))
    known = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in key)
    name = f"{quoted(table.layer)}.{quoted(table.name)}"
    # Files of one time are one export, unless arrival is all that tells exports apart.
    told = at if export.is_dated else f"{at}, `_batch`, `_source_file`"
    left_out = ", ".join((*ADDED_COLUMNS, *map(quoted, _OWN)))
    text = (
        f"WITH taken AS (SELECT *, {_time(export)} AS {at} FROM {name}),"
        f" rows_of AS (SELECT *, struct({told}) AS {this} FROM taken),"
        f" exports AS (SELECT {this} AS {other}, lead({this}) OVER (ORDER BY {this}) AS {following}"
        f" FROM (SELECT DISTINCT {this} FROM rows_of)),"
        f" placed AS (SELECT r.*, e.*, lead(r.{this}) OVER (PARTITION BY {keys} ORDER BY r.{this}) AS {again}"
        f" FROM rows_of r JOIN exports e ON r.{this} = e.{other})"
        f" SELECT * EXCEPT ({left_out}) FROM placed LATERAL VIEW inline(IF({known} AND {following} IS NOT NULL"
        f" AND ({again} IS NULL OR {again} > {following}),"
        f" array(struct({at}, 'present'), struct({following}.{at}, 'delete')),"
        f" array(struct({at}, 'present')))) AS {EXPORTED_AT}, {CHANGE}"
    )
    return SqlQuery(text, place)


def _time(export: FullExport) -> str:
    if not export.is_dated:
        return "`_ingested_at`"
    if export.column is not None:
        told, found = f"the column {export.column}", f"CAST({quoted(export.column)} AS timestamp)"
    else:
        told = f"the path, by {export.path},"
        text = f"regexp_extract(`_source_file`, {literal(export.path or '')}, 1)"
        pattern = "" if export.format is None else f", {literal(export.format)}"
        found = f"try_to_timestamp({text}{pattern})"
    missing = f"concat({literal(f'{told} does not tell the time of the export ')}, `_source_file`)"
    return f"coalesce({found}, CAST(raise_error({missing}) AS timestamp))"
