"""What planning knows of a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakesmith.project.definitions import TableName


@dataclass(frozen=True, slots=True)
class Query:
    """What planning has to know of a table's query.

    ``row_wise``: each input row gives at most one row, whatever the others are; when it is False, ``why_not`` says why, for
    people. None: only Spark can tell (a Python table), so it is tried. ``not_by_keys``: what stands against computing
    touched keys anew, None when nothing is known to. ``fingerprint`` identifies the definition, ``definition`` its parts. ``computed``: the columns
    it does more with than pass them on; ``named``: all that it names, and ``*`` where others matter too; None: any. ``refused``: by strategy, why Spark's plan of it stood against that.
    ``lookups``: inputs whose rows are joined as they are when a row of the other input arrives: what changes in them changes nothing.
    ``idle``: inputs whose watermarks do not count now; ``arrived``: when the rows of those with watermarks last changed.
    ``trusted``: its author says that the Python functions in it are deterministic.
    """

    inputs: tuple[TableName, ...]
    row_wise: bool | None
    fingerprint: str
    why_not: str = ""
    computed: tuple[str, ...] | None = None
    named: tuple[str, ...] | None = None
    not_by_keys: str | None = None
    definition: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    trusted: bool = False
    lookups: tuple[TableName, ...] = ()
    idle: tuple[TableName, ...] = ()
    arrived: Mapping[str, int] = field(default_factory=dict)
