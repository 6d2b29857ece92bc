"""Analysed plans that are used again with other leaves.

Spark analyses a plan again at each step of its making, which is a large part of a small batch. The plan of
the batch before differs in what it reads alone: its files, or its tables' snapshots. A leaf is replaced by
one of the same columns, so all above it stays analysed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakesmith.spark.catalyst.tree import Plans, analysed, items


@dataclass(frozen=True, slots=True)
class _Node:
    java: Any
    children: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class KeptPlan:
    """An analysed plan. ``leaves`` are in the order of ``over``."""

    root: _Node
    leaves: tuple[Any, ...]

    @classmethod
    def of(cls, frame: DataFrame) -> KeptPlan | None:
        """Returns the plan of a frame; None if expressions in it read something, too."""
        root = _node(analysed(frame))
        nodes = tuple(_all(root))
        if any(not node.java.subqueries().isEmpty() for node in nodes):
            return None
        return cls(root, tuple(node.java for node in nodes if not node.children))

    def over(self, spark: SparkSession, leaves: Sequence[Any]) -> DataFrame:
        """Returns the plan over other leaves, which have the columns of these."""
        plans, left = Plans(spark), iter(leaves)

        def rebuilt(node: _Node) -> Any:
            if not node.children:
                return next(left)
            return plans.over(node.java, [rebuilt(child) for child in node.children])

        plan = rebuilt(self.root)
        plan.setAnalyzed()
        return plans.frame(plan)


def _node(java: Any) -> _Node:
    return _Node(java, tuple(_node(child) for child in items(java.children())))


def _all(node: _Node) -> Iterator[_Node]:
    yield node
    for child in node.children:
        yield from _all(child)


def with_columns_of(spark: SparkSession, leaf: Any, known: Any) -> Any:
    """Returns a leaf (what is read, its columns, ...) with the columns of another of the same class."""
    gateway: Any = spark.sparkContext._gateway
    size = int(leaf.productArity())
    parts = gateway.new_array(gateway.jvm.java.lang.Object, size)
    for place in range(size):
        parts[place] = known.output() if place == 1 else leaf.productElement(place)
    return known.makeCopy(parts)
