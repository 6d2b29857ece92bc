"""How many rows a snapshot has where its summary does not tell: on tables that have, or had, files of deleted positions.

Iceberg takes a deletion vector away together with its data file. A file of positions (format version 2) it leaves behind, where a
statement deletes, or a compaction rewrites, the data file it is about: the summary goes on counting its positions, for rows that
are not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from lakesmith.spark.iceberg.deletion_vectors import Vectors, is_positional
from lakesmith.spark.iceberg.snapshot_files import SnapshotFiles
from lakesmith.spark.jvm.gateway import elements


def deleted_rows(spark: SparkSession, table: Any, snapshot: int) -> int:
    """The rows of a snapshot's data files that deletes by position hide: what each data file's own deletes say."""
    vectors, found = Vectors(spark, table), 0
    is_of_one_file = _is_of_one_file(spark)
    for file, deletes in _positional(spark, table, snapshot):
        if len(deletes) == 1 and is_of_one_file(deletes[0]):
            found += int(deletes[0].recordCount())
        else:
            found += len(vectors.deleted(file, deletes))
    return found


def remove_left_behind(spark: SparkSession, table: Any, snapshot: int, branch: str) -> int:
    """Takes the files of positions away that no data file of the branch's head, ``snapshot``, has any more; returns how many."""
    used = {str(each.location()) for _, deletes in _positional(spark, table, snapshot) for each in deletes}
    there = {str(each.location()): each for each in _delete_files(spark, table, snapshot)}
    if not (left := there.keys() - used):
        return 0
    rewrite = table.newRewrite().toBranch(branch)
    for location in left:
        rewrite.deleteFile(there[location])
    rewrite.validateFromSnapshot(snapshot).commit()
    return len(left)


def _positional(spark: SparkSession, table: Any, snapshot: int) -> Iterator[tuple[str, list[Any]]]:
    """The data files with deletes by position, and these."""
    files = SnapshotFiles(table, snapshot, spark._jvm)
    for location, facts in files.files.items():
        if facts.deletes != "[]":
            deletes = [each for each in elements(files.task(location).deletes()) if is_positional(each)]
            if deletes:
                yield location, deletes


def _delete_files(spark: SparkSession, table: Any, snapshot: int) -> list[Any]:
    """All delete files by position that the snapshot names."""
    jvm: Any = spark._jvm
    iceberg = jvm.org.apache.iceberg
    described = iceberg.MetadataTableUtils.createMetadataTableInstance(
        table, iceberg.MetadataTableType.POSITION_DELETES
    )
    planned = described.newBatchScan().useSnapshot(snapshot).planFiles()
    try:
        return [task.file() for task in elements(jvm.com.google.common.collect.Lists.newArrayList(planned))]
    finally:
        planned.close()


def _is_of_one_file(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.iceberg.util.ContentFileUtil.isFileScoped
