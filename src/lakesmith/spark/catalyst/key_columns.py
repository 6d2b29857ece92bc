"""Finds the key columns of a query: those that identify the rows which a change can reach.

A set of output columns is *key columns* of a query Q if this holds: if Q's rows with a value v of those
columns differ after a change of an input, then v is among the values that Q, *relaxed*, gives over the
changed rows alone (in place of the changed input, the other inputs as they are). Then the relaxed query
gives the keys to recompute, and no others can differ. It holds node by node of Spark's analysed plan, with C
the key columns of a node:

- a table: all columns; a projection: what is computed from C alone; DISTINCT: C
- values that are grouped, made distinct or partitioned by and can be equal and not the same (0.0 and -0.0,
  maps in another order) are key columns by these values only, not by what is computed from them: over the
  changed rows alone another value may represent the group
- a filter: C; relaxed, it filters on C alone, as values computed of several rows differ over the changed
  rows
- GROUP BY: what is computed from C alone without aggregates; a window function: those of its PARTITION BY in
  C
- an inner join: C of both sides; a left, semi or anti join: C of the left side (a right join: of the right).
  Relaxed, it is on C alone; a change of the side without key columns reaches the rows that match it: the
  join is then an inner (semi) join
- UNION ALL: the columns that are in C of every part; relaxed, parts that do not read the changed input are
  left out. EXCEPT and INTERSECT: the same; relaxed, they are a UNION ALL
- explode and the like of C: C, and what they make

Other nodes have no key columns: the table is refreshed in full. The same pass finds the one column of an
input that determines the value of a key column (its ``Origin``).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from lakesmith.execute.engine import NeverIncremental
from lakesmith.project.definitions import TableName
from lakesmith.spark.catalyst.joins import on_both_sides, require_known, seen_of_join
from lakesmith.spark.catalyst.key_origins import Origin, Origins, origin_of
from lakesmith.spark.catalyst.node_facts import NodeFacts, has_equals, is_of_merged, shared_origins
from lakesmith.spark.catalyst.tree import (
    Occurrence,
    Occurrences,
    Plans,
    analysed,
    conjuncts,
    id_of,
    items,
    kind_of,
    node_kind,
    occurrence_of,
    output_of,
    parts_of,
    references,
    require_pure,
)

_SAME: Final = frozenset(
    {"SubqueryAlias", "View", "ResolvedHint", "Sort", "Repartition", "RepartitionByExpression"}
)
_CONSTANT: Final = frozenset({"LocalRelation", "OneRowRelation", "Range"})
_SESSION: Final = "spark.sessionWindow"
"""The metadata by which Spark marks a session window's column."""
_AGGREGATES: Final = frozenset({"AggregateExpression", "WindowExpression"})


@dataclass(frozen=True)
class Keys:
    """The positions of the key columns in a result, at least one, and the origins of each.

    ``alone``: the tables that are joined with themselves. Their changed rows are given to one occurrence at a
    time: given to all at once, they would only be joined with each other.
    """

    positions: tuple[int, ...]
    origins: tuple[Origins, ...]
    alone: frozenset[TableName] = frozenset()


def key_columns(frame: DataFrame, occurrences: Occurrences, trust_python: bool) -> Keys:
    """Returns the key columns of a query's result.

    ``occurrences``: of the query's inputs. ``trust_python``: its Python functions are declared deterministic.
    Raises NeverIncremental if no column qualifies, with the reason.
    """
    walk = _PlanPass(frame.sparkSession, occurrences, trust_python=trust_python)
    plan = analysed(frame)
    seen = walk.of(walk.plans.without_subqueries(plan))
    output = [id_of(column) for column in items(plan.output())]
    found = tuple(number for number, column in enumerate(output) if column in seen.key_ids)
    if not found:
        raise NeverIncremental("no column of its result tells which rows a change reaches")
    origins = tuple(seen.origins.get(output[number], {}) for number in found)
    return Keys(found, origins, frozenset(walk.alone))


def relaxed(frame: DataFrame, occurrences: Occurrences, changed: frozenset[Occurrence]) -> DataFrame | None:
    """Returns the query for the touched keys: the ``changed`` occurrences have changed rows alone.

    None if its result does not depend on them.
    """
    walk = _PlanPass(frame.sparkSession, occurrences, changed=changed)
    seen = walk.of(walk.plans.without_subqueries(analysed(frame)))
    return walk.plans.frame(seen.plan) if changed & seen.occurrences else None


