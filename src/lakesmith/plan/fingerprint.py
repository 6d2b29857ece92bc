"""The fingerprint of a definition: what a table's rows depend on besides its inputs.

Formatting and comments of SQL and Python do not count, nor do descriptions, owners and tags. A record also
keeps a short hash of each part of the definition, to report which part changed.
"""

import ast
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, Final

from lakesmith.project.declaring import Comparison, Setting, settings_of
from lakesmith.project.definitions import Emit, PythonQuery, SqlQuery, TableDefinition
from lakesmith.sql.fingerprint import fingerprint as sql_fingerprint

_MODULE: Final = "module "
_FUNCTION: Final = "function "
_WORDS: Final = {
    **{
        each.key: each.rows.words
        for kind in (TableDefinition, PythonQuery, Emit)
        for each in settings_of(kind).values()
        if each.rows
    },
    "required": "its required columns",
    "begins": "the point from which its inputs are read",
    "settings": "the target's Spark settings",
}
_SETTINGS: Final = "spark.sql."
_NOT_DECIDING: Final = (
    "spark.sql.adaptive.",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.broadcastTimeout",
    "spark.sql.catalog",
    "spark.sql.cbo.",
    "spark.sql.codegen.",
    "spark.sql.debug.",
    "spark.sql.defaultCatalog",
    "spark.sql.event",
    "spark.sql.execution.arrow.maxRecordsPerBatch",
    "spark.sql.extensions",
    "spark.sql.files.",
    "spark.sql.iceberg.",
    "spark.sql.inMemoryColumnarStorage.",
    "spark.sql.join.",
    "spark.sql.maxMetadataStringLength",
    "spark.sql.maxPlanStringLength",
    "spark.sql.objectHashAggregate.",
    "spark.sql.optimizer.",
    "spark.sql.redaction.",
    "spark.sql.shuffle.",
    "spark.sql.statistics.",
    "spark.sql.streaming.",
    "spark.sql.ui.",
    "spark.sql.warehouse.",
)
"""Prefixes of Spark SQL settings that change how it computes, not what. All other settings count: a needless
difference costs a rebuild, a missed one costs correct results."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a derived table's rows depend on besides its files.

    ``modules``: source of the project's modules that a Python query imports, by name. ``settings``: the
    target's Spark settings. ``begins``: the points from which external tables are read. ``functions``:
    versions of lakesmith's own functions that the query calls, and checks of their salts.
    """

    modules: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    begins: Mapping[str, str] = field(default_factory=dict)
    functions: Mapping[str, str] = field(default_factory=dict)

    @property
    def deciding(self) -> dict[str, str]:
        """The settings that change what Spark computes."""
        named = sorted(self.settings.items())
        return {
            name: value
            for name, value in named
            if name.startswith(_SETTINGS) and not name.startswith(_NOT_DECIDING)
        }


NOTHING: Final = Around()


def definition_fingerprint(table: TableDefinition, around: Around = NOTHING) -> str:
    """Returns a hash of everything that determines a table's rows, 32 hexadecimal digits."""
    parts = {
        "query": _query_fingerprint(table.query, around.modules),
        "rules": sorted(rule.predicate for rule in table.checks),
        "columns": _typed(table),
        **{
            each.key: value
            for each, value, is_set in _settings(table)
            if is_set or (each.rows and each.rows.always)
        },
        **dict(_of_windows(table)),
        **({"begins": dict(around.begins)} if around.begins else {}),
        **({"settings": around.deciding} if around.deciding else {}),
        **({"functions": dict(around.functions)} if around.functions else {}),
    }
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def definition_parts(table: TableDefinition, around: Around = NOTHING) -> dict[str, str]:
    """Returns a hash of 12 hexadecimal digits for each part of the definition that is set, by name.

    The parts cover what ``definition_fingerprint`` covers. A part that is not set has no hash, so a record
    from before a setting existed equals one that leaves it out.
    """
    parts = dict(_parts(table, around))
    return {
        name: hashlib.sha256(json.dumps(part).encode()).hexdigest()[:12]
        for name, part in parts.items()
        if part
    }


