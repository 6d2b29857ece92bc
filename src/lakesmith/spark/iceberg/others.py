"""External tables, read by their metadata files, with which no commit can be made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any, Final

from pyspark.sql import SparkSession

from lakesmith.catalog.local import Elsewhere
from lakesmith.catalog.open import iceberg_properties
from lakesmith.catalog.protocol import SPARK_CATALOG, Catalog
from lakesmith.project.definitions import ExternalTable, Project, TableName, Target

_SETTING: Final = "spark.lakesmith.other."
_FILES: Final = "spark.lakesmith.files."
_CATALOG: Final = "spark.lakesmith.other-catalog."
_MEETING: Final = Lock()
_OF_FILES: Final = ("s3.", "client.", "http-client.", "gcs.", "adls.")
"""What settings of files begin with: how one logs in to a catalog is nothing that Spark has to know."""


def meet_inputs(spark: SparkSession, catalog: Catalog, project: Project, names: Iterable[TableName]) -> None:
    """Registers external tables, and where their metadata is now, in the session."""
    others = {table.name: table.external for table in project.tables if table.external is not None}
    # Steps beside each other may read the same: what each has planned on is in the newer of the two files.
    with _MEETING:
        meet(spark, {name: _place(catalog, name, others.get(name)) for name in names})


def _place(catalog: Catalog, name: TableName, external: ExternalTable | None) -> Elsewhere | None:
    state = catalog.table(name.layer, name.name) if external else None
    return Elsewhere(state.metadata_location, external.catalog) if state and external else None


def meet(spark: SparkSession, places: Mapping[TableName, Elsewhere | None]) -> None:
    """Registers where the metadata of tables is; None: they are in the session's catalog."""
    for name, place in places.items():
        if place is not None:
            spark.conf.set(f"{_SETTING}{name}", place.location)
            spark.conf.set(f"{_CATALOG}{name}", place.catalog or "")
        elif place_of(spark, name) is not None:
            spark.conf.unset(f"{_SETTING}{name}")


def place_of(spark: SparkSession, name: TableName) -> str | None:
    """Where the metadata of a table of others is; None for one in the session's catalog."""
    found = spark.conf.get(f"{_SETTING}{name}", None)
    return str(found) if found else None


def load_other(spark: SparkSession, name: TableName, place: str) -> Any:
    jvm: Any = spark._jvm
    iceberg = jvm.org.apache.iceberg
    files = iceberg.io.ResolvingFileIO()
    files.setConf(spark._jsparkSession.sessionState().newHadoopConf())
    files.initialize(_settings(spark, spark.conf.get(f"{_CATALOG}{name}", "") or ""))
    return iceberg.BaseTable(iceberg.StaticTableOperations(place, files), str(name))


def others_conf(target: Target) -> dict[str, str]:
    """Returns a session's settings of other catalogs' files. Raises EnvironmentProblem LS326."""
    return {
        f"{_FILES}{other.name}.{key}": value
        for other in target.others
        for key, value in iceberg_properties(other).items()
        if key.startswith(_OF_FILES)
    }


def _settings(spark: SparkSession, catalog: str) -> dict[str, str]:
    """Iceberg's settings of files: those of another catalog, or of the session's own."""
    prefix = f"{_FILES}{catalog}." if catalog else f"{SPARK_CATALOG}."
    found = spark.conf.getAll.items()
    return {key.removeprefix(prefix): value for key, value in found if key.startswith(prefix)}
