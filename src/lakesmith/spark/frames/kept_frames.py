"""Frames that several steps of a batch read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame

from lakesmith.spark.frames.row_counts import RowCounts, counts_of


class Kept(ExitStack):
    """Frames that are computed once, and given up at the end."""

    def keep(self, frame: DataFrame) -> DataFrame:
        """The frame, kept from when it is first computed."""
        kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
        self.callback(kept.unpersist)
        return kept

    def cut(self, frame: DataFrame) -> DataFrame:
        """The frame, computed now, as one that knows nothing of how it came about.

        For frames made of several kept ones: their plans hold where each of those came from, and Spark goes through all of that
        whenever something is planned on top.
        """
        cut = frame.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK)
        execution: Any = cut._jdf.queryExecution()
        self.callback(execution.logical().rdd().unpersist, False)
        return cut

    def cut_and_count(self, frame: DataFrame, *counts: SparkColumn) -> tuple[DataFrame, Mapping[str, int]]:
        """As ``cut``, with these aggregates of the frame, by their names, from the same pass."""
        seen = RowCounts()
        return self.cut(seen.observe(frame, *counts)), counts_of(seen)
