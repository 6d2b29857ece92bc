"""Creates Iceberg tables and changes them by metadata alone; other changes need a rebuild."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakesmith.catalog.family import PROJECT, foreign_owner
from lakesmith.catalog.state import DELETES_OLD_METADATA, TableState
from lakesmith.errors import RunError, StateError
from lakesmith.plan.format_version import FORMAT_VERSION, FormatUpgrade, format_properties
from lakesmith.plan.settings import (
    Partitioning,
    Renaming,
    Reordering,
    SettingChange,
    TextSetting,
    changed_settings,
    renamings,
    setting_properties,
)
from lakesmith.project.definitions import Column, TableDefinition, TableName
from lakesmith.quoting import literal, own, quoted
from lakesmith.sources.columns.types import TypeChange, column_changes
from lakesmith.spark.iceberg.commits import physical, physical_namespace

_PROPERTIES: Final = {
    "write.merge.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.delete.mode": "merge-on-read",
    # Otherwise a task keeps a file open for each partition it meets, with all of its rows in memory: years of
    # days end a small heap.
    "write.spark.fanout.enabled": "false",
    "write.metadata.previous-versions-max": "100",
    # Each scan and each replacement of rows reads all manifests; a batch adds one or two.
    "commit.manifest.min-count-to-merge": "20",
    DELETES_OLD_METADATA: "true",
}

STAND_IN: Final = own("new_")
"""How the name of a column begins that takes another's place when its batch is published."""

_LAST_COLUMN: Final = own("keep")


def create_table(
    spark: SparkSession,
    name: TableName,
    columns: Sequence[Column],
    properties: Mapping[str, str],
    partition_by: Sequence[str] = (),
) -> None:
    """Creates the namespace and the table; a table that another run has just created is left as it is."""
    _ensure_namespace(spark, name.layer)
    text = (
        f"CREATE TABLE IF NOT EXISTS {physical(name)} ({', '.join(map(_column_ddl, columns))}) USING iceberg"
    )
    if partition_by:
        text += f" PARTITIONED BY ({', '.join(partition_by)})"
    spark.sql(f"{text} TBLPROPERTIES ({_pairs({**_PROPERTIES, **properties})})")


