"""What a query's text says against an incremental refresh by key.

A proposal only: Spark's analysed plan decides (``spark.catalyst.key_columns``). A query let through here and
refused there costs a batch begun in vain; one refused here is never tried.
"""

from collections.abc import Iterator

from sqlglot import exp

from lakesmith.sql.functions import nondeterministic
from lakesmith.sql.parse import Parsed
from lakesmith.sql.scope import cte_of, is_function

_CUT = {"limit": "LIMIT", "offset": "OFFSET", "sample": "TABLESAMPLE", "pivots": "PIVOT"}


def why_not_by_keys(parsed: Parsed) -> str | None:
    """Returns the first thing in the text that prevents it, for people; None if nothing does."""
    if any(token.text == "|>" for token in parsed.tokens):
        return "the pipe |>"
    if chance := nondeterministic(parsed.sql, parsed.tokens):
        return f"{chance[0]}, whose value is not decided by the row"
    for node in parsed.tree.walk():
        for reason in _against(node):
            return reason
    return None


def what_merges(node: exp.Expr) -> str | None:
    """Returns what merges rows on every way from the inputs to the result; None if nothing does.

    It mirrors ``spark.catalyst.arrival``, whose walk over Spark's plan decides.
    """
    if isinstance(node, exp.Subquery):
        return what_merges(node.this)
    if isinstance(node, exp.Table) and not is_function(node):
        cte = cte_of(node)
        if cte is None:
            return None
        return "WITH RECURSIVE" if cte.parent and cte.parent.args.get("recursive") else what_merges(cte.this)
    if isinstance(node, exp.Union) and not node.args.get("distinct"):
        parts = [what_merges(node.this), what_merges(node.expression)]
        return parts[0] if None not in parts else None
    return _select_merges(node) if isinstance(node, exp.Select) else node.key.upper()


def _select_merges(select: exp.Select) -> str | None:
    for name, word in (("group", "GROUP BY"), ("distinct", "DISTINCT"), *_CUT.items()):
        if select.args.get(name):
            return word
    if any(_aggregates(select, item) for item in select.expressions):
        return "an aggregate of all rows"
    joined = (
        join.this
        for join in select.args.get("joins") or ()
        if (join.kind or "").upper() not in ("SEMI", "ANTI")
    )
    from_ = select.args.get("from_")
    found = [what_merges(source) for source in (*([from_.this] if from_ else []), *joined)]
    return None if None in found else next(iter(found), "a SELECT that reads no table")


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
    """Whether the item has an aggregate of this SELECT that is not a window function."""
    found = (each for each in item.find_all(exp.AggFunc) if each.find_ancestor(exp.Select) is select)
    return any(not isinstance(each.parent, exp.Window | exp.IgnoreNulls) for each in found)


def _is_value(node: exp.Expr) -> bool:
    """A query used as a value, not in EXISTS or IN."""
    outer = node.parent
    while isinstance(outer, exp.Subquery | exp.Paren):
        outer = outer.parent
    tables = exp.From | exp.Join | exp.CTE | exp.SetOperation | exp.Lateral | exp.With | exp.Exists | exp.In
    return outer is not None and not isinstance(outer, tables)
