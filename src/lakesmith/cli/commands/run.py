"""``lakesmith run`` and ``lakesmith stop``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from lakesmith.api.running import waiting_for_approval
from lakesmith.api.words import listed
from lakesmith.cli import command as opt
from lakesmith.cli.command import asks, open_lake
from lakesmith.cli.render.run_view import run_shown

app = opt.command_app()
stop_app = opt.command_app()


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of ``run``. ``wait`` is in seconds."""

    select: tuple[str, ...] = ()
    full_refresh: tuple[str, ...] = ()
    approve: tuple[str, ...] = ()
    wait: float = 0.0


@app.command()
def run(
    select: opt.SelectArgument = None,
    full_refresh: Annotated[
        list[str] | None, typer.Option("--full-refresh", help="A derived table to rebuild from its inputs.")
    ] = None,
    approve: Annotated[
        list[str] | None,
        typer.Option("--approve", help="A table that may lose what plan says that its change takes away."),
    ] = None,
    wait: opt.WaitOption = 0.0,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Runs the selected tables."""
    options = RunOptions(tuple(select or ()), tuple(full_refresh or ()), tuple(approve or ()), wait)
    raise typer.Exit(run_command(project, target, options, json))


def run_command(root: Path, target: str | None, options: RunOptions, as_json: bool) -> int:
    """Runs and shows it, asks whether tables may lose what they wait for, and returns the exit code."""
    code, result = run_shown(
        root,
        target,
        as_json,
        lambda lake, tell: lake.run(
            *options.select,
            full_refresh=options.full_refresh,
            approve=options.approve,
            wait=options.wait,
            on_event=tell,
        ),
    )
    if as_json or result is None or not (tables := waiting_for_approval(result)) or not asks():
        return code
    if not typer.confirm(f"May {listed(tables)} lose that?"):
        return code
    again = RunOptions(tuple(f"{table}+" for table in tables), approve=(*options.approve, *tables))
    return run_command(root, target, again, as_json)


@stop_app.command()
def stop(project: opt.ProjectOption = opt.HERE, target: opt.TargetOption = None) -> None:
    """Ends the warm JVM of the project; 1 if a process uses it."""
    found = open_lake(project, target).stop()
    if found.used_by is not None:
        print(f"process {found.used_by} uses it: it stays")
        raise typer.Exit(1)
    print("Spark has ended" if found.ended else "no Spark was left warm")
