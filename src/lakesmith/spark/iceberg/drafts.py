"""Drafts: a table as a batch will leave it, its structure included, which no reader sees before the publish.

Iceberg's branches share the table's schema, so a batch that needs other columns would change them for every
reader, and leave them so if it fails. Such a batch works on a draft: an entry in a catalog of drafts, which
begins at the table's metadata file and shares its folder, its UUID and its snapshots. Columns, partitioning
and properties change there, and the working branch is opened there; the table's own metadata stays as it was
until the publish swaps in what the draft has come to. A draft that is not published is nothing: files that no
table names.

The catalog of drafts is a SQLite file of the project's folder. ``PROPERTY`` tells a draft's metadata files
from the table's.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from lakesmith.catalog import busy
from lakesmith.catalog.local import SCHEMA
from lakesmith.catalog.state import DELETES_OLD_METADATA, DRAFT_PROPERTY, TableState
from lakesmith.project.definitions import TableName
from lakesmith.quoting import literal, quoted
from lakesmith.spark.jvm.gateway import java_class
from lakesmith.spark.start.settings import DRAFTS

_DRIVER: Final = "org.sqlite.JDBC"
_PUT_IN: Final = "INSERT OR REPLACE INTO iceberg_tables VALUES (?, ?, ?, ?, NULL, 'TABLE')"
_TAKE_OUT: Final = "DELETE FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?"

_begun: dict[TableName, str] = {}
"""The tables with a draft in this process, each with its first metadata file."""


def origin_of(name: TableName) -> str | None:
    """The metadata file at which the table's draft began; None: it has none."""
    return _begun.get(name)


def can_begin(spark: SparkSession) -> bool:
    """Returns whether the session can have a catalog of drafts; a given session may not."""
    if spark.conf.get(f"spark.sql.catalog.{DRAFTS}", None) is None:
        return False
    try:
        return java_class(spark._jvm, _DRIVER) is not None
    except Py4JJavaError:
        return False


def begin(spark: SparkSession, db: Path, place: tuple[str, str], state: TableState, attempt: str) -> None:
    """Makes a draft of the table as it is; from then on its name stands for the draft, in this process.
    ``place``: its namespace and name in the catalog.
    """
    name = TableName.parse(state.name)
    db.parent.mkdir(parents=True, exist_ok=True)
    with closing(busy.connect(db, busy.WAIT_SECONDS)) as connection:
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute(_PUT_IN, (DRAFTS, *place, state.metadata_location))
    # The table itself may go on from any of the files that a draft's commits would delete.
    marks = {DRAFT_PROPERTY: attempt, DELETES_OLD_METADATA: "false"}
    pairs = ", ".join(f"{literal(key)}={literal(value)}" for key, value in marks.items())
    spark.sql(f"ALTER TABLE {'.'.join(map(quoted, (DRAFTS, *place)))} SET TBLPROPERTIES ({pairs})")
    _begun[name] = state.metadata_location


def end(db: Path, place: tuple[str, str], name: TableName) -> None:
    if _begun.pop(name, None) is not None:
        with closing(busy.connect(db, busy.WAIT_SECONDS)) as connection:
            connection.execute(_TAKE_OUT, place)
