"""``lakesmith quarantine``: its commands and their options; the work is imported when one is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Bad rows: what is wrong with them, and their way back.", no_args_is_help=True, rich_markup_mode=None
)

Table = Annotated[str, typer.Argument(help="A table: bronze.orders.", show_default=False)]
Batch = Annotated[int | None, typer.Option(help="Only rows that this batch found.")]
Reason = Annotated[str | None, typer.Option(help="Only rows with this text in one of their reasons.")]
File = Annotated[str | None, typer.Option(help="Only rows of this landing file (or the end of its path).")]
Wait = Annotated[float, typer.Option(help="Seconds to wait for another run of this project.")]
ProjectFolder = Annotated[Path, typer.Option("--project", help="The project's folder.", show_default=False)]
Target = Annotated[str | None, typer.Option("--target", help="The target to use; its default otherwise.")]
Json = Annotated[bool, typer.Option("--json", help="Print data instead of text.")]
HERE = Path()


@app.command("list")
def list_(project: ProjectFolder = HERE, target: Target = None, json: Json = False) -> None:
    """Show how many rows of each table are in quarantine, and why."""
    from lakesmith.cli.quarantine_show import list_command

    raise typer.Exit(list_command(project, target, json))


@app.command()
def show(
    table: Table,
    batch: Batch = None,
    reason: Reason = None,
    file: File = None,
    limit: Annotated[int, typer.Option(help="The most rows to show; 0: all.")] = 20,
    project: ProjectFolder = HERE,
    target: Target = None,
    json: Json = False,
) -> None:
    """Show bad rows of a table, with everything that is wrong with each."""
    from lakesmith.cli.quarantine_show import show_command
    from lakesmith.plan.steps import BadRows

    chosen = BadRows(batch, reason, file)
    raise typer.Exit(show_command(project, target, table, chosen, limit or None, json))


@app.command()
def replay(
    table: Table,
    batch: Batch = None,
    reason: Reason = None,
    file: File = None,
    wait: Wait = 0.0,
    project: ProjectFolder = HERE,
    target: Target = None,
    json: Json = False,
) -> None:
    """Judge bad rows again by the table's present definition: good ones go into the table, once."""
    from lakesmith.cli.quarantine import Call, replay_command
    from lakesmith.plan.steps import BadRows

    call = Call(project, target, json, wait)
    raise typer.Exit(replay_command(call, table, BadRows(batch, reason, file)))


@app.command()
def drop(
    table: Table,
    batch: Batch = None,
    reason: Reason = None,
    file: File = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    wait: Wait = 0.0,
    project: ProjectFolder = HERE,
    target: Target = None,
    json: Json = False,
) -> None:
    """Take bad rows out of quarantine for good, on record."""
    from lakesmith.cli.quarantine import Call, drop_command
    from lakesmith.plan.steps import BadRows

    call = Call(project, target, json, wait)
    raise typer.Exit(drop_command(call, table, BadRows(batch, reason, file), yes))