def _pairs(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{literal(key)}={literal(value)}" for key, value in sorted(properties.items()))


def _ensure_namespace(spark: SparkSession, layer: str) -> None:
    statement = f"CREATE NAMESPACE IF NOT EXISTS {physical_namespace(layer)}"
    try:
        spark.sql(statement)
    except (Py4JError, PySparkException):
        # Iceberg looks and then inserts, so two first tables of a layer get in each other's way. Now it is
        # there.
        spark.sql(statement)


def _column_ddl(column: Column) -> str:
    comment = f" COMMENT {literal(column.doc)}" if column.doc else ""
    return f"{quoted(column.name)} {column.type}{comment}"


def table_properties(project: str, table: TableDefinition) -> dict[str, str]:
    """The properties a table of this project is created with."""
    return {PROJECT: project, **format_properties(table.format_version), **setting_properties(table)}


def change_settings(spark: SparkSession, table: TableDefinition, state: TableState) -> list[str]:
    """Applies declared texts and partitioning by metadata alone; returns the changes in words."""
    changes = changed_settings(table, state)
    for change in changes:
        _change(spark, table.name, change)
    return [str(change) for change in changes]


def partition_as_declared(spark: SparkSession, table: TableDefinition, state: TableState) -> None:
    """Gives the table the partitioning that is declared, in metadata alone."""
    for change in changed_settings(table, state):
        if isinstance(change, Partitioning):
            _change(spark, table.name, change)


def rename_columns(spark: SparkSession, table: TableDefinition, state: TableState) -> list[str]:
    """Renames columns as declared, before a batch uses the names; returns the changes in words."""
    changes = renamings(table, state)
    for change in changes:
        _change(spark, table.name, change)
    return [str(change) for change in changes]


def drop_columns(
    spark: SparkSession, table: TableDefinition, columns: Sequence[str], partitioning: Collection[str]
) -> None:
    """Drops columns by metadata alone. Raises StateError LS507 for a column that partitions data."""
    if kept := [column for column in columns if column in partitioning]:
        raise StateError.of(
            "LS507",
            f"column {kept[0]} partitions {table.name}, so it cannot be dropped",
            place=table.place,
            expected=f"{kept[0]} among its columns",
            found="a declaration without it",
            hint="declare it again",
        )
    if columns:
        spark.sql(f"ALTER TABLE {physical(table.name)} DROP COLUMNS ({', '.join(map(quoted, columns))})")


def _change(spark: SparkSession, name: TableName, change: SettingChange) -> None:
    match change:
        case Partitioning():
            _repartition(spark, name, change)
        case Renaming():
            pair = f"{quoted(change.found)} TO {quoted(change.wanted)}"
            spark.sql(f"ALTER TABLE {physical(name)} RENAME COLUMN {pair}")
        case Reordering():
            for before, column in zip((None, *change.wanted), change.wanted, strict=False):
                place = "FIRST" if before is None else f"AFTER {quoted(before)}"
                spark.sql(f"ALTER TABLE {physical(name)} ALTER COLUMN {quoted(column)} {place}")
        case FormatUpgrade():
            version = _pairs({FORMAT_VERSION: str(change.wanted)})
            spark.sql(f"ALTER TABLE {physical(name)} SET TBLPROPERTIES ({version})")
        case TextSetting():
            spark.sql(f"ALTER TABLE {physical(name)} {_text_change(change)}")


def _text_change(change: TextSetting) -> str:
    if change.column:
        return f"ALTER COLUMN {quoted(change.column)} COMMENT {literal(change.wanted or '')}"
    if change.wanted is None:
        return f"UNSET TBLPROPERTIES IF EXISTS ({literal(change.property)})"
    return f"SET TBLPROPERTIES ({_pairs({change.property: change.wanted})})"


def _repartition(spark: SparkSession, name: TableName, change: Partitioning) -> None:
    """Changes the partition fields. Old ones go first: new ones may need their names."""
    found, wanted = ({field.lower(): field for field in fields} for fields in (change.found, change.wanted))
    for field in found.keys() - wanted.keys():
        spark.sql(f"ALTER TABLE {physical(name)} DROP PARTITION FIELD {found[field]}")
    for field in wanted:
        if field not in found:
            spark.sql(f"ALTER TABLE {physical(name)} ADD PARTITION FIELD {wanted[field]}")


def require_ours(state: TableState, project: str) -> None:
    """Raises RunError LS503 when the table was made by another project or by no project."""
    if problem := foreign_owner(state, project):
        raise RunError(problem)


def widen_table(
    spark: SparkSession, name: TableName, state: TableState, wanted: Sequence[Column]
) -> list[str]:
    """Adds missing columns and fields and widens types; returns the changes in words. Raises StateError
    LS507."""
    done: list[str] = []
    for column, changes in column_changes(state.columns, wanted):
        if changes is None:
            raise _needs_new_data(name, column, state)
        for change in changes:
            is_whole = change.old is None and len(change.path) == 1
            ddl = f"ADD COLUMN {_column_ddl(column)}" if is_whole else _type_ddl(change)
            spark.sql(f"ALTER TABLE {physical(name)} {ddl}")
            done.append(str(change))
    return done


def conform_table(spark: SparkSession, name: TableName, state: TableState, wanted: Sequence[Column]) -> bool:
    """Gives a table exactly the columns ``wanted``; True if it had others, whose values become null."""
    there = {column.name: column.type for column in state.columns}
    types = {column.name: column.type for column in wanted}
    if there == types:
        return False
    alter = f"ALTER TABLE {physical(name)}"
    # A table is never without a column, not even between two of these steps.
    if _LAST_COLUMN not in there:
        spark.sql(f"{alter} ADD COLUMN {_LAST_COLUMN} int")
    for column in there.keys() - {_LAST_COLUMN}:
        if types.get(column) != there[column]:
            spark.sql(f"{alter} DROP COLUMN {quoted(column)}")
    added = [column for column in wanted if there.get(column.name) != column.type]
    if added:
        spark.sql(f"{alter} ADD COLUMNS ({', '.join(map(_column_ddl, added))})")
    spark.sql(f"{alter} DROP COLUMN {_LAST_COLUMN}")
    return True


def _needs_new_data(name: TableName, column: Column, state: TableState) -> StateError:
    old = next(each.type for each in state.columns if each.name.lower() == column.name.lower())
    return StateError.of(
        "LS507",
        f"column {column.name} of {name} cannot change its type in place",
        place=column.place,
        expected=f"{old}, or a type it widens to without new data",
        found=column.type,
        hint=f"keep {old}; or, if the table is derived, rebuild it: lakesmith run --full-refresh {name};"
        f" if its rows come from files, lakesmith drop {name} has the next run ingest them again",
    )


def _type_ddl(change: TypeChange) -> str:
    field = ".".join(map(quoted, change.path))
    if change.old is not None:
        return f"ALTER COLUMN {field} TYPE {change.new}"
    place = "FIRST" if change.after is None else f"AFTER {quoted(change.after)}"
    return f"ADD COLUMN {field} {change.new} {place}"
