"""Tables of others, which Spark's catalog does not name: read by their metadata files, by what no commit can be made with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any, Final

from pyspark.sql import SparkSession

from lakesmith.catalog.protocol import Catalog
from lakesmith.project.definitions import Project, TableName

_SETTING: Final = "spark.lakesmith.other."
_MEETING: Final = Lock()


def meet_inputs(spark: SparkSession, catalog: Catalog, project: Project, names: Iterable[TableName]) -> None:
    """Has the session know which of the tables are others', and where their metadata is now."""
    others = {table.name for table in project.tables if table.external is not None}
    # Steps beside each other may read the same: what each has planned on is in the newer of the two files.
    with _MEETING:
        meet(spark, {name: _location(catalog, name) if name in others else None for name in names})


def _location(catalog: Catalog, name: TableName) -> str | None:
    state = catalog.table(name.layer, name.name)
    return None if state is None else state.metadata_location


def meet(spark: SparkSession, places: Mapping[TableName, str | None]) -> None:
    """Has the session know where the metadata of tables is; None: they are in its catalog."""
    for name, place in places.items():
        if place is not None:
            spark.conf.set(f"{_SETTING}{name}", place)
        elif place_of(spark, name) is not None:
            spark.conf.unset(f"{_SETTING}{name}")


def place_of(spark: SparkSession, name: TableName) -> str | None:
    """Where the metadata of a table of others is; None for one in the session's catalog."""
    found = spark.conf.get(f"{_SETTING}{name}", None)
    return str(found) if found else None


def load_other(spark: SparkSession, name: TableName, place: str) -> Any:
    """The Java table of a metadata file."""
    jvm: Any = spark._jvm
    iceberg = jvm.org.apache.iceberg
    files = iceberg.io.ResolvingFileIO()
    files.setConf(spark._jsparkSession.sessionState().newHadoopConf())
    files.initialize(jvm.java.util.HashMap())
    return iceberg.BaseTable(iceberg.StaticTableOperations(place, files), str(name))
