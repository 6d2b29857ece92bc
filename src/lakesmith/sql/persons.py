"""Whose rows are meant. Light to import: a plan may carry it."""

from __future__ import annotations

from dataclasses import dataclass

from lakesmith.quoting import literal, quoted


@dataclass(frozen=True, slots=True)
class Persons:
    """Rows in which the columns have one of the ``values`` each: of every column in order, as texts."""

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    def condition(self) -> str:
        """SQL that is true for their rows; values are compared in the types of the columns."""
        return " OR ".join(f"({self._equal(each)})" for each in self.values)

    def _equal(self, values: tuple[str, ...]) -> str:
        pairs = zip(self.columns, values, strict=True)
        return " AND ".join(f"CAST({quoted(name)} AS STRING) = {literal(value)}" for name, value in pairs)

    def within(self, names: frozenset[str]) -> bool:
        """Whether a table with these columns (lower case) has them all."""
        return all(name.lower() in names for name in self.columns)
