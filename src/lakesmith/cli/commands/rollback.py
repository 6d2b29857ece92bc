"""``lakesmith rollback``: a table back to a point of its past, progress included; those below with it, where that is asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from lakesmith.api.words import count, moment
from lakesmith.cli.alone import alone
from lakesmith.cli.asking import agreed
from lakesmith.cli.opening import open_project
from lakesmith.cli.options import (
    HERE,
    JsonOption,
    ProjectOption,
    TableArgument,
    TargetOption,
    WaitOption,
    YesOption,
    command_app,
)
from lakesmith.cli.session import spark_session
from lakesmith.execute.opened import Opened
from lakesmith.execute.rollback import Prepared, lost_files, prepare
from lakesmith.plan.rollback import Move
from lakesmith.project.definitions import TableName

app = command_app()


@dataclass(frozen=True, slots=True)
class RollbackOptions:
    """What the caller of ``rollback`` asked for. ``wait`` is in seconds."""

    to: str
    with_downstream: bool = False
    hold: bool = False
    lossy: bool = False
    yes: bool = False
    wait: float = 0.0


@app.command()
def rollback(
    table: TableArgument,
    to: Annotated[
        str, typer.Option("--to", help="A snapshot, a tag or a moment, as query --as-of takes it.")
    ],
    with_downstream: Annotated[
        bool, typer.Option("--with-downstream", help="Move the tables below as well.")
    ] = False,
    hold: Annotated[bool, typer.Option("--hold", help="Keep it there, until lakesmith release.")] = False,
    lossy: Annotated[
        bool, typer.Option("--lossy", help="Also where files taken since are gone, with their rows.")
    ] = False,
    yes: YesOption = False,
    wait: WaitOption = 0.0,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``rollback_command`` takes them."""
    options = RollbackOptions(to, with_downstream, hold, lossy, yes, wait)
    raise typer.Exit(rollback_command(project, target, table, options, json))


def rollback_command(
    root: Path, target: str | None, table: str, options: RollbackOptions, as_json: bool
) -> int:
    """Sets the table back when that is agreed to; 0.

    Raises UsageError LS201, LS205, LS221, LS227, LS230, LS231, LS255, StateError LS508, LS511, LS518, LS519, LockedError LS701, LS703.
    """
    opened = open_project(root, target)
    name = opened.one_of_ours(table)
    with alone(opened, f"rollback {name}", options.wait):
        prepared = _prepared(opened, name, options)
        if not as_json:
            print("\n".join(_lines(prepared, options)))
        if _is_there(prepared, options):
            if as_json:
                print(json.dumps(as_dict(prepared, done=False)))
            return 0
        if not agreed(f"set {name} back?", options.yes, as_json):
            print("nothing was changed")
            return 0
        _do(opened, prepared, options)
    print(json.dumps(as_dict(prepared, done=True)) if as_json else _done(prepared, options))
    return 0


def _prepared(opened: Opened, name: TableName, options: RollbackOptions) -> Prepared:
    now = datetime.now(UTC)
    prepared = prepare(opened.lake, opened.graph, name, options.to, now, downstream=options.with_downstream)
    if prepared.files.gone and not options.lossy:
        raise lost_files(name, prepared.files.gone)
    return prepared


def _do(opened: Opened, prepared: Prepared, options: RollbackOptions) -> None:
    from lakesmith.spark.past import roll_back

    with spark_session(opened, little=True) as session:
        roll_back(session, opened.lake, prepared.rollback, hold=options.hold)


def _is_there(prepared: Prepared, options: RollbackOptions) -> bool:
    """Whether there is nothing to do."""
    return not options.hold and all(move.begin == move.to for move in prepared.rollback.moves)


def _lines(prepared: Prepared, options: RollbackOptions) -> Iterator[str]:
    """What it does, in words."""
    for move in prepared.rollback.moves:
        yield f"{move.name} {_back(move)}"
        yield from (f"  undoes batch {record.batch} ({record.kind})" for record in reversed(move.undone))
    if prepared.columns:
        yield f"columns do not go back: {', '.join(prepared.columns)}"
    yield from _file_lines(prepared)
    moved = {move.name for move in prepared.rollback.moves}
    for name, why in prepared.rollback.stay.items():
        yield f"{name} stays as it is, and the next run computes it from what is there then: {why}"
    left = [str(name) for name in prepared.readers if name not in moved | prepared.rollback.stay.keys()]
    if left and not options.with_downstream:
        yield f"made from it: {', '.join(left)}; the next run corrects them (--with-downstream moves them now)"


def _back(move: Move) -> str:
    if move.begin == move.to:
        return f"is at snapshot {move.to} already (batch {move.record.batch})"
    rows = f", {count(move.record.account.rows_after, 'row')}"
    way = "forward" if move.is_forward else "back"
    return f"goes {way} to batch {move.record.batch} of {moment(move.at_ms)} (snapshot {move.to}{rows})"


def _file_lines(prepared: Prepared) -> Iterator[str]:
    files = prepared.files
    if files.again:
        yield f"{count(len(files.again), 'file')} taken since: the next run takes {'it' if len(files.again) == 1 else 'them'} again"
    if files.topics:
        yield f"records of {count(len(files.topics), 'partition')} taken since: the next run reads again what its topic still has"
    if files.gone:
        yield f"{count(len(files.gone), 'file')} taken since, of which nothing is left: the rows are given up"


def _done(prepared: Prepared, options: RollbackOptions) -> str:
    name = prepared.first.name
    if options.hold:
        return f"{name} was set back and stays there until: lakesmith release {name}"
    return f"{name} was set back; the next run brings it on again"


def as_dict(prepared: Prepared, *, done: bool) -> dict[str, Any]:
    """A rollback as JSON data."""
    return {
        "rolled_back": done,
        "tables": [
            {
                "table": str(move.name),
                "from_snapshot": move.begin,
                "to_snapshot": move.to,
                "batch": move.record.batch,
                "undone": [record.batch for record in move.undone],
            }
            for move in prepared.rollback.moves
        ],
        "stay": {str(name): why for name, why in prepared.rollback.stay.items()},
        "columns_stay": list(prepared.columns),
        "files_again": list(prepared.files.again),
        "files_gone": list(prepared.files.gone),
    }
