"""The differences between a table's file and the table, each with its cost. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lakesmith.catalog.state import TableState
from lakesmith.plan.facts import TableFacts
from lakesmith.plan.format_version import FormatUpgrade
from lakesmith.plan.losses import gone_columns, lost_columns, undeclared_columns
from lakesmith.plan.outlook import Outlook, is_rebuilt
from lakesmith.plan.settings import Partitioning, changed_settings, declared_changes, with_renamings
from lakesmith.plan.steps import Decision, TableStep, Waiting
from lakesmith.project.definitions import TableDefinition


class ChangeCost(StrEnum):
    """What a change does to existing data."""

    METADATA = "metadata only"
    """No data file is read or written."""
    NEW_DATA = "new data only"
    """New rows follow the change; existing rows stay."""
    REBUILD = "rebuild"
    """All rows are computed again."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change in words, its cost, and what it ``loses``: then it waits for ``run --approve``."""

    what: str
    cost: ChangeCost
    loses: tuple[str, ...] = ()


def changes_of(
    decision: Decision, facts: TableFacts, outlook: Outlook | None = None, given: Sequence[str] | None = None
) -> tuple[Change, ...]:
    """Returns the changes of a table's structure that its next batch makes, or would make if approved.

    ``given``: of a waiting table, the columns its query names, None if it leaves some open.
    """
    state = facts.state
    if state is None:
        return ()
    rebuild = _rebuild(decision)
    if isinstance(decision, Waiting) and outlook is not None and outlook.rebuilds:
        there = with_renamings(decision.table, state)
        loses = lost_columns(gone_columns(facts.base.record, there, given), ())
        rebuild = (Change(outlook.reason, ChangeCost.REBUILD, loses),)
    return (*_of_structure(decision.table, state), *rebuild)


def _of_structure(table: TableDefinition, state: TableState) -> Iterator[Change]:
    yield from (Change(what, ChangeCost.METADATA) for what in declared_changes(table, state))
    for setting in changed_settings(table, state):
        later = isinstance(setting, Partitioning | FormatUpgrade)
        yield Change(str(setting), ChangeCost.NEW_DATA if later else ChangeCost.METADATA)
    for column in undeclared_columns(table, state):
        yield Change(f"column {column.name} is not declared", ChangeCost.METADATA, lost_columns([column], ()))


def _rebuild(decision: Decision) -> tuple[Change, ...]:
    match decision:
        case TableStep(loses=loses) if loses or is_rebuilt(decision):
            return (Change(decision.reason, ChangeCost.REBUILD, loses),)
    return ()
