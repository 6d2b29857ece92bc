"""Spark's analysed plans, read and rebuilt through the driver's gateway, and the inputs as a query reads
them.

A table named twice occurs twice, each with rows of its own: so its changed rows can be joined with all its
rows.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from lakesmith.execute.engine import NeverIncremental
from lakesmith.plan.steps import TableStep
from lakesmith.project.definitions import PythonQuery, SqlQuery, TableName
from lakesmith.spark.frames.comparable import is_collated
from lakesmith.spark.jvm.gateway import capabilities_of, java_class
from lakesmith.sql.analysis import analyse
from lakesmith.sql.functions import is_clock_word
from lakesmith.sql.log_functions import OWN_PREFIX


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One of the times that a query names ``table``, counted from 0 in its text or parameters."""

    table: TableName
    number: int = 0


Occurrences = Mapping[str, Occurrence]
"""The occurrences by the aliases under which a query's plan reads them."""


def occurrences_of(step: TableStep) -> tuple[Occurrence, ...]:
    """The occurrences of a step's inputs in its query, in the order of the inputs."""
    named = Counter(_named(step.table.query))
    return tuple(
        Occurrence(item.table, number)
        for item in step.inputs
        for number in range(named[str(item.table).lower()])
    )


def as_arguments(query: PythonQuery) -> dict[str, Occurrence]:
    """Which occurrence each parameter of a Python table is."""
    seen: defaultdict[TableName, Iterator[int]] = defaultdict(count)
    return {parameter: Occurrence(table, next(seen[table])) for parameter, table in query.arguments}


def _named(query: SqlQuery | PythonQuery | None) -> list[str]:
    if isinstance(query, SqlQuery):
        return [reference.name.lower() for reference in analyse(query.text).references]
    return [str(table).lower() for _, table in query.arguments] if query else []


_CLOCKS: Final = frozenset(
    {
        *("CurrentDate", "CurrentTimestamp", "Now", "LocalTimestamp", "CurrentTime", "CurrentTimeZone"),
        *("CurrentUser", "CurrentCatalog", "CurrentDatabase", "SparkVersion", "AesEncrypt"),
    }
)
"""Functions of the time, the session or chance that Spark considers fixed within a query."""
_COLLATING: Final = frozenset({"Collate", "Cast"})
_MOMENTS: Final = frozenset({"date", "timestamp", "timestamp_ntz"})
_SUBQUERIES: Final = frozenset({"Exists", "ListQuery"})


def analysed(frame: DataFrame) -> Any:
    execution: Any = frame._jdf.queryExecution()
    return execution.analyzed()


def require_pure(node: Any, trust_python: bool, by_bytes: bool = False) -> None:
    """Raises NeverIncremental unless every expression of a plan's node depends on its row alone.

    ``trust_python``: its Python functions are declared deterministic. ``by_bytes``: texts must be compared by
    bytes, too, not by a collation.
    """
    for root in items(node.expressions()):
        for expression in parts_of(root):
            reason = _why_not_fixed(expression, trust_python)
            if reason is None and by_bytes and _is_collated(expression):
                reason = "texts of a collation, by which different ones are equal"
            if reason is not None:
                raise NeverIncremental(reason)


def _why_not_fixed(expression: Any, trust_python: bool) -> str | None:
    kind = kind_of(expression)
    is_own = kind == "PythonUDF" and str(expression.name()).startswith(OWN_PREFIX)
    untrusted = kind.startswith("Python") and not trust_python and not is_own
    reads_more = kind.endswith("Subquery") or kind in _SUBQUERIES
    if untrusted or reads_more or kind in _CLOCKS or _is_chance(expression):
        return f"the query calls {expression.prettyName()}, whose result is not fixed by the row"
    if kind == "OuterReference":
        return "a subquery within a subquery names columns from around it"
    if kind == "Cast" and _is_of_clock(expression):
        return "the query makes a date or a time of a word such as 'today'"
    return None


def chance_in(plan: Any) -> str | None:
    """Returns the first function in a plan, or in its subqueries, that uses a clock or chance."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        for expression in (part for root in items(node.expressions()) for part in parts_of(root)):
            if kind_of(expression) in _CLOCKS or _is_chance(expression):
                return str(expression.prettyName())
        waiting += [*items(node.children()), *items(node.subqueries())]
    return None


def _is_chance(expression: Any) -> bool:
    """Whether the expression itself, not one of its parts, is nondeterministic."""
    made_of = items(expression.children())
    return not expression.deterministic() and all(each.deterministic() for each in made_of)


def _is_collated(expression: Any) -> bool:
    return kind_of(expression) in _COLLATING and is_collated(str(expression.dataType().simpleString()))


def _is_of_clock(cast: Any) -> bool:
    """Whether a constant text is cast to a time and may be one that Spark fills in: ``'today'``."""
    text, kind = cast.child(), str(cast.dataType().simpleString())
    if kind not in _MOMENTS or str(text.dataType().simpleString()) != "string" or not text.foldable():
        return False
    return kind_of(text) != "Literal" or is_clock_word(str(text.value()))


def occurrence_of(node: Any, occurrences: Occurrences) -> Occurrence | None:
    """Returns the occurrence of an input that a node represents, by its alias."""
    return occurrences.get(str(node.alias())) if node.nodeName() == "SubqueryAlias" else None


def node_kind(node: Any) -> str:
    """Returns the name of a plan's node without its suffix."""
    return str(node.nodeName()).split(" ")[0]


