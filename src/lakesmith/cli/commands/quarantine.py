"""``lakesmith quarantine``: its commands and their options; the work is imported when one is called."""

from __future__ import annotations

from typing import Annotated

import typer

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

app = command_app()

Batch = Annotated[int | None, typer.Option(help="Only rows that this batch found.")]
Reason = Annotated[str | None, typer.Option(help="Only rows with this text in one of their reasons.")]
File = Annotated[str | None, typer.Option(help="Only rows of this landing file (or the end of its path).")]


@app.command("list")
def list_(project: ProjectOption = HERE, target: TargetOption = None, json: JsonOption = False) -> None:
    """Show how many rows of each table are in quarantine, and why."""
    from lakesmith.cli.commands.quarantine_show import list_command

    raise typer.Exit(list_command(project, target, json))


@app.command()
def show(
    table: TableArgument,
    batch: Batch = None,
    reason: Reason = None,
    file: File = None,
    limit: Annotated[int, typer.Option(help="The most rows to show; 0: all.")] = 20,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Show bad rows of a table, with everything that is wrong with each."""
    from lakesmith.cli.commands.quarantine_show import show_command
    from lakesmith.plan.steps import BadRows

    chosen = BadRows(batch, reason, file)
    raise typer.Exit(show_command(project, target, table, chosen, limit or None, json))


@app.command()
def replay(
    table: TableArgument,
    batch: Batch = None,
    reason: Reason = None,
    file: File = None,
    wait: WaitOption = 0.0,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Judge bad rows again by the table's present definition: good ones go into the table, once."""
    from lakesmith.cli.commands.quarantine_batches import Call, replay_command
    from lakesmith.plan.steps import BadRows

    call = Call(project, target, json, wait)
    raise typer.Exit(replay_command(call, table, BadRows(batch, reason, file)))


@app.command()
def drop(
    table: TableArgument,
    batch: Batch = None,
    reason: Reason = None,
    file: File = None,
    yes: YesOption = False,
    wait: WaitOption = 0.0,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Take bad rows out of quarantine for good, on record."""
    from lakesmith.cli.commands.quarantine_batches import Call, drop_command
    from lakesmith.plan.steps import BadRows

    call = Call(project, target, json, wait)
    raise typer.Exit(drop_command(call, table, BadRows(batch, reason, file), yes))
