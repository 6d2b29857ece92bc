"""Full exports: sources of which each file is the whole table, and the query of a keyed table that is made from them.

The table of files keeps all rows of all files. The keyed table works out from them what each export changed: a key that an export has not
and the one before it has is deleted at the export's time. So a late export takes its place, and one that is taken out leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from lakesmith.errors import Place, Problem
from lakesmith.project.declaring import WrongValue
from lakesmith.project.definitions import ADDED_COLUMNS, FullExport, SqlQuery, TableName
from lakesmith.project.file_options import export_of
from lakesmith.quoting import literal, quoted

EXPORTED_AT: Final = "_exported_at"
"""The column with the time of the export that a version is of."""

CHANGE: Final = "_change"
DELETED: Final = f"{CHANGE} = 'delete'"
_OWN: Final = ("_lakesmith_at", "_lakesmith_export", "_lakesmith_next", "_lakesmith_again", "_lakesmith_this")


def export_of_source(settings: Any) -> FullExport | None:
    """Returns the full export of a table's one source, as its file has it; None: it is wrong, or there is none."""
    one = next(iter(settings.values()), None) if isinstance(settings, dict) else settings
    try:
        return export_of(one.files.snapshot) if one is not None and one.files is not None else None
    except WrongValue:
        return None


def wrong_export(export: FullExport | None, place: Place) -> Iterator[Problem]:
    """Yields LS105 for settings of ``snapshot`` that contradict each other."""
    if export is not None and export.column is not None and export.path is not None:
        yield Problem(
            "LS105",
            "an export's time is in a column, or in its path",
            place,
            "one of column and path",
            "both",
        )
    if export is not None and export.format is not None and export.path is None:
        yield Problem("LS105", "format is that of a time in the path", place, "path: a pattern")


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
