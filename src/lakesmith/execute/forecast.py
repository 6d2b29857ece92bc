"""What a plan expects of tables that wait for others, and what is fetched from PostgreSQL before a run is
planned."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from lakesmith.catalog.state import TableState
from lakesmith.errors import LakesmithError, Problem
from lakesmith.execute.decide import Decider
from lakesmith.execute.lake import Lake
from lakesmith.execute.rows_of_postgres import known_keys
from lakesmith.execute.unforeseen import unforeseen_of
from lakesmith.exports.publishing import exports_behind
from lakesmith.plan.changes import Change, changes_of
from lakesmith.plan.cost import Cost, cost_of
from lakesmith.plan.facts import TableFacts
from lakesmith.plan.outlook import Move, Outlook, expected_move, move_of, outlook_of
from lakesmith.plan.steps import Decision, Refused, TableStep, UpToDate, Waiting
from lakesmith.project.definitions import PostgresSource, Project, TableDefinition, TableName
from lakesmith.sources.model import FileAction


@dataclass(frozen=True, slots=True)
class Forecast:
    """A decision, with a step's ``cost``, the ``outlook`` of a waiting table, and structural ``changes``.
    ``not_read``: what only a run reads. ``export``: why the table's export is behind, empty if it is not."""

    decision: Decision
    cost: Cost | None = None
    outlook: Outlook | None = None
    changes: tuple[Change, ...] = ()
    not_read: tuple[str, ...] = ()
    export: str = ""


def forecast(decider: Decider, names: Sequence[TableName]) -> tuple[Forecast, ...]:
    """The plan of these tables, from one look at the lake. ``names``: each behind the tables it reads."""
    with decider.one_look(names):
        found = forecasts(decider, decider.decide_all(names))
        project = decider.lake.project
        behind = exports_behind(project, decider.lake.catalog, names)
    return tuple(
        replace(each, not_read=not_read(project, each.decision), export=behind.get(each.decision.name, ""))
        for each in found
    )


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


def fetch_all(
    lake: Lake, names: Iterable[TableName], environment: Mapping[str, str] = os.environ
) -> dict[TableName, Problem]:
    """Fetches for the tables of ``names`` that are read from PostgreSQL. Returns failures by table."""
    wanted, problems = set(names), dict[TableName, Problem]()
    for table in lake.project.tables:
        read = table.sources_of(PostgresSource)
        if not read or table.name not in wanted:
            continue
        try:
            facts = lake.facts(table.name)
            if facts.problem is None:
                for source in read:
                    _fetch(lake, table, source, facts, environment)
        except LakesmithError as error:
            problems[table.name] = error.problems[0]
        except Exception as error:  # noqa: BLE001 - whatever happens to one table, the others go on
            problems[table.name] = unforeseen_of(error, table, lake.project)
    return problems


def not_read(
    project: Project, decision: Decision, environment: Mapping[str, str] = os.environ
) -> tuple[str, ...]:
    """Returns what is unknown of an idle table because only a run reads its PostgreSQL sources."""
    from lakesmith.sources.postgres.position import seconds_since_read

    if not isinstance(decision, UpToDate) or decision.held:
        return ()
    found = []
    for source in decision.table.sources_of(PostgresSource):
        if seconds_since_read(project.root / source.path, time.time()) >= source.refresh_seconds:
            unset = (
                ""
                if environment.get(source.connection)
                else f". {source.connection} is not set, so that will fail"
            )
            found.append(
                f"a run reads {source.table} in PostgreSQL first; what changed there is not known "
                f"before{unset}"
            )
    return tuple(found)


def _fetch(
    lake: Lake,
    table: TableDefinition,
    source: PostgresSource,
    facts: TableFacts,
    environment: Mapping[str, str],
) -> None:
    from lakesmith.sources.postgres.fetch import Fetch, fetch

    ledger = lake.ledger(table.name, facts)
    ours = {Path(path).name: entry.action for path, entry in ledger.items() if entry.source == source.name}
    forgotten = [name for name, action in ours.items() if action is FileAction.FORGOTTEN]
    taken = frozenset(ours).difference(forgotten)
    folder = lake.project.root / source.path
    task = Fetch(
        table.name, source, folder, taken, partial(known_keys, lake, table, source, facts), len(forgotten)
    )
    fetch(task, environment, datetime.now(UTC))
