"""What the text of a Python query tells of it beside the plan that Spark makes of what it returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

_ACTIONS: Final = frozenset(
    {
        *(
            "collect",
            "count",
            "first",
            "foreach",
            "foreachPartition",
            "head",
            "isEmpty",
            "rdd",
            "show",
            "summary",
        ),
        *(
            "tail",
            "take",
            "toArrow",
            "toLocalIterator",
            "toPandas",
            "describe",
            "approxQuantile",
            "corr",
            "cov",
        ),
        *("checkpoint", "localCheckpoint", "crosstab", "freqItems", "write", "writeTo"),
    }
)
_SESSIONS: Final = frozenset({"sparkSession", "SparkSession", "getActiveSession", "getOrCreate"})

_FUNCTIONS: Final = "pyspark.sql.functions"
"""Its functions have names of actions, and only say what is to be computed."""

_GROUPINGS: Final = frozenset({"groupBy", "groupby", "rollup", "cube", "pivot"})
"""Of what these give, ``count`` makes a DataFrame."""

_NAMED: Final = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.ExceptHandler,
    ast.MatchAs,
    ast.MatchStar,
)
"""Nodes of Python's that give a name another meaning."""


def why_not_row_wise(source: str) -> str | None:
    """Why the rows a function returns may depend on more than the row they come from; None when nothing says so.

    Spark's plan of the result does not show what was computed on the way to it, by an action or in another table: a filter
    by the greatest value so far looks like one by a constant. Names are judged wherever they stand, to be on the safe side.
    """
    tree = ast.parse(source)
    functions = _names_of_functions(tree)
    for node in ast.walk(tree):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name in _ACTIONS and isinstance(node, ast.Attribute) and not _only_says(node, functions):
            return f"it uses {name} at line {node.lineno}, which looks at more than one row"
        if name in _SESSIONS and isinstance(node, ast.Attribute | ast.Name):
            return f"it uses {name} at line {node.lineno}, through which it can read other tables"
    return None


def _only_says(node: ast.Attribute, functions: frozenset[str]) -> bool:
    """Whether it is one of Spark's functions, or the count of each group: neither computes anything when it is called."""
    if ast.unparse(node.value) in functions:
        return True
    called = node.value.func if isinstance(node.value, ast.Call) else None
    return node.attr == "count" and isinstance(called, ast.Attribute) and called.attr in _GROUPINGS


def _names_of_functions(tree: ast.Module) -> frozenset[str]:
    """The names that stand for the module of Spark's functions, and for nothing else anywhere in the text."""
    imported = [each for each in ast.walk(tree) if isinstance(each, ast.Import | ast.ImportFrom)]
    bound = [pair for each in imported for pair in _bound(each)]
    given = {name for name, meaning in bound if meaning == _FUNCTIONS}
    other = {name for name, meaning in bound if meaning != _FUNCTIONS} | set(_assigned(tree))
    return frozenset(name for name in given if name.split(".")[0] not in other)


def _bound(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """The names that an import binds, and what each stands for. Without another name a module is called by all of its own."""
    package = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
    for each in node.names:
        yield each.asname or each.name, f"{package}{each.name}"


def _assigned(tree: ast.Module) -> Iterator[str]:
    """All names that are given another meaning than by an import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, _NAMED) and node.name:
            yield node.name
