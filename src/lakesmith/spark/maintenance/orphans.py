"""Orphaned files of killed writers, as Iceberg finds them; other files in the folder stay."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.metadata import plain_location
from lakesmith.catalog.state import TableState
from lakesmith.errors import StateError
from lakesmith.execute.lake import Lake
from lakesmith.project.definitions import TableName
from lakesmith.project.layout import RESERVED_LAYER
from lakesmith.spark.iceberg.commits import JavaTables
from lakesmith.spark.iceberg.procedures import orphan_files

_OWN: Final = "/metadata/lakesmith-"
"""In the paths of notes that lakesmith leaves in a table's folder (``catalog/entries``)."""

_METADATA: Final = ".metadata.json"


def find_orphans(spark: SparkSession, lake: Lake, name: TableName, age_seconds: float) -> list[str]:
    """The files of that age at least. Raises StateError LS631 where the folder is not the table's alone,
    LS632 where another table's files are in it.
    """
    state = lake.catalog.table(name.layer, name.name)
    if state is None:
        return []
    _require_own_folder(lake, name, state)
    is_local = isinstance(lake.catalog, LocalCatalog)
    found = orphan_files(spark, name, time.time() - age_seconds, by_prefix=not is_local)
    found = [path for path in found if _OWN not in path]
    table = JavaTables(spark).load(name)
    require_no_other(spark, table, name, [path for path in found if path.endswith(_METADATA)])
    return found


def remove_files(spark: SparkSession, name: TableName, files: Sequence[str]) -> None:
    """Removes files of a table, by the client that wrote them; one that is gone already is no failure."""
    table, jvm = JavaTables(spark).load(name), _jvm(spark)
    paths = jvm.java.util.ArrayList()
    for file in files:
        paths.add(file)
    jvm.org.apache.iceberg.CatalogUtil.deleteFiles(table.io(), paths, "orphan", True)


def _require_own_folder(lake: Lake, name: TableName, state: TableState) -> None:
    mine = _folder(state.location)
    for other in _all_tables(lake):
        there = lake.catalog.table(other.layer, other.name) if other != name else None
        if there is not None and (
            _folder(there.location).startswith(mine) or mine.startswith(_folder(there.location))
        ):
            what = f"files of {name} that no snapshot names cannot be found: its folder is not its own"
            hint = "a table keeps the folder it was made in when it is renamed; leave out one of the two"
            raise StateError.of(
                "LS631",
                what,
                None,
                f"no other table in {state.location}",
                f"{other} in {there.location}",
                hint,
            )


def _all_tables(lake: Lake) -> Iterable[TableName]:
    layers = {RESERVED_LAYER, *(table.name.layer for table in lake.project.tables)}
    return [TableName(layer, table) for layer in sorted(layers) for table in lake.catalog.names(layer)]


def _folder(location: str) -> str:
    """Returns the location with a slash at its end, a prefix of its content alone."""
    return plain_location(location).rstrip("/") + "/"


def require_no_other(spark: SparkSession, table: Any, name: TableName, metadata: Sequence[str]) -> None:
    """Raises StateError LS632 if one of the ``metadata`` files is another table's: a dropped table in the
    same folder can be registered again, so its files are no orphans. One that ends too early is of no table:
    its writer was killed."""
    mine = str(table.uuid())
    for path in metadata:
        if (other := _table_of(spark, table, path)) not in (mine, None):
            what = (
                f"files of {name} that no snapshot names cannot be found: a table that was dropped is in its "
                "folder"
            )
            hint = (
                "remove its files by hand if they are not wanted any more: those named in that metadata "
                "file, and itself"
            )
            raise StateError.of(
                "LS632", what, None, f"metadata of table {mine}", f"{path} of table {other}", hint
            )


def _table_of(spark: SparkSession, table: Any, path: str) -> str | None:
    try:
        return str(_jvm(spark).org.apache.iceberg.TableMetadataParser.read(table.io(), path).uuid())
    except Py4JJavaError as error:
        # Jackson cannot make JSON of it; it was read.
        if ".jackson." in str(error.java_exception.getCause()):
            return None
        raise


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm
