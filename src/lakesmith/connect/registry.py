"""All engines, by their names on the command line."""

from __future__ import annotations

from typing import Final

from lakesmith.connect.model import SQLITE, Engine
from lakesmith.errors import UsageError, did_you_mean

_SHARED: Final = ("glue", "s3tables", "rest", "jdbc")
_EVERY: Final = ("local", SQLITE, *_SHARED)
_AWS: Final = ("glue", "s3tables")
_ENVSUBST: Final = "fill them in first, such as by | envsubst"

ALL: Final[tuple[Engine, ...]] = (
    Engine(
        "duckdb",
        "DuckDB",
        "duckdb.sql.j2",
        reads=_EVERY,
        format_three="DuckDB 1.5 reads it, deletion vectors included; older ones may not",
        fills_in=_ENVSUBST,
        asks_for_metadata=frozenset({"local", "jdbc"}),
        package="duckdb",
    ),
    Engine("pyiceberg", "PyIceberg", "pyiceberg.py.j2", reads=_EVERY, package="pyiceberg"),
    Engine("spark", "Spark", "spark.py.j2", reads=_EVERY, package="pyspark"),
    Engine(
        "trino",
        "Trino",
        "trino.properties.j2",
        reads=_SHARED,
        why_not="it reads no SQLite file and no files of this machine",
        format_three="Trino 480 and newer read it with its deletion vectors; older ones do not",
        fills_in="Trino fills them in itself",
    ),
    Engine(
        "athena",
        "Athena",
        "athena.sql.j2",
        reads=_AWS,
        why_not="it sees what is in Glue's Data Catalog, and what is federated there",
        format_three="Athena does not read it (AWS's table of services, 2026): Redshift, Spark and Trino do",
        fills_in=_ENVSUBST,
    ),
    Engine(
        "redshift",
        "Redshift",
        "redshift.sql.j2",
        reads=_AWS,
        why_not="it reads Iceberg tables of Glue's Data Catalog alone, and of what is federated there",
        format_three="read since August 2026, on RG nodes and Serverless; "
        "columns of struct, list and map are not",
        fills_in=_ENVSUBST,
    ),
    Engine(
        "snowflake",
        "Snowflake",
        "snowflake.sql.j2",
        reads=_SHARED,
        why_not="it reaches no files of this machine",
        format_three="read since May 2026, deletion vectors included",
        fills_in=_ENVSUBST,
        asks_for_metadata=frozenset({"jdbc"}),
    ),
    Engine(
        "starrocks",
        "StarRocks",
        "starrocks.sql.j2",
        reads=_SHARED,
        why_not="it reads no SQLite file and no files of this machine",
        format_three="its page names formats 1 and 2; "
        "releases before July 2026 refuse a table with deletion vectors",
        fills_in=_ENVSUBST,
    ),
)


def engine_named(name: str) -> Engine:
    """Returns the engine of that name. Raises UsageError LS254 for an unknown name."""
    names = [engine.name for engine in ALL]
    for engine in ALL:
        if engine.name == name.lower():
            return engine
    what = f"there is no snippet for an engine {name!r}"
    raise UsageError.of("LS254", what, None, f"one of {', '.join(names)}", hint=did_you_mean(name, names))
