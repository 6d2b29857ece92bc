"""A table as it was: with the columns it has now, or with those that readers saw then."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from lakesmith.catalog.record import SUMMARY_KEY
from lakesmith.catalog.state import MAIN
from lakesmith.errors import RunError
from lakesmith.project.definitions import TableName
from lakesmith.quoting import quoted
from lakesmith.spark.catalyst.tree import Plans
from lakesmith.spark.iceberg.commits import JavaTables, physical
from lakesmith.spark.iceberg.uncommitted_files import LAST_UPDATED, ROW_ID
from lakesmith.spark.jvm.gateway import capabilities_of, elements


def column_types(spark: SparkSession, name: TableName) -> dict[str, DataType]:
    """Returns the types of the table's present columns, by lower-case name."""
    return {field.name.lower(): field.dataType for field in spark.table(physical(name)).schema.fields}


def in_types(rows: DataFrame, columns: Iterable[str], types: Mapping[str, DataType]) -> DataFrame:
    """Returns the columns in the given types: values of two types are never compared."""
    return rows.select(*(F.col(quoted(name)).cast(types[name.lower()]).alias(name) for name in columns))


def read_version(spark: SparkSession, name: TableName, snapshot: int | None) -> DataFrame:
    """The rows of a snapshot in the columns that the table has now; no rows for None."""
    table = JavaTables(spark).load(name)
    return _scan(spark, table).limit(0) if snapshot is None else _as_newest(spark, table, snapshot)


def read_appended(spark: SparkSession, name: TableName, start: int, end: int) -> DataFrame:
    """Returns the rows appended after ``start`` up to ``end``; by row ids if snapshots between expired.
    Raises RunError LS613 without ids."""
    table, jvm = JavaTables(spark).load(name), spark._jvm
    assert jvm is not None
    if start == end:
        return _scan(spark, table).limit(0)
    if jvm.org.apache.iceberg.util.SnapshotUtil.isParentAncestorOf(table, end, start):
        return _scan(spark, table, {"start-snapshot-id": str(start), "end-snapshot-id": str(end)})
    first = table.snapshot(start)
    if first is None or first.firstRowId() is None:
        raise _gap(name, start, end)
    rows = _as_newest(spark, table, end)
    columns = [quoted(column) for column in rows.columns]
    # Up to Iceberg 1.10 a row may have got another id since; when it was written, stays.
    later = (
        f"{ROW_ID} >= {int(first.firstRowId()) + int(first.addedRows())} AND {LAST_UPDATED} > "
        f"{int(first.sequenceNumber())}"
    )
    return rows.where(later).select(columns)


def _gap(name: TableName, start: int, end: int) -> RunError:
    return RunError.of(
        "LS613",
        f"it is no longer known which rows {name} got between two of its snapshots",
        expected=f"the snapshots between {start} and {end}, or rows with ids (format version 3)",
        found="snapshots that have expired",
    )


def read_as_it_was(spark: SparkSession, name: TableName, snapshot: int) -> DataFrame:
    """The rows of a snapshot in the columns that it was written with."""
    table = JavaTables(spark).load(name)
    return _as_newest(spark, table, snapshot, _schema_of(spark, table, snapshot))


def as_published(spark: SparkSession, name: TableName, snapshot: int) -> DataFrame:
    """The rows of a snapshot in the columns that readers saw in it.

    A batch of a derived table that drops columns, or changes the type of some, does so with its publish: its
    snapshots were written in the columns of that time, beside which a changed one has another name. Its
    record has what became of them.
    """
    table = JavaTables(spark).load(name)
    schema = _schema_of(spark, table, snapshot)
    rows, seen = _as_newest(spark, table, snapshot, schema), _seen_at(spark, table, table.snapshot(snapshot))
    if seen is None:
        return rows
    then = _columns(schema)
    return rows.select(*(F.col(quoted(then[id])).alias(name) for id, name in seen.items() if id in then))


def _as_newest(spark: SparkSession, table: Any, snapshot: int, schema: Any | None = None) -> DataFrame:
    """A snapshot read as if it were the newest of main, in a ``schema`` of the table's; None: the present
    one.

    ``VERSION AS OF`` reads it in the columns of its own time, but Iceberg holds conditions on those against
    the present columns, by their names: it fails if a name is missing, and where another column has got the
    name leaves files out by what that has in them.
    """
    jvm: Any = spark._jvm
    iceberg = jvm.org.apache.iceberg
    metadata = iceberg.TableMetadata.buildFrom(table.operations().current()).setBranchSnapshot(snapshot, MAIN)
    if schema is not None:
        # The present ones may be by columns that came later; files are read by the ones that they were
        # written with.
        metadata = metadata.setDefaultPartitionSpec(iceberg.PartitionSpec.unpartitioned())
        metadata = metadata.setDefaultSortOrder(iceberg.SortOrder.unsorted())
        metadata = metadata.setCurrentSchema(schema.schemaId())
    then = iceberg.StaticTableOperations(metadata.build(), table.io())
    # Up to Iceberg 1.10 tables of one name are one table to Spark, which then takes what it read of one
    # snapshot for another's.
    name = f"{table.name()}@{snapshot}.{then.current().currentSchemaId()}"
    return _scan(spark, iceberg.BaseTable(then, name))


def _scan(spark: SparkSession, table: Any, options: Mapping[str, str] = MappingProxyType({})) -> DataFrame:
    jvm: Any = spark._jvm
    plans, own = Plans(spark), () if capabilities_of(jvm).pinned_tables else (False,)
    return plans.frame(plans.scan(jvm.org.apache.iceberg.spark.source.SparkTable(table, *own), options))


def _seen_at(spark: SparkSession, table: Any, snapshot: Any) -> Mapping[int, str] | None:
    """Returns the names of columns, by id, that readers saw at a snapshot; None: its own names."""
    written = snapshot.summary().get(SUMMARY_KEY)
    record = json.loads(written) if written is not None else {}
    if columns := record.get("columns"):
        return {number: name for name, number in columns.items()}
    # A record from before it had its columns. Sourced tables keep theirs: one that is gone there went another
    # way.
    return _columns(_next_schema(spark, table, snapshot)) if record.get("inputs") else None


def _next_schema(spark: SparkSession, table: Any, snapshot: Any) -> Any:
    """Returns the schema of the commit after a snapshot; the present one if there was none."""
    later = {int(other.sequenceNumber()): int(other.snapshotId()) for other in table.snapshots()}
    following = [number for number in later if number > snapshot.sequenceNumber()]
    return _schema_of(spark, table, later[min(following)]) if following else table.schema()


def _schema_of(spark: SparkSession, table: Any, snapshot: int) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.iceberg.util.SnapshotUtil.schemaFor(table, snapshot)


def _columns(schema: Any) -> dict[int, str]:
    return {int(field.fieldId()): str(field.name()) for field in elements(schema.columns())}
