"""The fingerprint of a definition: what a table's rows depend on besides its inputs.

Formatting and comments do not count, in SQL nor in Python. Descriptions, owners and tags do not either.
"""

from __future__ import annotations

import ast
import hashlib
import json

from lakesmith.graph.sql_fingerprint import fingerprint as sql_fingerprint
from lakesmith.project.definitions import PythonQuery, SqlQuery, TableDefinition


def definition_fingerprint(table: TableDefinition) -> str:
    """A hash of everything that decides a table's rows, 32 hexadecimal digits."""
    parts = {
        "query": _query_fingerprint(table.query),
        "key": table.key,
        "latest_by": table.latest_by,
        "delete_when": sql_fingerprint(table.delete_when) if table.delete_when else None,
        "rules": sorted(rule.predicate for rule in table.checks),
        "columns": [(column.name, column.type) for column in table.columns],
        "history": table.history.value,
    }
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _query_fingerprint(query: SqlQuery | PythonQuery | None) -> str | None:
    if query is None:
        return None
    if isinstance(query, SqlQuery):
        return sql_fingerprint(query.text)
    arguments = [(parameter, str(name)) for parameter, name in query.arguments]
    # Not ast.dump: what that writes differs from one version of Python to the next.
    return json.dumps([ast.unparse(ast.parse(query.source)), query.function, arguments])
