"""Which columns of a query's result tell the rows that a change of its inputs can reach.

A set of output columns *tells* the changes of a query Q when this holds: if Q's rows with a value v of those columns are others
after a change of its inputs, then v is among the values that Q gives over the changed rows alone (in place of the input that
changed, the other inputs as they are). Then Q over the changed rows names the keys that have to be computed anew, and no
others can differ. It holds node by node of Spark's analysed plan, with C the columns of a node that tell its changes:

- a table: all columns; a projection: what is computed from C alone; a filter that asks for C alone: C
- GROUP BY: what is computed from C alone without aggregates; DISTINCT: C
- a window function: those of its PARTITION BY that are in C; one ``rank <= n`` of it may be asked for, as every key has a first row
- an inner join on C of both sides: C of both; a left (semi) join: C of the left side
- UNION ALL: the columns that are in C of every part; explode and the like of C: C, and what they make

Whatever is not listed has no such columns here: the table is then computed as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pyspark.sql import DataFrame

from lakesmith.execute.engine import NotIncremental
from lakesmith.spark.plans import items, require_pure

_RANKS: Final = frozenset({"RowNumber", "Rank", "DenseRank"})
_SAME: Final = frozenset(
    {"SubqueryAlias", "View", "ResolvedHint", "Sort", "Distinct", "Repartition", "RepartitionByExpression"}
)
_TABLES: Final = frozenset({"DataSourceV2Relation", "LocalRelation", "OneRowRelation"})
_JOINS: Final = {"INNER": "both", "CROSS": "both", "LEFT OUTER": "left", "LEFT SEMI": "left"}

_Ids = frozenset[int]


def key_columns(frame: DataFrame, trust_python: bool) -> tuple[int, ...]:
    """The positions of the result's columns that tell its changes; at least one.

    ``trust_python``: the author says that the Python functions in it are deterministic. Raises NotIncremental without any,
    saying what stands against it.
    """
    execution: Any = frame._jdf.queryExecution()
    plan = execution.analyzed()
    told = _Walk(trust_python).told(plan)
    found = tuple(number for number, column in enumerate(items(plan.output())) if _id(column) in told)
    if not found:
        raise NotIncremental("no column of its result tells which rows a change reaches")
    return found


class _Walk:
    """One pass over a plan from the result down. Sets are of attributes' ids, unique within the plan."""

    def __init__(self, trust_python: bool) -> None:
        self._trust_python = trust_python
        self._ctes: dict[int, list[bool]] = {}
        self._cte_tables: dict[int, frozenset[str]] = {}
        self._ranks: set[int] = set()
        self._of: Mapping[str, Callable[[Any], _Ids]] = {
            "Project": self._project,
            "Filter": self._filter,
            "Aggregate": self._aggregate,
            "Window": self._window,
            "Join": self._join,
            "Union": self._union,
            "Generate": self._generate,
            "Expand": self._expand,
            "WithCTE": self._with_cte,
            "CTERelationRef": self._cte,
            **dict.fromkeys(_SAME, self._same),
        }

    def told(self, node: Any) -> _Ids:
        """The columns of the node that tell its changes."""
        kind = str(node.nodeName())
        children = items(node.children())
        require_pure(node, self._trust_python)
        if kind in self._of:
            return self._of[kind](node)
        if children or kind not in _TABLES:
            raise NotIncremental(f"Spark's plan of the query has a {kind}")
        return frozenset(map(_id, items(node.output())))

    def _same(self, node: Any) -> _Ids:
        (child,) = items(node.children())
        told = self.told(child)
        return _placed(node, [_id(column) in told for column in items(child.output())])

    def _project(self, node: Any) -> _Ids:
        told = self.told(node.child())
        return self._computed(items(node.projectList()), told)

    def _computed(self, expressions: list[Any], told: _Ids) -> _Ids:
        found = set()
        for expression in expressions:
            references = _references(expression)
            made = _id(expression.toAttribute())
            # A constant tells nothing: all rows have it.
            if references and references <= told and not _aggregates(expression):
                found.add(made)
            if len(references) == 1 and references <= self._ranks and _is_name(expression):
                self._ranks.add(made)
        return frozenset(found)

    def _filter(self, node: Any) -> _Ids:
        told = self.told(node.child())
        others = [part for part in _conjuncts(node.condition()) if not _references(part) <= told]
        if len(others) > 1 or not all(map(self._keeps_first, others)):
            raise NotIncremental(
                "a condition is on what was computed of several rows, so a change may take rows in or out"
            )
        if others:
            # Of the rows that one rank keeps another may keep none.
            self._ranks.clear()
        return told

    def _keeps_first(self, condition: Any) -> bool:
        """``rank = 1``, ``rank <= n``, ``rank < n``: of any rows with a key, some are kept."""
        bound = {"EqualTo": 1, "LessThanOrEqual": 1, "LessThan": 2}.get(_kind(condition))
        if bound is None or _kind(condition.right()) != "Literal" or not _is_name(condition.left()):
            return False
        value = condition.right().value()
        exact = _kind(condition) != "EqualTo" or value == bound
        return (
            _references(condition.left()) <= self._ranks
            and isinstance(value, int)
            and value >= bound
            and exact
        )

    def _aggregate(self, node: Any) -> _Ids:
        if not items(node.groupingExpressions()):
            raise NotIncremental("it has one row for all rows of its input")
        told = self.told(node.child())
        return self._computed(items(node.aggregateExpressions()), told)

    def _window(self, node: Any) -> _Ids:
        told = self.told(node.child())
        for expression in items(node.windowExpressions()):
            if _ranks(expression):
                self._ranks.add(_id(expression.toAttribute()))
        parts = [_references(part) for part in items(node.partitionSpec())]
        found = told & frozenset().union(*parts)
        if not found:
            raise NotIncremental("a window function looks at rows of all keys")
        return found

    def _join(self, node: Any) -> _Ids:
        kind = str(node.joinType().sql())
        if kind not in _JOINS:
            raise NotIncremental(f"a {kind} JOIN")
        left, right = self.told(node.left()), self.told(node.right())
        if both := self._tables(node.left()) & self._tables(node.right()):
            # Run over the changed rows alone, it would join those with each other only.
            raise NotIncremental(f"it joins {', '.join(sorted(both))} with itself")
        condition = node.condition()
        if not condition.isEmpty() and not _references(condition.get()) <= left | right:
            raise NotIncremental("a join is on what was computed of several rows")
        return left | right if _JOINS[kind] == "both" else left

    def _tables(self, node: Any) -> frozenset[str]:
        """The names of the tables that the node reads."""
        kind = str(node.nodeName())
        if kind == "CTERelationRef":
            return self._cte_tables[int(node.cteId())]
        if kind == "DataSourceV2Relation":
            return frozenset({str(node.table().name())})
        return frozenset().union(*map(self._tables, items(node.children())))

    def _union(self, node: Any) -> _Ids:
        parts = []
        for child in items(node.children()):
            told = self.told(child)
            parts.append([_id(column) in told for column in items(child.output())])
        return _placed(node, [all(told) for told in zip(*parts, strict=True)])

    def _generate(self, node: Any) -> _Ids:
        told = self.told(node.child())
        if not _references(node.generator()) <= told:
            # It may make no row of the changed rows where it makes some of all rows.
            raise NotIncremental("rows are made of what was computed of several rows")
        return told | frozenset(map(_id, items(node.generatorOutput())))

    def _expand(self, node: Any) -> _Ids:
        told = self.told(node.child())
        rows = [[_references(each) <= told for each in items(row)] for row in items(node.projections())]
        return _placed(node, [all(column) for column in zip(*rows, strict=True)])

    def _with_cte(self, node: Any) -> _Ids:
        for definition in items(node.cteDefs()):
            told = self.told(definition.child())
            columns = items(definition.child().output())
            self._ctes[int(definition.id())] = [_id(column) in told for column in columns]
            self._cte_tables[int(definition.id())] = self._tables(definition.child())
        return self.told(node.plan())

    def _cte(self, node: Any) -> _Ids:
        return _placed(node, self._ctes[int(node.cteId())])


