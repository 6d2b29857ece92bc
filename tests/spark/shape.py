"""A query shape: a table of a project, and what it has to hold by another engine."""

import re
from dataclasses import dataclass, field
from typing import Final

APPEND: Final = frozenset({"append"})
UPSERT: Final = frozenset({"upsert"})
KEYS: Final = frozenset({"keys"})
SUMS: Final = frozenset({"sums"})
"""Sums brought forward: the keys have to be told all the same."""
BY_KEYS: Final = KEYS | SUMS

_TABLE: Final = re.compile(r"\b(?:bronze|silver|gold)\.\w+")


@dataclass(frozen=True)
class Shape:
    """A table ``name`` (with its layer) of a query. ``duckdb``: its text for DuckDB, if it differs.

    ``kinds``: the strategies it may be refreshed by. ``settings``: more lines for its file. ``python``: what
    a function of DataFrames, named as the tables of the query, returns instead of the query.
    """

    name: str
    query: str
    kinds: frozenset[str] = KEYS
    duckdb: str | None = None
    settings: str = ""
    python: str = ""
    inputs: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", frozenset(_TABLE.findall(self.query)))

    @property
    def expected(self) -> str:
        return self.duckdb or self.query

    @property
    def files(self) -> dict[str, str]:
        path = f"tables/{self.name.replace('.', '/')}"
        if self.python:
            names = {table.split(".")[1]: table for table in sorted(self.inputs)}
            inputs = ", ".join(f"{name}: {table}" for name, table in names.items())
            code = "from pyspark.sql import Window\nfrom pyspark.sql import functions as F\n\n\n" + (
                f"def {self.name.split('.')[1]}({', '.join(names)}):\n    return {self.python}\n"
            )
            return {
                f"{path}.yaml": f"inputs: {{{inputs}}}\ndeterministic: true\n{self.settings}",
                f"{path}.py": code,
            }
        if not self.settings:
            return {f"{path}.sql": self.query}
        return {f"{path}.yaml": f"query: >\n  {self.query}\n{self.settings}"}
