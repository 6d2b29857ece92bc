"""How Spark works in a session that is set up for little data, until there is more to do.

Little data is shuffled into one partition, by plans that are made once: adaptive execution runs each stage as
a job of its own and plans again after it, a tenth of the processor time of a batch of ten rows. And what
Spark computes outside of a stage's own code is interpreted: each task writes the text of such code again,
also where the compiled class is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import SparkSession

ADAPTIVE: Final = "spark.sql.adaptive.enabled"
PARTITIONS: Final = "spark.sql.shuffle.partitions"
COMPILING: Final = "spark.sql.codegen.factoryMode"
_GROWN: Final = "spark.lakesmith.partitions.grown"


def little_conf(grown: int, given: Mapping[str, str]) -> dict[str, str]:
    """Returns the settings of a session for little data. ``grown``: the shuffle partitions that it will have;
    ``given``: the project's settings, which stay."""
    if given.keys() & {ADAPTIVE, PARTITIONS, COMPILING}:
        return {PARTITIONS: str(grown)}
    return {ADAPTIVE: "false", PARTITIONS: "1", COMPILING: "NO_CODEGEN", _GROWN: str(grown)}


def may_grow(session: SparkSession) -> bool:
    """Whether the session is still set up for little data."""
    return session.conf.get(_GROWN, None) is not None


def grow(session: SparkSession) -> None:
    """Sets a session up for more than little data, for the rest of its time."""
    if (partitions := session.conf.get(_GROWN, None)) is not None:
        session.conf.set(ADAPTIVE, "true")
        session.conf.set(PARTITIONS, partitions)
        session.conf.set(COMPILING, "FALLBACK")
        session.conf.unset(_GROWN)