def _placed(node: Any, told: list[bool]) -> _Ids:
    """The node's columns at the places that are told."""
    columns = items(node.output())
    if len(columns) != len(told):
        raise NotIncremental(f"Spark's plan of the query has a {node.nodeName()} of other columns")
    return frozenset(_id(column) for column, known in zip(columns, told, strict=True) if known)


def _id(attribute: Any) -> int:
    return int(attribute.exprId().id())


def _kind(expression: Any) -> str:
    return str(expression.getClass().getSimpleName())


def _is_name(expression: Any) -> bool:
    """A column as it is, under its name or another."""
    return _kind(expression) == "AttributeReference" or (
        _kind(expression) == "Alias" and _kind(expression.child()) == "AttributeReference"
    )


def _references(expression: Any) -> _Ids:
    return frozenset(map(_id, items(expression.references().toSeq())))


def _conjuncts(condition: Any) -> list[Any]:
    if _kind(condition) != "And":
        return [condition]
    return [*_conjuncts(condition.left()), *_conjuncts(condition.right())]


def _contains(expression: Any, kinds: frozenset[str]) -> bool:
    return _kind(expression) in kinds or any(
        _contains(child, kinds) for child in items(expression.children())
    )


def _aggregates(expression: Any) -> bool:
    return _contains(expression, frozenset({"AggregateExpression", "WindowExpression"}))


def _ranks(expression: Any) -> bool:
    window = expression.child() if _kind(expression) == "Alias" else expression
    return _kind(window) == "WindowExpression" and _kind(window.windowFunction()) in _RANKS
