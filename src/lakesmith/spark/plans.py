"""Spark's analysed plans, read through the driver's gateway."""

from __future__ import annotations

from typing import Any, Final

from lakesmith.execute.engine import NotIncremental

_CLOCKS: Final = frozenset(
    {"CurrentDate", "CurrentTimestamp", "Now", "LocalTimestamp", "CurrentTime", "CurrentTimeZone"}
)
_SUBQUERIES: Final = frozenset({"Exists", "ListQuery"})
_PYTHON: Final = frozenset({"PythonUDF"})


def require_pure(node: Any, trust_python: bool) -> None:
    """Raises NotIncremental unless every expression of a plan's node is fixed by its row.

    ``trust_python``: the author says that the Python functions in it are deterministic.
    """
    waiting = items(node.expressions())
    while waiting:
        expression = waiting.pop()
        kind = expression.getClass().getSimpleName()
        untrusted = kind in _PYTHON and not trust_python
        reads_more = kind.endswith("Subquery") or kind in _SUBQUERIES
        if untrusted or reads_more or not expression.deterministic() or kind in _CLOCKS:
            raise NotIncremental(
                f"the query calls {expression.prettyName()}, whose result is not fixed by the row"
            )
        waiting.extend(items(expression.children()))


def items(sequence: Any) -> list[Any]:
    """The elements of a Scala Seq."""
    return [sequence.apply(number) for number in range(sequence.size())]
