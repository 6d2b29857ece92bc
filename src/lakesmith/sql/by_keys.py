"""May a table be refreshed by the keys that changed rows have? What a query's text says against it.

A proposal only: Spark's analysed plan decides (see ``spark.catalyst.key_columns``). What is let through here and refused there costs a
batch that is begun in vain; what is refused here is never tried.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from lakesmith.sql.functions import nondeterministic
from lakesmith.sql.parse import Parsed

_CUT = {"limit": "LIMIT", "offset": "OFFSET", "sample": "TABLESAMPLE", "pivots": "PIVOT"}


def why_not_by_keys(parsed: Parsed) -> str | None:
    """The first thing in the text that stands against it, for people; None when nothing does."""
    if any(token.text == "|>" for token in parsed.tokens):
        return "the pipe |>"
    if chance := nondeterministic(parsed.sql, parsed.tokens):
        return f"{chance[0]}, whose value is not decided by the row"
    for node in parsed.tree.walk():
        for reason in _against(node):
            return reason
    return None


def _against(node: exp.Expr) -> Iterator[str]:
    if isinstance(node, exp.Query | exp.Table):
        yield from (word for name, word in _CUT.items() if node.args.get(name))
    if isinstance(node, exp.With) and node.recursive:
        yield "WITH RECURSIVE"
    elif isinstance(node, exp.Anonymous) and node.name.upper() == "SESSION_WINDOW":
        yield "a session window, which a new row can merge with another"
    elif isinstance(node, exp.Join) and node.side.upper() == "FULL":
        yield "FULL JOIN"
    elif isinstance(node, exp.Select):
        yield from _select(node)
    elif isinstance(node, exp.Window) and not node.args.get("partition_by") and not node.args.get("alias"):
        yield "a window function without PARTITION BY"
    elif isinstance(node, exp.Query) and _is_value(node):
        yield "a subquery in an expression"


def _select(select: exp.Select) -> Iterator[str]:
    group = select.args.get("group")
    if select.args.get("from_") is None:
        yield "a SELECT that reads no table"
    if group is None and any(_aggregates(select, item) for item in select.expressions):
        yield "one row for all rows of the input"
    if group is not None and group.find(exp.Cube, exp.Rollup, exp.GroupingSets):
        yield "GROUPING SETS, CUBE or ROLLUP"


def _aggregates(select: exp.Select, item: exp.Expr) -> bool:
    """Whether there is an aggregate of the SELECT in its item that is no window function."""
    found = (each for each in item.find_all(exp.AggFunc) if each.find_ancestor(exp.Select) is select)
    return any(not isinstance(each.parent, exp.Window | exp.IgnoreNulls) for each in found)


def _is_value(node: exp.Expr) -> bool:
    """A query that stands where a value does, and not in EXISTS or IN."""
    outer = node.parent
    while isinstance(outer, exp.Subquery | exp.Paren):
        outer = outer.parent
    tables = exp.From | exp.Join | exp.CTE | exp.SetOperation | exp.Lateral | exp.With | exp.Exists | exp.In
    return outer is not None and not isinstance(outer, tables)
