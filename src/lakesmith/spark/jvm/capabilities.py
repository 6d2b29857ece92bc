"""What this JVM's Spark and Iceberg have of what not every version has: looked at once, by what is there and not by a version's number.

Vendors change what they ship. What is missing is done in another way, which gives the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from lakesmith.spark.jvm.gateway import java_class


@dataclass(frozen=True, slots=True)
class Capabilities:
    """
    Args:
        observed_rows: an observation is told when Spark left it out of a plan (from Spark 4.1); else the end of all listeners is waited for.
        timed_relations: a table in a plan has room for a moment to travel to (from Spark 4.1); else it is made without.
        pinned_tables: Iceberg's tables for Spark are of one snapshot (from Iceberg 1.11); else they are told not to look for a newer one.
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
    """What the JVM of a session has."""
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
    """How many parameters the methods of a name have."""
    return {int(each.getParameterCount()) for each in described if str(each.getName()) == name}
