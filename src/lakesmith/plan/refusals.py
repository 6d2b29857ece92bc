"""What a query turned out not to allow when Spark planned it, remembered in the record: it is not tried again at every run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from lakesmith.catalog.record import Record
from lakesmith.plan.query import Query
from lakesmith.plan.steps import Strategy

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
