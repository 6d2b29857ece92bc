"""What planning is told of a table of others, which is read as it is."""

from __future__ import annotations

from datetime import UTC, datetime

from lakesmith.catalog.history import resolve_as_of
from lakesmith.catalog.state import TableState
from lakesmith.errors import Problem, UsageError
from lakesmith.plan.external_inputs import no_such_begin
from lakesmith.plan.facts import TableFacts
from lakesmith.project.definitions import ExternalTable, TableName


def external_facts(name: TableName, external: ExternalTable, state: TableState | None) -> TableFacts:
    """The table as it is now: LS514 where it is not there, LS515 where the point from which it is read is not known."""
    if state is None:
        return TableFacts(problem=_not_there(name, external))
    if external.begin is None:
        return TableFacts(state)
    try:
        begin = resolve_as_of(state, external.begin, datetime.now(UTC))
    except UsageError as error:
        found = error.problems[0]
        return TableFacts(state, problem=no_such_begin(name, external, found.found or found.what))
    return TableFacts(state, begin=begin)


def _not_there(name: TableName, external: ExternalTable) -> Problem:
    of = external.project or external.catalog or "the catalog of the target"
    where = external.metadata or f"{external.table} of {of}"
    return Problem(
        "LS514",
        f"{name}, a table of others, is not there",
        external.place,
        expected=where,
        found="no such table",
        hint="correct external:, or have it built where it belongs to; what was read of it stays as it is",
    )
