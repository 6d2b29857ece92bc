"""What planning knows of tables, sources and queries, read beforehand and passed in as values."""

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
    """A table's state, None if it does not exist; ``problem`` if its progress is unknown.

    ``begin``: of an external table, the snapshot whose rows do not count; None: all rows count.
    """

    state: TableState | None = None
    progress: Progress | None = None
    problem: Problem | None = None
    begin: int | None = None

    @property
    def base(self) -> Base:
        """The state that a batch on this table begins with."""
        if self.state is None:
            return Base()
        record = self.progress.record if self.progress else None
        return Base(self.state.uuid, self.state.head_id, record)


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What a table's sources offer: chosen files per source, problems and notes.

    ``waiting``: number of files that are too young. ``known``: number of all other files; ``skipped`` of them
    are left out on record.
    """

    intakes: tuple[FileIntake, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    waiting: int = 0
    known: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Query:
    """What planning knows of a table's query.

    ``row_wise``: each input row gives at most one row, whatever the others are. If False, ``why_not`` says
    why. None: only Spark knows (a Python table), so it is tried.
    ``not_by_keys``: why touched keys cannot be recomputed, None if nothing is known to prevent it.
    ``fingerprint`` identifies the definition, ``definition`` its parts.
    ``computed``: columns that it does more with than pass them on. ``named``: all columns that it names, and
    ``*`` if others matter too. None: any columns.
    ``refused``: by strategy, why Spark's plan refused it.
    ``lookups``: inputs joined as they are when a row of the other input arrives; their changes change
    nothing.
    ``idle``: inputs whose watermarks are ignored. ``arrived``: last change of the rows of inputs with
    watermarks.
    ``trusted``: its author declares that its Python functions are deterministic.
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
"""Raise it if the rules of key columns or row-wise queries allow more: refusals are tried again."""

_RULES_KEY: Final = "rules"


def with_refusals(query: Query, refusals: Mapping[Strategy, str]) -> Query:
    """Returns the query without these strategies, for these reasons."""
    for strategy, reason in refusals.items():
        if strategy.is_by_keys:
            query = replace(query, not_by_keys=reason)
        else:
            query = replace(query, row_wise=False, why_not=reason)
    return query


def remembered(query: Query, record: Record) -> Query:
    """Returns the query with the refusals of the last batch's record, if the query is the same."""
    if record.fingerprint != query.fingerprint:
        return query
    refused = still_refused(record, query.trusted)
    query = with_refusals(query, {Strategy(key): reason for key, reason in refused.items()})
    return replace(query, refused={**refused, **query.refused})


def still_refused(record: Record, trusted: bool) -> dict[str, str]:
    """Returns a record's refusals by strategy; none if the rules have changed."""
    if record.refused.get(_RULES_KEY) != _rules(trusted):
        return {}
    return {key: reason for key, reason in record.refused.items() if key != _RULES_KEY}


def as_recorded(refused: Mapping[str, str], trusted: bool = False) -> dict[str, str]:
    """Returns the refusals for the record, with the rules that found them; trusted Python has other rules."""
    return {_RULES_KEY: _rules(trusted), **refused} if refused else {}


def _rules(trusted: bool) -> str:
    return f"{RULES}, deterministic" if trusted else RULES
