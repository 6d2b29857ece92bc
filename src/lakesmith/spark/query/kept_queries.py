"""Analysed plans of SQL queries, kept for later batches of other snapshots (``catalyst.kept``).

That is done for inputs that are read as they are, each once; other rows are planned each time, and so are
queries with chance in them, which Spark decides when it analyses them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession

from lakesmith import limits
from lakesmith.spark.catalyst.kept import KeptPlan, with_columns_of
from lakesmith.spark.catalyst.proofs import SETTINGS
from lakesmith.spark.catalyst.tree import Occurrence, analysed, id_of, kind_of

Views = Mapping[Occurrence, DataFrame]
Names = Mapping[Occurrence, str]

_TABLE: Final = "DataSourceV2Relation"


@dataclass(frozen=True, slots=True)
class _Kept:
    """A plan. ``names``: the inputs' aliases in it; ``order``: which input each leaf is."""

    plan: KeptPlan
    names: Names
    order: tuple[Occurrence, ...]


_KEPT: Final[WeakKeyDictionary[SparkSession, dict[tuple[object, ...], _Kept]]] = WeakKeyDictionary()


def query_again(
    spark: SparkSession, text: tuple[object, ...], views: Views, names: Names, query: Callable[[], DataFrame]
) -> tuple[DataFrame, Names]:
    """Returns what ``query`` makes of the inputs, and the aliases of these in it.

    ``text``: what the query depends on besides the inputs and the session.
    """
    tables = {each: analysed(rows) for each, rows in views.items()}
    if any(kind_of(table) != _TABLE for table in tables.values()):
        return query(), names
    columns = ((each, str(rows._jdf.schema().json())) for each, rows in views.items())
    about = (text, *columns, *(spark.conf.get(name, None) for name in SETTINGS))
    kept = _KEPT.setdefault(spark, {})
    if (found := kept.get(about)) is None:
        frame = query()
        if (new := _kept(frame, tables, names)) is not None:
            while len(kept) >= limits.PLANS_KEPT:
                kept.pop(next(iter(kept)), None)
            kept[about] = new
        return frame, names
    pairs = zip(found.order, found.plan.leaves, strict=True)
    leaves = [with_columns_of(spark, tables[each], known) for each, known in pairs]
    return found.plan.over(spark, leaves), found.names


def _kept(frame: DataFrame, tables: Mapping[Occurrence, Any], names: Names) -> _Kept | None:
    plan = KeptPlan.of(frame)
    if plan is None or not analysed(frame).deterministic():
        return None
    inputs = {_first(table): each for each, table in tables.items()}
    found = [inputs.get(_first(leaf)) if kind_of(leaf) == _TABLE else None for leaf in plan.leaves]
    order = tuple(each for each in found if each is not None)
    # Of an input that is read twice Spark renames the columns.
    is_each_once = len(order) == len(found) == len(tables) == len(set(order)) == len(inputs)
    return _Kept(plan, names, order) if is_each_once else None


def _first(table: Any) -> int:
    return id_of(table.output().head())
