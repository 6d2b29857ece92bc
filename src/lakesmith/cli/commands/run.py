"""``lakesmith run`` and ``lakesmith stop``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from lakesmith.api.lakehouse import Lakehouse
from lakesmith.api.running import waiting_for_approval
from lakesmith.cli import command as opt
from lakesmith.cli.command import asks, open_lake
from lakesmith.cli.render.run_view import run_shown
from lakesmith.errors import listed
from lakesmith.execute.events import Listener, RunResult

app = opt.command_app()
stop_app = opt.command_app()


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
    submit: Annotated[
        bool, typer.Option("--submit", help="Run on AWS, where the target is deployed, and follow it.")
    ] = False,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    options = {"full_refresh": full_refresh or (), "approve": approve or (), "wait": wait}
    raise typer.Exit(_called(submit)(project, target, json, *select or (), **options))


def _called(submit: bool) -> Callable[..., int]:
    if not submit:
        return run_command
    from lakesmith.cli.commands.aws.submit import submit_command

    return submit_command


def run_command(
    root: Path, target: str | None, as_json: bool, *select: str, approve: Sequence[str] = (), **options: Any
) -> int:
    """Runs and shows it, asks whether tables may lose what they wait for, and returns the exit code."""

    def call(lake: Lakehouse, tell: Listener) -> RunResult:
        return lake.run(*select, approve=approve, on_event=tell, **options)

    code, result = run_shown(root, target, as_json, call)
    if as_json or result is None or not (tables := waiting_for_approval(result)) or not asks():
        return code
    if not typer.confirm(f"May {listed(tables)} lose that?"):
        return code
    again = (f"{table}+" for table in tables)
    return run_command(root, target, as_json, *again, approve=(*approve, *tables))


@stop_app.command()
def stop(project: opt.ProjectOption = opt.HERE, target: opt.TargetOption = None) -> None:
    """Ends the warm JVM of the project; 1 if a process uses it."""
    found = open_lake(project, target).stop()
    if found.used_by is not None:
        print(f"process {found.used_by} uses it: it stays")
        raise typer.Exit(1)
    print("Spark has ended" if found.ended else "no Spark was left warm")
