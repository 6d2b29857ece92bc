"""All engines, by the names that the command line has for them."""

from __future__ import annotations

from typing import Final

from lakesmith.connect.engines import athena, duckdb, pyiceberg, redshift, snowflake, spark, starrocks, trino
from lakesmith.connect.model import Engine
from lakesmith.errors import Problem, UsageError
from lakesmith.project.nearest import did_you_mean

ALL: Final[tuple[Engine, ...]] = tuple(
    module.ENGINE for module in (duckdb, pyiceberg, spark, trino, athena, redshift, snowflake, starrocks)
)


def engine_named(name: str) -> Engine:
    """The engine. Raises UsageError LS254 for one that is not known."""
    names = [engine.name for engine in ALL]
    for engine in ALL:
        if engine.name == name.lower():
            return engine
    what = f"there is no snippet for an engine {name!r}"
    raise UsageError(
        Problem("LS254", what, None, f"one of {', '.join(names)}", hint=did_you_mean(name, names))
    )
