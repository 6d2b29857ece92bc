"""What the text of a Python query tells of it beside the plan that Spark makes of what it returns."""

from __future__ import annotations

import ast
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


def why_not_row_wise(source: str) -> str | None:
    """Why the rows a function returns may depend on more than the row they come from; None when nothing says so.

    Spark's plan of the result does not show what was computed on the way to it, by an action or in another table: a filter
    by the greatest value so far looks like one by a constant. Names are judged wherever they stand, to be on the safe side.
    """
    for node in ast.walk(ast.parse(source)):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name in _ACTIONS and isinstance(node, ast.Attribute):
            return f"it uses {name} at line {node.lineno}, which looks at more than one row"
        if name in _SESSIONS and isinstance(node, ast.Attribute | ast.Name):
            return f"it uses {name} at line {node.lineno}, through which it can read other tables"
    return None
