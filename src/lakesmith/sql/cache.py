"""Keeps the analyses of queries between commands, so that an idle command never imports sqlglot."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lakesmith import limits
from lakesmith.cache import Cache
from lakesmith.sql.analysis import ANALYSIS_VERSION, SqlAnalysis, analyse

_ALL = "analyses"


@dataclass(slots=True)
class AnalysisCache:
    """Analyses of queries, kept in ``folder``."""

    folder: Path
    _known: dict[str, Any] = field(init=False)
    _changed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._known = _cache(self.folder).load(_ALL) or {}

    def analyse(self, sql: str) -> SqlAnalysis:
        """Returns the analysis of a query, as ``sql_analysis.analyse``.

        Raises:
            SqlParseError: as ``analyse``; errors are not kept.
        """
        found = _restored(self._known.pop(sql, None))
        if found is None:
            found = analyse(sql)
            self._changed = True
        self._known[sql] = found.to_dict()
        return found

    def save(self) -> bool:
        """Keeps new analyses. Returns False if the folder cannot be written."""
        if not self._changed:
            return True
        kept = dict(list(self._known.items())[-limits.SQL_ANALYSES_KEPT :])
        self._changed = not _cache(self.folder).save(_ALL, kept)
        return not self._changed


def _cache(folder: Path) -> Cache:
    return Cache(folder, "sql", f"{version('sqlglot')} {ANALYSIS_VERSION}")


def _restored(data: Any) -> SqlAnalysis | None:
    try:
        return SqlAnalysis.from_dict(data)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
