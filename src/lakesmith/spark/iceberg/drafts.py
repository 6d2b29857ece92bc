"""Drafts: a table as a batch will leave it, which no reader sees before the publish.

Iceberg's branches share the table's schema, and each commit to one is a commit of the table: another file of
metadata and, in a shared catalog, several requests. So a batch works on a draft: an Iceberg transaction on the
table's metadata, which is the only table of its name in a catalog in the driver's memory. The working branch,
the data and the changes of columns, partitioning and properties are commits there. The table itself stays as it
was until the publish swaps in what the draft has come to. A draft that is not published is nothing: files that
no table names.
"""

from __future__ import annotations

import threading
from typing import Any, Final
from weakref import WeakKeyDictionary

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from lakesmith.project.definitions import TableName
from lakesmith.spark.jvm.gateway import own_class
from lakesmith.spark.start.settings import DRAFTS

_CATALOG: Final = "lakesmith.Drafts"


class _Begun(threading.local):
    """The tables of which this thread has a draft, each with the metadata file that the draft began at."""

    def __init__(self) -> None:
        self.origins: dict[TableName, str] = {}


_begun: Final = _Begun()
_reached: Final[WeakKeyDictionary[SparkSession, bool]] = WeakKeyDictionary()


def origin_of(name: TableName) -> str | None:
    """The metadata file at which the table's draft began; None: it has none in this thread."""
    return _begun.origins.get(name)


def can_begin(spark: SparkSession) -> bool:
    """Returns whether the session can have a catalog of drafts."""
    if spark.conf.get(f"spark.sql.catalog.{DRAFTS}", None) is None:
        return False
    if (found := _reached.get(spark)) is None:
        found = _reached[spark] = _loads_catalog(spark)
    return found


def _loads_catalog(spark: SparkSession) -> bool:
    """Has Spark load the catalog once, by a class loader that knows its class."""
    jvm: Any = spark._jvm
    session: Any = spark._jsparkSession
    thread = jvm.java.lang.Thread.currentThread()
    before = thread.getContextClassLoader()
    try:
        thread.setContextClassLoader(own_class(spark, _CATALOG).getClassLoader())
        # It reads the settings of the thread's active session, whose manager of catalogs this is.
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session)
        session.sessionState().catalogManager().catalog(DRAFTS)
    except Py4JJavaError:
        return False
    finally:
        thread.setContextClassLoader(before)
    return True


def begin(spark: SparkSession, place: tuple[str, str], name: TableName, table: Any) -> None:
    """Makes a draft of an Iceberg table; from then on its name stands for the draft, in this thread.
    ``place``: its namespace and name in the catalog.
    """
    operations = table.newTransaction().table().operations()
    origin = str(operations.current().metadataFileLocation())
    jvm: Any = spark._jvm
    _tables(spark).put("\n".join(place), jvm.org.apache.iceberg.BaseTable(operations, table.name()))
    _begun.origins[name] = origin


def end(spark: SparkSession, place: tuple[str, str], name: TableName) -> None:
    """Forgets the draft, if there is one."""
    if _begun.origins.pop(name, None) is not None:
        _tables(spark).remove("\n".join(place))


def _tables(spark: SparkSession) -> Any:
    return own_class(spark, _CATALOG).getField("TABLES").get(None)