class _PlanPass:
    """One pass over a plan from the result down. Columns have numbers that are unique in the plan."""

    def __init__(
        self,
        spark: SparkSession,
        occurrences: Occurrences,
        trust_python: bool | None = None,
        changed: frozenset[Occurrence] = frozenset(),
    ) -> None:
        self.plans = Plans(spark)
        self.alone: set[TableName] = set()
        self._occurrences, self._changed = occurrences, changed
        self._trust_python = trust_python
        self._ctes: dict[int, tuple[NodeFacts, list[int]]] = {}
        self._of: Mapping[str, Callable[[Any], NodeFacts]] = {
            "Project": self._project,
            "Filter": self._filter,
            "Aggregate": self._aggregate,
            "Window": self._window,
            "Join": self._join,
            "Union": self._union,
            "Except": self._union,
            "Intersect": self._union,
            "Generate": self._generate,
            "Expand": self._expand,
            "WithCTE": self._with_cte,
            "CTERelationRef": self._cte,
            "Distinct": self._distinct,
            "Deduplicate": self._deduplicate,
            **dict.fromkeys(_SAME, self._same),
        }

    def of(self, node: Any) -> NodeFacts:
        """Returns the facts of a node. Raises NeverIncremental if no rule covers it."""
        kind = node_kind(node)
        if (occurrence := occurrence_of(node, self._occurrences)) is not None:
            return _whole_input(node, occurrence)
        if self._trust_python is not None:
            require_pure(node, self._trust_python, by_bytes=True)
        if kind in self._of:
            seen = self._of[kind](node)
            return seen if self._changed & seen.occurrences else replace(seen, plan=node)
        if kind in _CONSTANT:
            return NodeFacts(frozenset(map(id_of, items(node.output()))), node)
        raise NeverIncremental(f"Spark's plan of the query has a {kind}")

    def _same(self, node: Any) -> NodeFacts:
        below = self._below(node)
        child = [id_of(column) for column in items(node.children().apply(0).output())]
        return self._renamed(below, child, node, self.plans.over(node, [below.plan]))

    def _distinct(self, node: Any) -> NodeFacts:
        return self._same(node).merging(items(node.output()))

    def _deduplicate(self, node: Any) -> NodeFacts:
        """``distinct()`` of a DataFrame. Of rows that are equal in some columns only, any may remain."""
        if frozenset(output_of(node)) != frozenset(map(id_of, items(node.keys()))):
            raise NeverIncremental("it keeps any one of the rows that are alike in some columns")
        return self._distinct(node)

    def _below(self, node: Any) -> NodeFacts:
        (child,) = items(node.children())
        return self.of(child)

    def _renamed(self, below: NodeFacts, columns: Sequence[int], node: Any, plan: Any) -> NodeFacts:
        """The same columns under the numbers that the node gives them."""
        output = output_of(node, len(columns))
        pairs = list(zip(columns, output, strict=True))
        key_ids = frozenset(new for old, new in pairs if old in below.key_ids)
        origins = {new: below.origins[old] for old, new in pairs if old in below.origins}
        merged = frozenset(new for old, new in pairs if old in below.merged)
        return NodeFacts(key_ids, plan, below.occurrences, origins, merged)

    def _project(self, node: Any) -> NodeFacts:
        below = self._below(node)
        return self._computed(items(node.projectList()), below, self.plans.over(node, [below.plan]))

    def _computed(self, expressions: list[Any], below: NodeFacts, plan: Any) -> NodeFacts:
        key_ids, origins, merged = set(), {}, set()
        for expression in expressions:
            used = references(expression)
            # A constant identifies nothing: all rows have it.
            if not used or not below.decides(expression) or _aggregates(expression):
                continue
            made = id_of(expression.toAttribute())
            key_ids.add(made)
            if used & below.merged:
                merged.add(made)
            if found := origin_of(expression, below.origins):
                origins[made] = found
        return NodeFacts(frozenset(key_ids), plan, below.occurrences, origins, frozenset(merged))

    def _filter(self, node: Any) -> NodeFacts:
        below = self._below(node)
        kept = [part for part in conjuncts(node.condition()) if below.decides(part)]
        return replace(below, plan=self.plans.filtered(below.plan, kept))

    def _aggregate(self, node: Any) -> NodeFacts:
        if not items(node.groupingExpressions()):
            raise NeverIncremental("it aggregates without GROUP BY: one row for all rows of its input")
        if any(column.metadata().contains(_SESSION) for column in items(node.references().toSeq())):
            raise NeverIncremental("a new row can merge two session windows")
        below, given = self._below(node), items(node.aggregateExpressions())
        groups = items(node.groupingExpressions())
        fixed = [each for each in given if not is_of_merged(each, groups)]
        return self._computed(fixed, below, self.plans.over(node, [below.plan])).merging(
            [each.toAttribute() for each in given]
        )

    def _window(self, node: Any) -> NodeFacts:
        below = self._below(node)
        parts = [references(part) for part in items(node.partitionSpec())]
        found = below.key_ids & frozenset().union(*parts)
        if not found:
            raise NeverIncremental("a window function has no PARTITION BY over columns of the inputs")
        origins = {column: origin for column, origin in below.origins.items() if column in found}
        seen = NodeFacts(
            found, self.plans.over(node, [below.plan]), below.occurrences, origins, below.merged & found
        )
        return seen.merging(items(node.partitionSpec()))

    def _join(self, node: Any) -> NodeFacts:
        require_known(node)
        sides = (self.of(node.left()), self.of(node.right()))
        self.alone |= on_both_sides(sides)
        return seen_of_join(node, sides, self.plans, self._changed)

    def _union(self, node: Any) -> NodeFacts:
        parts = [(self.of(child), output_of(child)) for child in items(node.children())]
        output = output_of(node, len(parts[0][1]))
        key_ids, origins, merged = set(), {}, set()
        merges = node_kind(node) != "Union"
        for number, column in enumerate(output):
            # EXCEPT and INTERSECT give 0.0 for -0.0, which their parts alone do not.
            if merges and has_equals(items(node.output())[number]):
                continue
            if all(columns[number] in part.key_ids for part, columns in parts):
                key_ids.add(column)
                origins[column] = shared_origins([(part, columns[number]) for part, columns in parts])
                if any(columns[number] in part.merged for part, columns in parts):
                    merged.add(column)
        occurrences = frozenset().union(*(part.occurrences for part, _ in parts))
        plan = self.plans.union([self._part(part) for part, _ in parts])
        return NodeFacts(frozenset(key_ids), plan, occurrences, origins, frozenset(merged))

    def _part(self, part: NodeFacts) -> Any:
        return part.plan if self._changed & part.occurrences else self.plans.empty(part.plan)

    def _generate(self, node: Any) -> NodeFacts:
        below = self._below(node)
        if not below.decides(node.generator()):
            # It may make no row of the changed rows although it makes some of all rows.
            raise NeverIncremental("it explodes what an aggregate or a window function computed")
        key_ids = below.key_ids | frozenset(map(id_of, items(node.generatorOutput())))
        return replace(below, key_ids=key_ids, plan=self.plans.over(node, [below.plan]))

    def _expand(self, node: Any) -> NodeFacts:
        below = self._below(node)
        key_ids, origins, merged = set(), {}, set()
        rows = [items(row) for row in items(node.projections())]
        for column, values in zip(output_of(node, len(rows[0])), zip(*rows, strict=True), strict=True):
            if not all(map(below.decides, values)):
                continue
            key_ids.add(column)
            if any(references(value) & below.merged for value in values):
                merged.add(column)
            found = [origin_of(value, below.origins) for value in values]
            if found[0] and all(each == found[0] for each in found):
                origins[column] = found[0]
        plan = self.plans.over(node, [below.plan])
        return NodeFacts(frozenset(key_ids), plan, below.occurrences, origins, frozenset(merged))

    def _with_cte(self, node: Any) -> NodeFacts:
        definitions = []
        for definition in items(node.cteDefs()):
            seen = self.of(definition.child())
            self._ctes[int(definition.id())] = (seen, output_of(definition.child()))
            definitions.append(self.plans.over(definition, [seen.plan]))
        result = self.of(node.plan())
        plan = self.plans.over(node, [*definitions, result.plan])
        return replace(result, plan=plan)

    def _cte(self, node: Any) -> NodeFacts:
        seen, columns = self._ctes[int(node.cteId())]
        return self._renamed(seen, columns, node, node)


def _whole_input(node: Any, occurrence: Occurrence) -> NodeFacts:
    columns = items(node.output())
    origins = {id_of(column): {occurrence: Origin(str(column.name()))} for column in columns}
    return NodeFacts(frozenset(origins), node, frozenset({occurrence}), origins)


def _aggregates(expression: Any) -> bool:
    return any(kind_of(part) in _AGGREGATES for part in parts_of(expression))
