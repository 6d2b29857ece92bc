"""Keeps the analyses of queries between commands, so that an idle command never imports sqlglot."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lakesmith import limits
from lakesmith.sql.analysis import ANALYSIS_VERSION, SqlAnalysis, analyse
from lakesmith.whole_file import write_whole

_FILE = "sql_analyses.json"


@dataclass(slots=True)
class AnalysisCache:
    """The analyses kept in ``folder``. What cannot be read there is analysed anew; nothing depends on the file."""

    folder: Path
    _known: dict[str, Any] = field(init=False)
    _changed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._known = _read(self.folder / _FILE)

    def analyse(self, sql: str) -> SqlAnalysis:
        """As ``sql_analysis.analyse``, from the cache when the same text was analysed by the same versions before.

        Raises:
            SqlParseError: as ``analyse``; errors are not kept.
        """
        key = _key(sql)
        found = _restored(self._known.pop(key, None))
        if found is None:
            found = analyse(sql)
            self._changed = True
        self._known[key] = found.to_dict()
        return found

    def save(self) -> bool:
        """Writes what is new, atomically. Returns False when the folder cannot be written: the next command is slower,
        nothing else."""
        if not self._changed:
            return True
        kept = dict(list(self._known.items())[-limits.SQL_ANALYSES_KEPT :])
        try:
            write_whole(self.folder / _FILE, json.dumps(kept, separators=(",", ":")))
        except OSError:
            return False
        self._changed = False
        return True


def _key(sql: str) -> str:
    versions = f"{version('sqlglot')}\0{ANALYSIS_VERSION}\0"
    return hashlib.sha256((versions + sql).encode("utf-8", "surrogatepass")).hexdigest()


def _restored(data: Any) -> SqlAnalysis | None:
    try:
        return SqlAnalysis.from_dict(data)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
