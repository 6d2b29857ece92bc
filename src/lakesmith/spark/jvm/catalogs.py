"""What the catalogs of a session hold open: files of the embedded one, connections to others.

Each session has catalogs of its own, and Spark forgets them without closing them: SQLite's files and memory are then held until the JVM ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OF_SPARK: Final = "spark_catalog"
"""Each session is born with it."""
_OF_ICEBERG: Final = "org.apache.iceberg.spark.source.HasIcebergCatalog"
_CLOSEABLE: Final = "java.io.Closeable"


def close_catalogs(spark: SparkSession) -> None:
    """Closes the Iceberg catalogs that a session has used and will not use again. Raises Py4JError where the JVM does not answer."""
    from py4j.java_gateway import is_instance_of

    gateway, session = spark.sparkContext._gateway, spark._jsparkSession
    manager: Any = session.sessionState().catalogManager()
    used = manager.listCatalogs(spark._jvm.scala.Option.empty()).mkString("\n")  # type: ignore[union-attr]
    for name in str(used).split("\n"):
        catalog = manager.catalog(name) if name != _OF_SPARK else None
        if catalog is not None and is_instance_of(gateway, catalog, _OF_ICEBERG):
            iceberg = catalog.icebergCatalog()
            if is_instance_of(gateway, iceberg, _CLOSEABLE):
                iceberg.close()
