"""The plan with what it costs, and what is certain already of the tables that wait for others. No JVM."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lakesmith.catalog.state import TableState
from lakesmith.execute.decide import Decider
from lakesmith.execute.fetch import not_read
from lakesmith.execute.lake import Lake
from lakesmith.plan.changes import Change, changes_of
from lakesmith.plan.cost import Cost, cost_of
from lakesmith.plan.outlook import Move, Outlook, expected_move, move_of, outlook_of
from lakesmith.plan.steps import Decision, Refused, TableStep, Waiting
from lakesmith.project.definitions import TableName


@dataclass(frozen=True, slots=True)
class Forecast:
    """A decision; a step's ``cost``; the ``outlook`` of a table that waits for one with work; the ``changes``
    of its structure.

    ``not_read``: what a run reads before it plans, so that it is not known here.
    """

    decision: Decision
    cost: Cost | None = None
    outlook: Outlook | None = None
    changes: tuple[Change, ...] = ()
    not_read: tuple[str, ...] = ()


def forecast(decider: Decider, names: Sequence[TableName]) -> tuple[Forecast, ...]:
    """The plan of these tables, from one look at the lake. ``names``: each behind the tables it reads."""
    with decider.one_look(names):
        found = forecasts(decider, decider.decide_all(names))
    return tuple(replace(each, not_read=not_read(decider.lake.project, each.decision)) for each in found)


def forecasts(decider: Decider, decisions: Sequence[Decision]) -> tuple[Forecast, ...]:
    """What each decision of a plan costs. ``decisions``: each behind those of the tables it reads."""
    moves: dict[TableName, Move] = {}
    found = []
    for decision in decisions:
        expected = _with_changes(decider, _forecast(decider, decision, moves))
        found.append(expected)
        if isinstance(decision, TableStep):
            moves[decision.name] = move_of(decision)
        elif expected.outlook is not None:
            moves[decision.name] = expected_move(expected.outlook)
    return tuple(found)


def _forecast(decider: Decider, decision: Decision, moves: dict[TableName, Move]) -> Forecast:
    match decision:
        case TableStep():
            read = (decision.name, *(item.table for item in decision.inputs))
            return Forecast(decision, cost_of(decision, _states(decider.lake, read)))
        case Waiting() if moves.keys() & set(decision.upstream):
            return Forecast(decision, outlook=_outlook(decider, decision, moves))
    return Forecast(decision)


def _with_changes(decider: Decider, found: Forecast) -> Forecast:
    table, decision = found.decision.table, found.decision
    # What is refused was perhaps not even read.
    if table.external is not None or (isinstance(decision, Refused)):
        return found
    facts = decider.lake.facts(table.name)
    analysis = decider.graph.node(table.name).analysis
    named = analysis.output_columns if analysis is not None else None
    given = None if named is None else (*named, *table.added_columns)
    return replace(found, changes=changes_of(decision, facts, found.outlook, given))


def _outlook(decider: Decider, waiting: Waiting, moves: dict[TableName, Move]) -> Outlook:
    query = decider.query(decider.graph.node(waiting.name))
    inputs = {name: decider.lake.facts(name) for name in query.inputs}
    return outlook_of(waiting, query, decider.lake.facts(waiting.name), inputs, moves, decider.warm)


def _states(lake: Lake, names: Iterable[TableName]) -> dict[TableName, TableState]:
    found = {name: lake.catalog.table(name.layer, name.name) for name in names}
    return {name: state for name, state in found.items() if state is not None}
