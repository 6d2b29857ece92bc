"""Settings of tables with a key: how versions are ordered and kept, and what full exports delete.

The files of a full export are each the whole table, and the sourced table keeps all rows of all files. The
keyed table computes from them what each export changed: a key that was in the previous export and is not in
this one is deleted at the time of this one. So a late export takes its place in the order, and an export that
is removed leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lakesmith.errors import Place, Problem
from lakesmith.project.declaring import WrongValue
from lakesmith.project.definitions import ADDED_COLUMNS, FullExport, History, Nulls, SqlQuery, TableName
from lakesmith.project.file_options import export_of
from lakesmith.project.layout import DraftReader
from lakesmith.project.written import Found, find
from lakesmith.quoting import literal, quoted

KEYED_ONLY: Final = ("key", "latest_by", "nulls", "delete_when", "track")
"""Settings that only tables with a key have."""

EXPORTED_AT: Final = "_exported_at"
"""The column with the time of the export that a version is of."""

CHANGE: Final = "_change"
DELETED: Final = f"{CHANGE} = 'delete'"
_OWN: Final = ("_lakesmith_at", "_lakesmith_export", "_lakesmith_next", "_lakesmith_again", "_lakesmith_this")


def export_of_source(settings: Any) -> FullExport | None:
    """Returns the full export of a table's only source as it is written; None if there is no such export, or
    a wrong one."""
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
        yield Problem("LS105", "format is for a time in the path", place, "path: a pattern")


def keyed_query(table: TableName, key: Sequence[str], export: FullExport, place: Place) -> SqlQuery:
    """Returns the query of the versions of each key.

    A key has a version for each export that contains it, and a delete at the time of the next export that
    does not.
    """
    at, this, following, again, other = map(quoted, (_OWN[0], _OWN[1], _OWN[2], _OWN[3], _OWN[4]))
    keys = ", ".join(map(quoted, key))
    known = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in key)
    name = f"{quoted(table.layer)}.{quoted(table.name)}"
    # Files of one time are one export, unless only arrival distinguishes exports.
    order = at if export.is_dated else f"{at}, `_batch`, `_source_file`"
    left_out = ", ".join((*ADDED_COLUMNS, *map(quoted, _OWN)))
    text = (
        f"WITH taken AS (SELECT *, {_time(export)} AS {at} FROM {name}),"
        f" rows_of AS (SELECT *, struct({order}) AS {this} FROM taken),"
        f" exports AS (SELECT {this} AS {other}, lead({this}) OVER (ORDER BY {this}) AS {following}"
        f" FROM (SELECT DISTINCT {this} FROM rows_of)),"
        f" placed AS (SELECT r.*, e.*, lead(r.{this}) OVER (PARTITION BY {keys} ORDER BY r.{this}) AS {again}"
        f" FROM rows_of r JOIN exports e ON r.{this} = e.{other})"
        f" SELECT * EXCEPT ({left_out}) FROM placed"
        f" LATERAL VIEW inline(IF({known} AND {following} IS NOT NULL"
        f" AND ({again} IS NULL OR {again} > {following}),"
        f" array(struct({at}, 'present'), struct({following}.{at}, 'delete')),"
        f" array(struct({at}, 'present')))) AS {EXPORTED_AT}, {CHANGE}"
    )
    return SqlQuery(text, place)


def _time(export: FullExport) -> str:
    if not export.is_dated:
        return "`_ingested_at`"
    if export.column is not None:
        place, found = f"the column {export.column}", f"CAST({quoted(export.column)} AS timestamp)"
    else:
        place = f"the path, by {export.path},"
        text = f"regexp_extract(`_source_file`, {literal(export.path or '')}, 1)"
        pattern = "" if export.format is None else f", {literal(export.format)}"
        found = f"try_to_timestamp({text}{pattern})"
    # This text is part of the query, so another one would rebuild the users' tables.
    missing = f"concat({literal(f'{place} does not tell the time of the export ')}, `_source_file`)"
    return f"coalesce({found}, CAST(raise_error({missing}) AS timestamp))"


@dataclass(frozen=True, slots=True)
class VersionReader(DraftReader):
    """Reads the settings of a table with a key. ``exports``: the full exports that it is made from."""

    exports: FullExport | None

    def versions(self) -> dict[str, Any]:
        """Returns the settings of keyed tables. Those that a folder shares do not concern its tables without
        a key."""
        key = () if self.is_sourced else self.names("key")
        if key:
            if self.exports is not None:
                ordered = self._ordered_by_exports()
            else:
                ordered = {
                    "latest_by": self.names("latest_by"),
                    "nulls": self._nulls(),
                    "delete_when": self.value("delete_when", None),
                }
            return {"key": key, **ordered, **self._history((*key, *ordered["latest_by"]))}
        for name in (*KEYED_ONLY, "history"):
            if (setting := find([self.draft.own], name)) is None or setting.value is History.TYPE1:
                continue
            if self.is_sourced or name != "key":
                self._unkeyed(name, setting)
        return {}

    def _ordered_by_exports(self) -> dict[str, Any]:
        for name in ("latest_by", "nulls", "delete_when"):
            if (setting := find([self.draft.own], name)) is not None:
                what = f"{name} of {self.draft.files.name} must not be set: full exports determine it"
                self.problem("LS112", what, setting.place, hint="leave it out")
        return {"latest_by": (EXPORTED_AT,), "delete_when": DELETED}

    def _nulls(self) -> Nulls:
        setting, history = self.find("nulls"), self.find("history")
        if setting is None or setting.value is not Nulls.NEWEST:
            return Nulls.OLDEST
        if history is not None and history.value is History.TYPE2:
            table = self.draft.files.name
            what = f"nulls: newest of {table} is not for history: type2, where each version needs its time"
            self.problem("LS121", what, setting.place, expected="nulls: oldest")
        return Nulls.NEWEST

    def _history(self, ordering: Sequence[str]) -> dict[str, Any]:
        """``ordering``: the columns of key and latest_by, which identify a version."""
        setting, own_track = self.find("history"), find([self.draft.own], "track")
        table = self.draft.files.name
        if setting is None or setting.value is not History.TYPE2:
            if own_track is not None:
                what = f"track of {table} is for tables that keep versions"
                self.problem("LS121", what, own_track.place, expected="history: type2")
            return {}
        if not ordering[len(self.names("key")) :]:
            what = f"history: type2 of {table} needs latest_by, whose first column is the time of a version"
            self.problem("LS121", what, setting.place, expected="latest_by: [column, …]")
        return {"history": History.TYPE2, "track": self._tracked(ordering)}

    def _tracked(self, ordering: Sequence[str]) -> tuple[str, ...]:
        track, settled = self.names("track"), {name.lower() for name in ordering}
        for index, column in enumerate(track):
            if column.lower() in settled and (setting := self.find("track")) is not None:
                what = f"track has {column!r}, a column of key or latest_by"
                expected = "columns that differ from one version to the next"
                self.problem("LS105", what, setting.item_place(index), expected=expected)
        return track

    def _unkeyed(self, name: str, setting: Found) -> None:
        table = self.draft.files.name
        if self.is_sourced:
            hint = f"put {name} on a table that is derived from it: from: {table}"
            self.problem(
                "LS121",
                f"{name} is not for sourced tables: {table} keeps every row",
                setting.place,
                hint=hint,
            )
        else:
            self.problem(
                "LS121", f"{name} of {table} needs a key", setting.place, expected="key: [column, …]"
            )