def items(sequence: Any) -> list[Any]:
    """The elements of a Scala Seq."""
    return [sequence.apply(number) for number in range(sequence.size())]


def output_of(node: Any, size: int | None = None) -> list[int]:
    """The node's columns. Raises NeverIncremental if there are not ``size`` of them."""
    columns = [id_of(column) for column in items(node.output())]
    if size is not None and len(columns) != size:
        raise NeverIncremental(f"Spark's plan of the query has a {node.nodeName()} of other columns")
    return columns


def id_of(attribute: Any) -> int:
    """The number by which a plan knows a column."""
    return int(attribute.exprId().id())


def kind_of(expression: Any) -> str:
    """The name of an expression's class."""
    return str(expression.getClass().getSimpleName())


def is_name(expression: Any) -> bool:
    """A column as it is, under its name or another."""
    return kind_of(expression) == "AttributeReference" or (
        kind_of(expression) == "Alias" and kind_of(expression.child()) == "AttributeReference"
    )


def references(expression: Any) -> frozenset[int]:
    return frozenset(map(id_of, items(expression.references().toSeq())))


def parts_of(expression: Any) -> Iterator[Any]:
    yield expression
    for child in items(expression.children()):
        yield from parts_of(child)


def conjuncts(condition: Any) -> list[Any]:
    if kind_of(condition) != "And":
        return [condition]
    return [*conjuncts(condition.left()), *conjuncts(condition.right())]


class Plans:
    """Makes plans of plans."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._catalyst = jvm.org.apache.spark.sql.catalyst

    def without_subqueries(self, plan: Any) -> Any:
        """Returns the plan with EXISTS and IN (SELECT ...) as semi and anti joins, as Spark makes them.

        Raises NeverIncremental if these rules need others before them, as for an EXISTS within another.
        """
        try:
            for rule in ("PullupCorrelatedPredicates", "RewritePredicateSubquery"):
                plan = self._rule(rule).apply(plan)
        except Py4JJavaError as error:
            raise NeverIncremental("a subquery in it cannot be made a join by itself") from error
        return plan

    def without_ctes(self, plan: Any) -> Any:
        """Returns the plan with each CTE inlined, except nondeterministic ones."""
        return self._catalyst.optimizer.InlineCTE(False, False).apply(plan)

    def project(self, columns: Any, child: Any) -> Any:
        """These columns of a plan: a Scala Seq of attributes, or expressions with a name."""
        return self._catalyst.plans.logical.Project(columns, child)

    def _rule(self, name: str) -> Any:
        """A Scala object, which the gateway does not reach by its name."""
        found = java_class(self._jvm, f"org.apache.spark.sql.catalyst.optimizer.{name}$")
        return found.getField("MODULE$").get(None)

    def frame(self, plan: Any) -> DataFrame:
        """An analysed plan as a frame."""
        dataset: Any = self._jvm.org.apache.spark.sql.classic.Dataset
        session: Any = self._spark
        return DataFrame(dataset.ofRows(session._jsparkSession, plan), session)

    def scan(self, table: Any, options: Mapping[str, str] = MappingProxyType({})) -> Any:
        """Returns a table of Spark's, unknown to any catalog, as a plan; ``options``: how it is read."""
        none = self._jvm.scala.Option.empty()
        java = self._jvm.java.util.HashMap()
        for name, value in options.items():
            java.put(name, value)
        read = self._jvm.org.apache.spark.sql.util.CaseInsensitiveStringMap(java)
        relation = self._jvm.org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
        moment = (none,) if capabilities_of(self._jvm).timed_relations else ()
        return relation.create(table, none, none, read, *moment)

    def over(self, node: Any, children: Sequence[Any]) -> Any:
        """The same node over other children, which have the same columns.

        Spark's ``withNewChildren`` keeps children that are equal to the new ones, and to Spark two reads of
        one path are equal, whatever was in the file at either time.
        """
        made = node.withNewChildrenInternal(self._sequence(children).toIndexedSeq())
        made.copyTagsFrom(node)
        return made

    def filtered(self, child: Any, conditions: Sequence[Any]) -> Any:
        """The rows for which all conditions are true."""
        if not conditions:
            return child
        return self._catalyst.plans.logical.Filter(self.all_of(conditions), child)

    def all_of(self, conditions: Sequence[Any]) -> Any:
        """One condition of several."""
        met, *others = conditions
        for other in others:
            met = self._catalyst.expressions.And(met, other)
        return met

    def empty(self, child: Any) -> Any:
        """The columns of a plan without its rows."""
        return self._catalyst.plans.logical.Filter(self._catalyst.expressions.Literal.FalseLiteral(), child)

    def joined(self, join: Any, sides: tuple[Any, Any], kind: str, condition: Any) -> Any:
        """A join of another kind, as Spark calls it (``LeftSemi``), on an Option of another condition."""
        joined = self._catalyst.plans.logical.Join
        return joined(*sides, self._catalyst.plans.JoinType.apply(kind), condition, join.hint())

    def some(self, value: Any) -> Any:
        """A Scala Option that has a value."""
        return self._jvm.scala.Option.apply(value)

    def union(self, children: Sequence[Any]) -> Any:
        """The rows of all children, in the first one's columns."""
        return self._catalyst.plans.logical.Union(self._sequence(children), False, False)

    def _sequence(self, elements: Sequence[Any]) -> Any:
        return self._jvm.PythonUtils.toSeq(list(elements))