def what_changed(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """What differs between the parts of two definitions that are not the same, in words: a clause.

    ``before`` is empty where a record was written before its parts were kept.

    >>> what_changed({"query": "a", "key": "b"}, {"query": "c", "rules": "d"})
    'its query, its key and its rules have changed'
    >>> what_changed({"query": "a"}, {"query": "a", "module lib.prices": "b"})
    'its module lib.prices has changed'
    >>> what_changed({}, {"query": "a"})
    'its definition has changed'
    """
    differing = {name for name in {*before, *now} if before.get(name) != now.get(name)} if before else set()
    modules = sorted(name for name in differing if name.startswith((_MODULE, _FUNCTION)))
    words = [
        *(text for name, text in _WORDS.items() if name in differing),
        *(f"its {name}" for name in modules),
    ]
    if not words:
        return "its definition has changed"
    several = len(words) > 1 or (not modules and words[0].endswith("s"))
    listed = " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
    return f"{listed} {'have' if several else 'has'} changed"


def _parts(table: TableDefinition, around: Around) -> Iterator[tuple[str, object]]:
    query = table.query
    if isinstance(query, SqlQuery):
        yield "query", _sql(query.text)
    elif query is not None:
        yield "query", _normal(query.source)
        yield "function", query.function
        yield "inputs", [(parameter, str(name)) for parameter, name in query.arguments]
    yield "rules", sorted(rule.predicate for rule in table.rules if rule.predicate)
    yield "required", sorted(column.name for column in table.columns if column.required)
    yield "columns", _typed(table)
    yield from ((each.key, value) for each, value, is_set in _settings(table) if is_set)
    yield from _of_windows(table)
    yield "begins", sorted(around.begins.items())
    yield "settings", around.deciding
    yield from ((f"{_MODULE}{name}", _normal(source)) for name, source in around.modules.items())
    yield from ((f"{_FUNCTION}{name}", version) for name, version in around.functions.items())


def _query_fingerprint(query: SqlQuery | PythonQuery | None, modules: Mapping[str, str]) -> str | None:
    if query is None:
        return None
    if isinstance(query, SqlQuery):
        return _sql(query.text)
    arguments = [(parameter, str(name)) for parameter, name in query.arguments]
    imported = [(name, _normal(source)) for name, source in sorted(modules.items())]
    return json.dumps([_normal(query.source), query.function, arguments, *([imported] if imported else [])])


# The whole and its part come from the same text.
@lru_cache(maxsize=256)
def _sql(text: str) -> str:
    return sql_fingerprint(text)


@lru_cache(maxsize=256)
def _normal(source: str) -> str:
    # Not ast.dump: its output differs between versions of Python.
    return ast.unparse(ast.parse(source))


def _settings(table: TableDefinition) -> Iterator[tuple[Setting, object, bool]]:
    """The settings that decide the rows: each with its value, and whether that is not the default."""
    defaults = {each.name: each.default for each in fields(table)}
    for name, declared in settings_of(type(table)).items():
        if declared.rows is not None and declared.rows.compared != "own":
            value = getattr(table, name)
            yield declared, _COMPARED[declared.rows.compared](value), value != defaults[name]


def _of_windows(table: TableDefinition) -> Iterator[tuple[str, object]]:
    for name, declared in settings_of(Emit).items() if table.emit else ():
        if declared.rows is not None:
            yield declared.key, getattr(table.emit, name)


def _typed(table: TableDefinition) -> list[tuple[str, str]]:
    """The columns with a type; documentation alone makes no other column."""
    return [(column.name, column.type) for column in table.columns if column.type is not None]


def _names(value: Iterable[object]) -> list[str]:
    return sorted(str(name).lower() for name in value)


_COMPARED: Final[Mapping[Comparison, Callable[[Any], object]]] = {
    "value": lambda value: value,
    "sql": lambda value: _sql(value) if value else None,
    "names": _names,
}
"""What of a setting's value counts."""
