"""Plans that read text files, kept for later batches of other files (``catalyst.kept``).

That is done for small local files of one shape; other files are planned each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession

from lakesmith import limits
from lakesmith.sources.model import FileIdentity
from lakesmith.spark.catalyst.kept import KeptPlan, with_columns_of
from lakesmith.spark.catalyst.proofs import SETTINGS
from lakesmith.spark.catalyst.tree import analysed, kind_of
from lakesmith.spark.read.records import absolute_paths, is_read_plainly, source_path, tasks_for
from lakesmith.spark.read.request import ReadRequest

Reader = Callable[[SparkSession, ReadRequest], DataFrame | None]

_FILES: Final = "LogicalRelation"
_TEXT: Final = "Text"
_NO_OPTIONS: Final = ("", "path")
"""Of a single file Spark keeps the path as an option."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A plan over one scan of lines. ``request`` has no files."""

    request: ReadRequest
    plan: KeptPlan

    def over(self, spark: SparkSession, request: ReadRequest, files: list[FileIdentity]) -> DataFrame:
        """Returns the rows of other files."""
        (scan,) = self.plan.leaves
        reading = SparkSession(spark.sparkContext, scan.relation().sparkSession())
        found = analysed(reading.read.format("text").load(absolute_paths(files, request)))
        return self.plan.over(spark, [with_columns_of(spark, found, scan)])


_KEPT: Final[WeakKeyDictionary[SparkSession, dict[tuple[object, ...], _Kept]]] = WeakKeyDictionary()


def read_again(spark: SparkSession, request: ReadRequest, read: Reader) -> DataFrame | None:
    """Returns what ``read`` does, by the plan of an earlier request that differs in its files alone."""
    files = [file for group in request.groups for file in group.files if file.size]
    if len(request.groups) != 1 or not files or not is_read_plainly(request, files):
        return read(spark, request)
    plain = replace(request, groups=tuple(replace(group, files=()) for group in request.groups))
    settings = (spark.conf.get(name, None) for name in SETTINGS)
    tasks = tasks_for(request.groups, spark.sparkContext.defaultParallelism)
    source = (request.root, request.source.name, request.source.path)
    about = (*source, source_path(files, request), tasks, *settings)
    kept = _KEPT.setdefault(spark, {})
    if (found := kept.get(about)) is not None and found.request == plain:
        return found.over(spark, request, files)
    frame = read(spark, request)
    if frame is not None and (plan := KeptPlan.of(frame)) is not None and _reads_lines(plan.leaves):
        while len(kept) >= limits.PLANS_KEPT:
            kept.pop(next(iter(kept)), None)
        kept[about] = _Kept(plain, plan)
    return frame


def _reads_lines(leaves: tuple[Any, ...]) -> bool:
    """Returns whether the leaves are one scan of lines, without an option of its own."""
    if len(leaves) != 1 or kind_of(leaves[0]) != _FILES:
        return False
    relation = leaves[0].relation()
    options = str(relation.options().keySet().mkString(","))
    return str(relation.fileFormat().toString()) == _TEXT and options in _NO_OPTIONS
