"""Drafts: a table as a batch will leave it, which no reader sees before the publish.

Iceberg's branches share the table's schema, and each commit to one is a commit of the table: another file of
metadata and, in a shared catalog, several requests. So a batch works on a draft: an Iceberg transaction on
the table's metadata, which is a table of a catalog in the driver's memory. The working branch, the data and
the changes of columns, partitioning and properties are commits there. The table itself stays as it was until
the publish swaps in what the draft has come to. A draft that is not published is nothing: files that no table
names.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakSet

from pyspark.sql import SparkSession

from lakesmith.catalog.metadata import plain_location
from lakesmith.execute.engine import Outdated
from lakesmith.project.definitions import TableName
from lakesmith.spark.jvm.gateway import own_class
from lakesmith.spark.start.settings import DRAFTS

_CATALOG: Final = "lakesmith.Drafts"


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft's ``name`` in the catalog of drafts, and the metadata file (``origin``) that it began at."""

    name: tuple[str, str]
    origin: str

    def require_origin(self, location: str) -> None:
        """Raises Outdated if the table is at another metadata file by now."""
        if plain_location(location) != plain_location(self.origin):
            raise Outdated("another writer changed the table while the batch ran")


class _Begun(threading.local):
    """The drafts of this thread: others read the tables as they are published."""

    def __init__(self) -> None:
        self.drafts: dict[TableName, Draft] = {}


_begun: Final = _Begun()
_prepared: Final[WeakSet[SparkSession]] = WeakSet()


def draft_of(name: TableName) -> Draft | None:
    """Returns the table's draft in this thread."""
    return _begun.drafts.get(name)


def begin(spark: SparkSession, name: TableName, table: Any, attempt: str) -> Draft:
    """Makes a draft of an Iceberg table; from then on its name stands for the draft, in this thread."""
    if spark not in _prepared:
        _load_catalog(spark)
    operations = table.newTransaction().table().operations()
    draft = Draft((attempt, name.name), str(operations.current().metadataFileLocation()))
    jvm: Any = spark._jvm
    _tables(spark).put("\n".join(draft.name), jvm.org.apache.iceberg.BaseTable(operations, table.name()))
    _begun.drafts[name] = draft
    return draft


def end(spark: SparkSession, name: TableName) -> None:
    """Forgets the draft, if there is one."""
    if (draft := _begun.drafts.pop(name, None)) is not None:
        _tables(spark).remove("\n".join(draft.name))


def _load_catalog(spark: SparkSession) -> None:
    """Has Spark load the catalog, by a class loader that knows its class."""
    jvm: Any = spark._jvm
    session: Any = spark._jsparkSession
    thread = jvm.java.lang.Thread.currentThread()
    before = thread.getContextClassLoader()
    try:
        thread.setContextClassLoader(own_class(spark, _CATALOG).getClassLoader())
        # It reads the settings of the thread's active session, whose manager of catalogs this is.
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session)
        session.sessionState().catalogManager().catalog(DRAFTS)
    finally:
        thread.setContextClassLoader(before)
    _prepared.add(spark)


def _tables(spark: SparkSession) -> Any:
    return own_class(spark, _CATALOG).getField("TABLES").get(None)
