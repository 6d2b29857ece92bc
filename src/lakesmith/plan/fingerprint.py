"""The fingerprint of a definition: what a table's rows depend on besides its inputs.

Formatting and comments do not count, in SQL nor in Python. Descriptions, owners and tags do not either.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Mapping

from lakesmith.graph.sql_fingerprint import fingerprint as sql_fingerprint
from lakesmith.project.definitions import PythonQuery, SqlQuery, TableDefinition

_NO_MODULES: Mapping[str, str] = {}


def definition_fingerprint(table: TableDefinition, modules: Mapping[str, str] = _NO_MODULES) -> str:
    """A hash of everything that decides a table's rows, 32 hexadecimal digits.

    ``modules``: the project's own modules that a Python query imports, source by name.
    """
    parts = {
        "query": _query_fingerprint(table.query, modules),
        "key": table.key,
        "latest_by": table.latest_by,
        "delete_when": sql_fingerprint(table.delete_when) if table.delete_when else None,
        "rules": sorted(rule.predicate for rule in table.checks),
        "columns": [(column.name, column.type) for column in table.columns],
        "history": table.history.value,
    }
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _query_fingerprint(query: SqlQuery | PythonQuery | None, modules: Mapping[str, str]) -> str | None:
    if query is None:
        return None
    if isinstance(query, SqlQuery):
        return sql_fingerprint(query.text)
    arguments = [(parameter, str(name)) for parameter, name in query.arguments]
    imported = [(name, _normal(source)) for name, source in sorted(modules.items())]
    return json.dumps([_normal(query.source), query.function, arguments, *([imported] if imported else [])])


def _normal(source: str) -> str:
    # Not ast.dump: what that writes differs from one version of Python to the next.
    return ast.unparse(ast.parse(source))
