"""Values that pass the gateway to Java, and what this version of Spark and Iceberg has."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from py4j.clientserver import SHUTDOWN_FINALIZER_WORKER
from py4j.protocol import Py4JError, Py4JJavaError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


CLASSES_JAR: Final = Path(__file__).parents[1] / "start" / "java" / "lakesmith.jar"
"""Our Java classes, compiled from the sources beside it by scripts/java_classes.py."""


def java_class(jvm: Any, name: str) -> Any:
    """Returns a class for reflection: the gateway reaches no Scala objects or hidden static methods."""
    return jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(name)


_LOADERS: Final[WeakKeyDictionary[Any, Any]] = WeakKeyDictionary()


def own_class(spark: SparkSession, name: str) -> Any:
    """Returns a class of ``lakesmith.jar`` for reflection, also where Spark was started without that jar."""
    jvm: Any = spark._jvm
    thread = jvm.java.lang.Thread.currentThread()
    try:
        return thread.getContextClassLoader().loadClass(name)
    except Py4JJavaError:
        if (loader := _LOADERS.get(jvm)) is None:
            context: Any = spark.sparkContext
            urls = context._gateway.new_array(jvm.java.net.URL, 1)
            urls[0] = jvm.java.net.URI(CLASSES_JAR.as_uri()).toURL()
            loader = _LOADERS[jvm] = jvm.java.net.URLClassLoader(urls, thread.getContextClassLoader())
        return loader.loadClass(name)


def elements(collection: Any) -> list[Any]:
    """Returns a Java collection's elements without iterating: the end of an iterator is an exception of 20
    ms."""
    array = collection.toArray()
    return [array[place] for place in range(len(array))]


def forget_together(gateway: Any) -> None:
    """Makes the JVM forget objects that Python has dropped in one call for all of about a second.

    Py4J makes a call for each: a third of all calls of a small batch. Its thread for that
    (``FinalizerWorker``) takes them one by one from a queue; here it takes all that are there.
    """
    client, waiting = gateway._gateway_client, gateway._gateway_client.finalizer_deque
    java, known = gateway.jvm.java.util, gateway.java_gateway_server.getGateway().getBindings().keySet()

    def garbage_collect_object(target_id: str, enqueue: bool = True) -> None:
        if enqueue:
            waiting.appendleft((client, target_id))
            return
        names = [target_id]
        while waiting:
            if (task := waiting.pop()) == SHUTDOWN_FINALIZER_WORKER:
                waiting.append(task)
                break
            names.append(task[1])
        # A JVM that has ended has forgotten all of them.
        with suppress(Py4JError, OSError):
            known.removeAll(java.Collections.list(java.StringTokenizer(" ".join(names))))

    client.garbage_collect_object = garbage_collect_object


@dataclass(frozen=True, slots=True)
class Capabilities:
    """
    Args:
        observed_rows: an observation is reported when Spark left it out of a plan (from Spark 4.1); else the
            end of all listeners is waited for.
        timed_relations: a table in a plan has room for a moment to travel to (from Spark 4.1); else it is
            made without.
        pinned_tables: Iceberg's tables for Spark are of one snapshot (from Iceberg 1.11); else they are set
            not to look for a newer one.
    """

    observed_rows: bool
    timed_relations: bool
    pinned_tables: bool

    @property
    def slower(self) -> tuple[str, ...]:
        """What takes longer here than on newer versions, in words."""
        return (
            ()
            if self.observed_rows
            else ("the counts of each write are waited for: from Spark 4.1 it tells them",)
        )


_OBSERVATION: Final = "org.apache.spark.sql.Observation"
_RELATIONS: Final = "org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation$"
_TABLE: Final = "org.apache.iceberg.spark.source.SparkTable"
_KNOWN: Final[WeakKeyDictionary[Any, Capabilities]] = WeakKeyDictionary()


def capabilities_of(jvm: Any) -> Capabilities:
    found = _KNOWN.get(jvm)
    if found is None:
        found = _KNOWN[jvm] = _looked_at(jvm)
    return found


def _looked_at(jvm: Any) -> Capabilities:
    return Capabilities(
        observed_rows=0 in _parameters(java_class(jvm, _OBSERVATION).getMethods(), "getRow"),
        timed_relations=5 in _parameters(java_class(jvm, _RELATIONS).getMethods(), "create"),
        pinned_tables=1 in _parameters(java_class(jvm, _TABLE).getConstructors(), _TABLE),
    )


def _parameters(described: Iterable[Any], name: str) -> set[int]:
    return {int(each.getParameterCount()) for each in described if str(each.getName()) == name}


_OF_SPARK: Final = "spark_catalog"
"""Each session is born with it."""
_OF_ICEBERG: Final = "org.apache.iceberg.spark.source.HasIcebergCatalog"
_CLOSEABLE: Final = "java.io.Closeable"


def close_catalogs(spark: SparkSession) -> None:
    """Closes the Iceberg catalogs of an ended session. Raises Py4JError if the JVM does not answer."""
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
