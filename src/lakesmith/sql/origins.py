"""Where the columns of a query come from, as far as its text tells (sqlglot's lineage)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.lineage import Node, lineage
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import build_scope

from lakesmith.sql.parse import parse

Origin = tuple[str, str]
"""A table ``layer.name`` and a column of it."""
Schema = tuple[str, tuple[tuple[str, str], ...]]
"""A table ``layer.name`` with the names and types of its columns."""


@lru_cache(maxsize=500)
def origins(sql: str, schemas: tuple[Schema, ...]) -> Mapping[str, tuple[Origin, ...] | None]:
    """Returns for each column of a query the columns that its values are made from; none: a constant, or a
    count of rows. None: the text does not tell, as for a field that a function of Spark returns.

    Empty if nothing is known: the columns of a table are not known, or sqlglot does not understand it.
    """
    known = {table.lower(): {name.lower(): kind for name, kind in columns} for table, columns in schemas}
    nested: dict[str, Any] = {}
    for table, columns in known.items():
        layer, _, name = table.partition(".")
        nested.setdefault(layer, {})[name] = columns
    try:
        query = qualify(
            parse(sql).tree.copy(),
            dialect="spark",
            schema=nested,
            validate_qualify_columns=False,
            quote_identifiers=False,
        )
        scope = build_scope(query)
        names = query.named_selects
    except Exception:  # noqa: BLE001 - it fails in many ways, and then nothing is known
        return {}
    found: dict[str, tuple[Origin, ...] | None] = {}
    for name in names:
        try:
            leaves = lineage(name, query, schema=nested, dialect="spark", scope=scope).walk()
            found[name.lower()] = _origins([each for each in leaves if not each.downstream], known)
        except Exception:  # noqa: BLE001
            found[name.lower()] = None
    return found


def _origins(leaves: list[Node], known: Mapping[str, Mapping[str, str]]) -> tuple[Origin, ...] | None:
    found = dict[Origin, None]()
    for leaf in leaves:
        if isinstance(leaf.expression, exp.Table):
            table = f"{leaf.expression.db}.{leaf.expression.name}".lower()
            column = exp.to_column(leaf.name).name.lower()
            if column not in known.get(table, {}):
                return None
            found[table, column] = None
        elif any(_unknown(leaf.expression)):
            return None
    return tuple(sorted(found))


def _unknown(expression: exp.Expr) -> Iterator[bool]:
    yield from (isinstance(each, exp.Column | exp.Placeholder) for each in expression.walk())
