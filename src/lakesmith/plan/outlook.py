"""How a waiting table will be refreshed, as far as that is certain.

Pure, and not a second planner: planning is asked, on inputs that have moved as their own steps will move
them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Final

from lakesmith.catalog.state import MAIN, Snapshot, TableState
from lakesmith.plan.cost import Amount, held
from lakesmith.plan.facts import Query, TableFacts
from lakesmith.plan.planner import FIRST_TIME, plan_derived
from lakesmith.plan.steps import Decision, Strategy, TableStep, Waiting
from lakesmith.project.definitions import TableName

_TO_COME: Final = -1
"""The id of an input's future snapshot; Iceberg's own ids are positive."""


class Move(StrEnum):
    """What a batch does to the rows of its table, for the table's readers."""

    NOTHING = "nothing"
    APPENDS = "appends"
    CHANGES = "changes"
    APPENDS_OR_CHANGES = "appends_or_changes"
    REBUILDS = "rebuilds"


@dataclass(frozen=True, slots=True)
class Outlook:
    """How a waiting table will be refreshed; ``strategy`` None: it depends on the batches above.

    ``reason``: a clause for people. ``reads``: what its inputs hold now, if all of it has to be read; None if
    unknown. ``replaces``: as in a Cost. ``rebuilds``: its definition has changed.
    """

    strategy: Strategy | None
    reason: str
    reads: Amount | None = None
    replaces: Amount | None = None
    rebuilds: bool = False


def move_of(step: TableStep) -> Move:
    """Returns what the step does to its table's rows."""
    match step.strategy:
        case Strategy.FULL:
            return Move.APPENDS if step.base.snapshot is None else Move.REBUILDS
        case Strategy.FILES:
            return Move.CHANGES if any(intake.replace for intake in step.intakes) else Move.APPENDS
        case Strategy.APPEND:
            return Move.APPENDS
        case Strategy.ADVANCE:
            return Move.NOTHING
        case Strategy.KEYS:
            return Move.CHANGES
    return Move.APPENDS_OR_CHANGES


def expected_move(outlook: Outlook) -> Move:
    """Returns what a waiting table will do to its rows, as far as its outlook shows."""
    if outlook.strategy is Strategy.FULL:
        return Move.APPENDS if outlook.replaces is None else Move.REBUILDS
    known = {Strategy.APPEND: Move.APPENDS, Strategy.KEYS: Move.CHANGES, Strategy.ADVANCE: Move.NOTHING}
    return (
        known.get(outlook.strategy, Move.APPENDS_OR_CHANGES) if outlook.strategy else Move.APPENDS_OR_CHANGES
    )


def outlook_of(
    waiting: Waiting,
    query: Query,
    facts: TableFacts,
    inputs: Mapping[TableName, TableFacts],
    moves: Mapping[TableName, Move],
    warm: bool = False,
) -> Outlook:
    """Returns how the table will be refreshed.

    Args:
        waiting: the table's decision.
        query: what planning knows of its query.
        facts: the table's state.
        inputs: the state of the tables it reads.
        moves: for its inputs that have work, what that does to their rows.
        warm: as for ``plan_derived``.
    """
    record = facts.base.record
    plan = partial(plan_derived, warm=warm)
    own = plan(waiting.table, query, facts, inputs)
    if isinstance(own, TableStep) and own.strategy is Strategy.FULL:
        found = Outlook(Strategy.FULL, own.reason, rebuilds=is_rebuilt(own))
    elif isinstance(own, Waiting) and record is None and moves.keys() >= set(own.upstream):
        found = Outlook(Strategy.FULL, FIRST_TIME)
    else:
        after = ({**inputs, **_moved(inputs, moves, uncertain)} for uncertain in (Move.APPENDS, Move.CHANGES))
        strategy = _strategy(plan(waiting.table, query, facts, moved) for moved in after)
        found = Outlook(strategy, _why(waiting, moves, strategy))
    if found.strategy is not Strategy.FULL:
        return found
    there = held(facts.state, facts.base.snapshot)
    return replace(found, reads=_about(query.inputs, inputs), replaces=there)


def is_rebuilt(step: TableStep) -> bool:
    """Whether the existing rows were made by another definition, and are all replaced."""
    record = step.base.record
    return step.strategy is Strategy.FULL and record is not None and record.fingerprint != step.fingerprint


def _about(names: Sequence[TableName], inputs: Mapping[TableName, TableFacts]) -> Amount | None:
    """Returns what the inputs hold now; None if one of them does not exist."""
    states = [state for name in names if (state := inputs[name].state)]
    if len(states) < len(names):
        return None
    amounts = (held(state, state.head_id) or Amount() for state in states)
    return sum(amounts, Amount())


def _strategy(decisions: Iterable[Decision]) -> Strategy | None:
    """Returns the strategy that all decisions share; None if it depends on an uncertain move."""
    found = {decision.strategy if isinstance(decision, TableStep) else None for decision in decisions}
    return found.pop() if len(found) == 1 else None


def _moved(
    inputs: Mapping[TableName, TableFacts], moves: Mapping[TableName, Move], uncertain: Move
) -> dict[TableName, TableFacts]:
    certain = {name: uncertain if move is Move.APPENDS_OR_CHANGES else move for name, move in moves.items()}
    return {
        name: replace(facts, state=_after(facts.state, certain[name]))
        for name, facts in inputs.items()
        if name in certain and facts.state is not None
    }


def _after(state: TableState, move: Move) -> TableState:
    """The table once its batch is published."""
    head = state.head
    totals = {key: text for key, text in head.summary.items() if key.startswith("total-")} if head else {}
    counts = {Move.NOTHING: (), Move.APPENDS: ("added-data-files", "added-records")}.get(
        move, ("added-data-files", "deleted-data-files")
    )
    new = Snapshot(
        snapshot_id=_TO_COME,
        parent_id=head.snapshot_id if head else None,
        sequence_number=head.sequence_number + 1 if head else 1,
        committed_ms=head.committed_ms if head else 0,
        operation="append" if move in (Move.NOTHING, Move.APPENDS) else "overwrite",
        manifest_list="",
        summary={"total-data-files": "1", **totals, **dict.fromkeys(counts, "1")},
        schema_id=head.schema_id if head else None,
    )
    return replace(state, snapshots={**state.snapshots, _TO_COME: new}, refs={**state.refs, MAIN: _TO_COME})


def _why(waiting: Waiting, moves: Mapping[TableName, Move], strategy: Strategy | None) -> str:
    replaced = [str(name) for name in waiting.upstream if moves.get(name) is Move.REBUILDS]
    if replaced and strategy is not None:
        return f"all rows of {' and '.join(replaced)} are replaced"
    verb = "is" if len(waiting.upstream) == 1 else "are"
    above = f"once {', '.join(map(str, waiting.upstream))} {verb} up to date"
    return above if strategy is not None else f"decided {above}"
