"""What is known of a node of Spark's plan on the way from the inputs to the result (see ``key_columns``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lakesmith.spark.catalyst.key_origins import Origin, Origins
from lakesmith.spark.catalyst.merged_values import has_equals
from lakesmith.spark.catalyst.occurrences import Occurrence
from lakesmith.spark.catalyst.tree import id_of, is_name, kind_of, references


@dataclass(frozen=True)
class Seen:
    """What is known of a node: the columns that tell its changes, their origins, the occurrences of inputs below it, and it
    relaxed. ``merged``: those columns of which one value stands for others that are equal to it and not the same.
    """

    told: frozenset[int]
    plan: Any
    occurrences: frozenset[Occurrence] = frozenset()
    origins: Mapping[int, Origins] = field(default_factory=dict)
    merged: frozenset[int] = frozenset()

    def decides(self, expression: Any) -> bool:
        """Whether what an expression gives follows from the columns that tell changes."""
        used = references(expression)
        return used <= self.told and (not used & self.merged or is_name(expression))

    def merging(self, columns: Iterable[Any]) -> Seen:
        """The same where rows with equal values in these columns have been made one, or are looked at together."""
        found = (
            id_of(each) for each in columns if kind_of(each) == "AttributeReference" and has_equals(each)
        )
        return replace(self, merged=self.merged | self.told.intersection(found))


def shared_origins(parts: Iterable[tuple[Seen, int]]) -> Origins:
    """The origins that a column has in each part which has the occurrence they are of."""
    parts = list(parts)
    found: dict[Occurrence, Origin] = {}
    for occurrence in frozenset().union(*(part.occurrences for part, _ in parts)):
        origins = [
            part.origins.get(column, {}).get(occurrence)
            for part, column in parts
            if occurrence in part.occurrences
        ]
        if origins[0] is not None and all(origin == origins[0] for origin in origins):
            found[occurrence] = origins[0]
    return found
