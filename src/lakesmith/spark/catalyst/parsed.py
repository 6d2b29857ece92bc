"""What a user's query does besides reading tables, by Spark's own parser, before it is analysed or run.

Analysis alone already opens files that a query names by path, and computes functions of constants. A walk
over children does not reach all of a parsed plan: CTEs, subqueries, named windows and tables of the past are
separate.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from lakesmith.quoting import quoted
from lakesmith.spark.catalyst.tree import items, kind_of, node_kind
from lakesmith.spark.jvm.gateway import java_class
from lakesmith.sql.words import CALLS_CODE

_CATALYST: Final = "org.apache.spark.sql.catalyst"
_WRITING: Final = ("Command", "ParsedStatement", "UnaryCommand")
"""The parser's node for most statements that are not queries."""
_WRITING_NODES: Final = ("InsertInto", "ExecuteImmediate", "UnresolvedExecuteImmediate", "Compound")
"""Prefixes of nodes that are not queries either, although their classes are no commands."""

_OPTIONS_AT: Final = {"from_xml": 2, "from_avro": 2, "schema_of_xml": 1, "schema_of_avro": 1}
_OF_FILES: Final = ("rowvalidationxsdpath", "avroschemaurl")
"""Options whose value is the path of a file."""


class Reach(Enum):
    """Why a query is refused."""

    STATEMENT = "it is another statement than a query"
    CODE = "it calls code"
    FILE = "it reads a file by its path"
    HIDDEN = "it names a table or function by a text"


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a query is refused, and the name of the offending part."""

    reach: Reach
    name: str


def objection(spark: SparkSession, sql: str) -> Objection | None:
    """Returns the first thing in a query that does more than read tables; None if nothing does.

    Raises ParseException.
    """
    session: Any = spark._jsparkSession
    jvm: Any = spark._jvm
    writing = [java_class(jvm, f"{_CATALYST}.plans.logical.{name}") for name in _WRITING]
    for node in _nodes(jvm, session.sessionState().sqlParser().parsePlan(sql)):
        kind = node_kind(node)
        if any(each.isInstance(node) for each in writing) or kind.startswith(_WRITING_NODES):
            return Objection(Reach.STATEMENT, str(node.nodeName()))
        if kind == "ScriptTransformation":
            return Objection(Reach.CODE, "TRANSFORM ... USING")
        if "UnresolvedIdentifier" in kind_of(node):
            return Objection(Reach.HIDDEN, "IDENTIFIER(...)")
        if kind == "UnresolvedRelation" and (path := _path(spark, node)):
            return Objection(Reach.FILE, path)
        if kind_of(node) == "UnresolvedFunction" and (name := _code(node)):
            return Objection(Reach.CODE, name)
        if kind_of(node) == "UnresolvedFunction" and (name := _schema_file(node)):
            return Objection(Reach.FILE, name)
    return None


def _path(spark: SparkSession, relation: Any) -> str | None:
    """``csv.`/a/path```: a name of two parts, the first of which is a format and not a layer. A catalog of
    folders takes any name with a slash for a path."""
    parts = [str(part) for part in items(relation.multipartIdentifier())]
    if any("/" in part or "\\" in part for part in parts):
        return ".".join(map(quoted, parts))
    if len(parts) != 2 or not _is_format(spark, parts[0]) or spark.catalog.databaseExists(quoted(parts[0])):
        return None
    return ".".join(map(quoted, parts))


def _is_format(spark: SparkSession, name: str) -> bool:
    jvm: Any = spark._jvm
    session: Any = spark._jsparkSession
    sources = jvm.org.apache.spark.sql.execution.datasources.DataSource
    try:
        sources.lookupDataSource(name, session.sessionState().conf())
    except Py4JJavaError:
        return False
    return True


def _code(function: Any) -> str | None:
    name = _name(function)
    return name if name in CALLS_CODE else None


def _name(function: Any) -> str:
    return str(items(function.nameParts())[-1]).lower()


def _schema_file(function: Any) -> str | None:
    """The option by which a function for XML or Avro reads a schema from a file. Options that are computed
    may be any."""
    at = _OPTIONS_AT.get(_name(function))
    waiting = [] if at is None else items(function.arguments())[at:]
    while waiting:
        part = waiting.pop()
        waiting += items(part.children())
        is_map = kind_of(part) == "UnresolvedFunction" and _name(part) == "map"
        if not (is_map or kind_of(part) == "Literal") or str(part).lower() in _OF_FILES:
            return str(part)
    return None


def _nodes(jvm: Any, plan: Any) -> Iterator[Any]:
    """All nodes and expressions of a parsed plan."""
    kinds = [
        java_class(jvm, f"{_CATALYST}.{name}") for name in ("plans.QueryPlan", "expressions.PlanExpression")
    ]
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        is_plan, has_plan = (kind.isInstance(node) for kind in kinds)
        waiting += items(node.children())
        if is_plan:
            waiting += [*items(node.innerChildren()), *items(node.expressions()), *_beside(node)]
        elif has_plan:
            waiting.append(node.plan())


def _beside(plan: Any) -> list[Any]:
    """The parts of a node besides its children and expressions."""
    if kind_of(plan) == "WithWindowDefinition":
        return items(plan.windowDefinitions().values().toSeq())
    return [plan.relation()] if kind_of(plan) == "RelationTimeTravel" else []
