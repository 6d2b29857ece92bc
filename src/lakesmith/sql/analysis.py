"""The analysis of one query: the tables it names, its columns, whether it is row-wise.

Pure: text in, frozen data out. sqlglot is imported when a text is really analysed (see ``cache``).
"""

from __future__ import annotations

import hashlib
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from lakesmith.sql.functions import nondeterministic
from lakesmith.sql.model import Notice, Output, ShapeKind, SqlAnalysis
from lakesmith.sql.tokens import SqlParseError

if TYPE_CHECKING:
    from lakesmith.sql.parse import Parsed
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from lakesmith import limits
from lakesmith.cache import Cache, decoded, encoded
from lakesmith.sql import model

__all__ = ["ANALYSIS_VERSION", "SqlAnalysis", "SqlParseError", "analyse", "digest_of"]

ANALYSIS_VERSION = 15
"""Raised whenever the same text would be analysed differently: other versions in caches are ignored."""

_DEPTH = 20_000


def digest_of(sql: str) -> str:
    """The SHA-256 (hex) of the text, which ties an analysis to it."""
    return hashlib.sha256(sql.encode("utf-8", "surrogatepass")).hexdigest()


@lru_cache(maxsize=256)
def analyse(sql: str) -> SqlAnalysis:
    """Returns the analysis of the query ``sql``.

    Raises:
        SqlParseError: it is not one single SELECT, cannot be parsed, or names tables in ways that cannot be
            followed.
    """
    limit = sys.getrecursionlimit()
    # The parser takes some twenty calls for each level of nesting.
    sys.setrecursionlimit(max(limit, _DEPTH))
    try:
        return _analysed(sql)
    except RecursionError:
        raise SqlParseError(1, 1, "it is nested too deeply to be read", sql[:20]) from None
    finally:
        sys.setrecursionlimit(limit)


def _analysed(sql: str) -> SqlAnalysis:
    from lakesmith.sql.incremental_by_key import what_merges, why_not_by_keys
    from lakesmith.sql.parse import parse
    from lakesmith.sql.result_columns import outputs
    from lakesmith.sql.row_wise import driven_by_one, shape_of
    from lakesmith.sql.scope import qualifiers, references
    from lakesmith.sql.used_columns import computed_columns, named_columns

    parsed = parse(sql)
    shape = shape_of(parsed)
    return SqlAnalysis(
        digest=digest_of(sql),
        references=references(parsed),
        outputs=(Output(),) if _has_pipe(parsed) else outputs(parsed.tree),
        shape=shape,
        nondeterministic=nondeterministic(sql, parsed.tokens),
        notices=_notices(parsed),
        qualifiers=qualifiers(parsed),
        computed=None if _has_pipe(parsed) else computed_columns(parsed.tree),
        named=None if _has_pipe(parsed) else named_columns(parsed.tree),
        not_by_keys=why_not_by_keys(parsed),
        driven=driven_by_one(parsed) if shape.kind is ShapeKind.OTHER else None,
        merges=what_merges(parsed.tree),
    )


def _has_pipe(parsed: Parsed) -> bool:
    """sqlglot rewrites ``|>`` into CTEs of its own, so the columns are uncertain."""
    return any(token.text == "|>" for token in parsed.tokens)


def _notices(parsed: Parsed) -> tuple[Notice, ...]:
    from sqlglot import exp

    from lakesmith.sql.parse import spans
    from lakesmith.sql.result_columns import outputs
    from lakesmith.sql.scope import relations

    found = [
        Notice("hint", _text(parsed, t.start), parsed.line(t.start)) for t in parsed.tokens if t.text == "/*+"
    ]
    for table in relations(parsed.tree):
        at = min((start for start, _ in spans(table)), default=0)
        if table.args.get("version") is not None:
            found.append(Notice("time_travel", table.args["version"].sql("spark"), parsed.line(at)))
        if isinstance(table.this, exp.Func):
            found.append(Notice("table_function", _text(parsed, at).partition("(")[0], parsed.line(at)))
    for item in parsed.tree.selects if not _has_pipe(parsed) else ():
        if outputs(exp.Select(expressions=[item.copy()])) == (Output(),) and not item.is_star:
            at = min((start for start, _ in spans(item)), default=0)
            found.append(Notice("unnamed_column", item.sql("spark"), parsed.line(at)))
    return tuple(sorted(found, key=lambda notice: notice.line))


def _text(parsed: Parsed, at: int) -> str:
    """The text from ``at``, to the end of a hint or of the line, cut short."""
    text = parsed.sql[at : at + 60].split("*/")[0].splitlines()[0]
    return text.removeprefix("/*+").strip()


_ALL = "analyses"
_KINDS: Final = {name: kind for name, kind in vars(model).items() if isinstance(kind, type)}


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
        self._known[sql] = encoded(found)
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
        found = decoded(data, _KINDS)
    except (KeyError, TypeError, ValueError):
        return None
    return found if isinstance(found, SqlAnalysis) else None
