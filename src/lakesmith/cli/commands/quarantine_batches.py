"""``lakesmith quarantine replay`` and ``drop``: the ways out, each a batch under the project's lock."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lakesmith.api.words import count
from lakesmith.cli.asking import agreed
from lakesmith.cli.commands.run import RunOptions, run_and_show, run_command
from lakesmith.cli.opening import open_project
from lakesmith.errors import Problem, UsageError
from lakesmith.execute.opened import Opened
from lakesmith.execute.quarantine import QuarantineDecider, summarize
from lakesmith.plan.steps import BadRows, Strategy
from lakesmith.project.definitions import TableName


@dataclass(frozen=True, slots=True)
class Call:
    """What both commands are told besides their rows. ``wait`` is in seconds."""

    root: Path
    target: str | None = None
    as_json: bool = False
    wait: float = 0.0


def replay_command(call: Call, table: str, chosen: BadRows) -> int:
    """Judges bad rows again; the exit code of the run.

    A derived table's quarantine is a function of its inputs and its definition, so its rows come back by a full refresh.
    Raises UsageError LS226 when only some of those are asked for.
    """
    opened = open_project(call.root, call.target)
    name = opened.one(table)
    if not opened.graph.node(name).definition.is_sourced:
        return _rebuild(opened, call, name, chosen)
    return _run(opened, call, name, _decider(opened, Strategy.REPLAY, chosen), "quarantine replay")


def drop_command(call: Call, table: str, chosen: BadRows, yes: bool) -> int:
    """Drops bad rows; the exit code of the run.

    Raises UsageError LS227 where nobody can be asked and ``yes`` is not given.
    """
    opened = open_project(call.root, call.target)
    name = opened.one(table)
    if not yes and not _may_drop(opened, name, chosen, call.as_json):
        print("nothing was dropped")
        return 0
    return _run(opened, call, name, _decider(opened, Strategy.DROP, chosen), "quarantine drop")


def _decider(opened: Opened, strategy: Strategy, chosen: BadRows) -> QuarantineDecider:
    return QuarantineDecider(opened.graph, opened.lake, strategy=strategy, bad_rows=chosen)


def _run(opened: Opened, call: Call, name: TableName, decider: QuarantineDecider, command: str) -> int:
    options = RunOptions(wait=call.wait, command=command)
    return run_and_show(opened, decider, (name,), options, call.as_json)


def _rebuild(opened: Opened, call: Call, name: TableName, chosen: BadRows) -> int:
    if chosen != BadRows():
        raise UsageError(
            Problem(
                "LS226",
                f"the quarantine of {name} can only be replayed as a whole",
                place=opened.graph.node(name).definition.place,
                expected="no --batch, --reason or --file: a derived table is judged anew with all of its inputs",
                found=str(chosen),
                hint=f"lakesmith quarantine replay {name}",
            )
        )
    if not call.as_json:
        print(f"{name} is derived: it is judged anew from its inputs, by a full refresh")
    return run_command(
        call.root, call.target, RunOptions(full_refresh=(str(name),), wait=call.wait), call.as_json
    )


def _may_drop(opened: Opened, name: TableName, chosen: BadRows, as_json: bool) -> bool:
    """Asks on a terminal. Where there is nothing to drop there is nothing to ask."""
    rows = summarize(opened.lake, name, opened.lake.facts(name), chosen).rows
    question = f"drop {count(rows, 'bad row')} of {name} ({chosen}) for good?"
    return not rows or agreed(question, yes=False, as_json=as_json)
