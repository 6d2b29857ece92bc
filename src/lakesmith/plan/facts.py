"""What planning knows of tables, sources and queries, read beforehand and passed in as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from lakesmith.catalog.progress import Progress
from lakesmith.catalog.record import Record
from lakesmith.catalog.state import TableState
from lakesmith.errors import Problem
from lakesmith.plan.steps import Base, FileIntake, Strategy
from lakesmith.project.definitions import TableName


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A table as it is: ``state`` None when it does not exist, ``problem`` when what it has consumed cannot be told.

    ``begin``: of a table of others, the snapshot whose rows do not count; None: all count.
    """

    state: TableState | None = None
    progress: Progress | None = None
    problem: Problem | None = None
    begin: int | None = None

    @property
    def base(self) -> Base:
        """Where a batch on this table begins."""
        if self.state is None:
            return Base()
        head = self.state.head
        record = self.progress.record if self.progress else None
        return Base(self.state.uuid, head.snapshot_id if head else None, record)


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What a table's sources have to give: per source the chosen files, and everything to say about them.

    ``waiting`` files are too young to be taken. ``known`` are all others that are there, ``skipped`` those of them that are
    left out on record.
    """

    intakes: tuple[FileIntake, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    waiting: int = 0
    known: int = 0
    skipped: int = 0


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


RULES: Final = "2"
"""Raise it when the rules of ``spark.key_columns`` or of row by row allow more: what was refused before is tried again then."""

_RULES_KEY: Final = "rules"


def with_refusals(query: Query, refusals: Mapping[Strategy, str]) -> Query:
    """The query as it has to be planned, where it refused these strategies for these reasons."""
    for strategy, reason in refusals.items():
        if strategy.is_by_keys:
            query = replace(query, not_by_keys=reason)
        else:
            query = replace(query, row_wise=False, why_not=reason)
    return query


def remembered(query: Query, record: Record) -> Query:
    """The query with what the last batch's record says that it refuses, if it is the same query."""
    if record.fingerprint != query.fingerprint:
        return query
    refused = still_refused(record, query.trusted)
    query = with_refusals(query, {Strategy(key): reason for key, reason in refused.items()})
    return replace(query, refused={**refused, **query.refused})


def still_refused(record: Record, trusted: bool) -> dict[str, str]:
    """The refusals of a record by strategy; none where other rules hold now."""
    if record.refused.get(_RULES_KEY) != _rules(trusted):
        return {}
    return {key: reason for key, reason in record.refused.items() if key != _RULES_KEY}


def as_recorded(refused: Mapping[str, str], trusted: bool = False) -> dict[str, str]:
    """For the record: by strategy the reason, and the rules by which that was found: of Python that is ``trusted`` others hold."""
    return {_RULES_KEY: _rules(trusted), **refused} if refused else {}


def _rules(trusted: bool) -> str:
    return f"{RULES}, deterministic" if trusted else RULES
