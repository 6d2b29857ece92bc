"""When the rows of a query arrived: a hidden column that Spark's plan carries from the inputs to the result.

It settles ties of ``latest_by``. The column is an array with one entry for each input row that a row was
made of, in the order of the query: which batch took that row, from which file, and from where in it. Rows of
two inputs are ordered by when they were ingested, and then by the order of the inputs. The later row has the
greater array.

The column passes through projections, filters, window functions, joins and UNION ALL. A group, DISTINCT,
EXCEPT or INTERSECT has no one arrival: what is computed above them has none, and of a join with such a part
the other part's counts.
"""

from collections.abc import Sequence
from itertools import count
from typing import Any, Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith.project.definitions import TableName
from lakesmith.spark.catalyst.tree import Occurrences, Plans, analysed, items, node_kind, occurrence_of

ARRIVAL: Final = "_lakesmith_arrival"
"""The hidden column."""

BATCH: Final = "_batch"
_KNOWN: Final = {BATCH: "bigint", "_source_file": "string", "_source_position": "bigint"}
"""The columns of a sourced table that say when a row arrived, and their types."""

_INGESTED: Final = {"_ingested_at": "timestamp"}
_ENTRY: Final = "struct<at:timestamp,input:int,batch:bigint,file:string,position:bigint>"

_PASSING: Final = frozenset(
    {
        *("SubqueryAlias", "View", "ResolvedHint", "Sort", "Repartition", "RepartitionByExpression"),
        *("Filter", "Window", "Generate", "LateralJoin"),
    }
)


def with_arrival(
    frame: DataFrame, occurrences: Occurrences, driving: Sequence[TableName]
) -> DataFrame | None:
    """Returns a query's rows with ``ARRIVAL``; None if the plan cannot carry it, or no input has one.

    ``driving``: the inputs whose rows produce the query's, in the order of the query.
    """
    walk = _Carrying(frame, occurrences, tuple(driving))
    plan = walk.plans.without_ctes(analysed(frame))
    carrying, column = walk.of(plan)
    if column is None or not walk.knows:
        return None
    return walk.plans.frame(carrying).withColumnRenamed(str(column.name()), ARRIVAL)


def batch_of(arrived: str) -> str:
    """SQL of the batch that took a row of a query over one input; ``arrived``: the hidden column."""
    return f"get({arrived}, 0).batch"


class _Carrying:
    """One pass over a plan, rebuilt with the hidden column behind each node's own; None if it has none.

    ``knows``: whether an input with arrival was met.
    """

    def __init__(self, frame: DataFrame, occurrences: Occurrences, driving: tuple[TableName, ...]) -> None:
        self.plans = Plans(frame.sparkSession)
        self.knows = False
        self._occurrences, self._driving = occurrences, driving
        self._names = (f"{ARRIVAL}_{number}" for number in count())

    def of(self, node: Any) -> tuple[Any, Any | None]:
        """The node, and its hidden column."""
        kind = node_kind(node)
        if (occurrence := occurrence_of(node, self._occurrences)) is not None:
            return self._input(node, occurrence.table)
        if kind == "Project":
            below, column = self.of(node.child())
            return self._projected(node, node.projectList(), below, column)
        if kind in _PASSING:
            below, column = self.of(items(node.children())[0])
            over = None if column is None else self.plans.over(node, [below])
            return self._projected(node, node.output(), over, column)
        if kind == "Union":
            return self._union(node)
        return self._join(node) if kind == "Join" else (node, None)

    def _projected(self, node: Any, columns: Any, below: Any, column: Any | None) -> tuple[Any, Any | None]:
        if column is None:
            return node, None
        return self.plans.project(columns.appended(column), below), column

    def _input(self, node: Any, table: TableName) -> tuple[Any, Any | None]:
        if table not in self._driving:
            return node, None
        fields = self.plans.frame(node).schema.fields
        types = {field.name: field.dataType.simpleString() for field in fields}
        knows = _KNOWN.items() <= types.items()
        self.knows = self.knows or knows
        several = len(self._driving) > 1 and _INGESTED.items() <= types.items()
        entry = F.struct(
            *(F.col(name) if several else F.lit(None) for name in _INGESTED),
            F.lit(self._driving.index(table)),
            *(F.col(name) if knows else F.lit(None) for name in _KNOWN),
        )
        return self._with(node, F.array(entry.cast(_ENTRY)))

    def _with(self, node: Any, column: SparkColumn) -> tuple[Any, Any]:
        made = analysed(self.plans.frame(node).select("*", column.alias(next(self._names))))
        return made, made.output().last()

    def _join(self, node: Any) -> tuple[Any, Any | None]:
        given = node.output()
        both = given.size() == node.left().output().size() + node.right().output().size()
        left, one = self.of(node.left())
        right, other = self.of(node.right()) if both else (node.right(), None)
        columns = [column for column in (one, other) if column is not None]
        if not columns:
            return node, None
        joined = self.plans.over(node, [left, right])
        names = [
            F.coalesce(F.col(str(column.name())), F.array().cast(f"array<{_ENTRY}>")) for column in columns
        ]
        joined, column = self._with(joined, F.concat(*names))
        return self._projected(node, given, joined, column)

    def _union(self, node: Any) -> tuple[Any, Any | None]:
        parts = [self.of(child) for child in items(node.children())]
        if all(column is None for _, column in parts):
            return node, None
        none = F.array().cast(f"array<{_ENTRY}>")
        union = self.plans.over(
            node, [part if column is not None else self._with(part, none)[0] for part, column in parts]
        )
        return union, union.output().last()
